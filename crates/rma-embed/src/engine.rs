//! The engine's own entry points: its life, and progress.

use crate::abi::{EngineOptions, HostTable};
use crate::entry::entry;
use crate::handle::{ENGINE, EXTERNAL_WAIT, Table};
use crate::host::ForeignHost;
use crate::observer::ForeignObserver;
use crate::pointer::{In, Out, text};
use rma_ch_c::{ForeignChannel, Versioned, bad, outside};
use rma_core::ExternalWait;
use rma_core::channel::{Channel, Tracer};
use rma_core::config::EngineConfig;
use rma_core::ids::Peer;
use rma_core::progress::{News, NoUpper};
use rma_core::trace::{ObservedPackets, Observer};
use rma_core::{Engine, Error, ErrorClass, Result};
use std::ffi::{CString, c_int};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) static ENGINES: Table<Engine> = Table::new(ENGINE, "an engine");
static EXTERNAL_WAITS: Table<Arc<ExternalWait>> = Table::new(EXTERNAL_WAIT, "an external wait");

// SAFETY: both begin with their size, and zero is a value of numbers, pointers and functions that may be missing.
unsafe impl Versioned for EngineOptions {
    const LEAST: usize = offset_of!(EngineOptions, observe);
}
// SAFETY: as above.
unsafe impl Versioned for HostTable {
    const LEAST: usize = offset_of!(HostTable, abandon_reduce);
}

entry! {
    /// `rma_engine_create`.
    fn rma_engine_create(options: In<EngineOptions>, engine: Out<u64>) {
        let place = engine.needed("engine")?;
        let options = options.sized("options")?;
        place.set(ENGINES.insert(create(&options)?));
        Ok(())
    }

    /// `rma_engine_close`.
    fn rma_engine_close(engine: u64, closed: Out<c_int>) {
        let place = closed.needed("closed")?;
        place.set(c_int::from(ENGINES.get(engine)?.poll_close()));
        Ok(())
    }

    /// `rma_engine_destroy`.
    fn rma_engine_destroy(engine: u64) {
        match ENGINES.get(engine)?.live_windows() {
            0 => ENGINES.take(engine).map(drop),
            windows => {
                let cause = format!("{windows} windows of the engine have not been freed");
                Err(Error::new(ErrorClass::Win, "rma", cause))
            }
        }
    }

    /// `rma_engine_promise_one_caller`.
    fn rma_engine_promise_one_caller(engine: u64) {
        ENGINES.get(engine)?.promise_one_caller();
        Ok(())
    }

    /// `rma_progress_poll`.
    fn rma_progress_poll(engine: u64, news: Out<u64>, moved: Out<c_int>) {
        let engine = ENGINES.get(engine)?;
        let before = engine.news();
        let has_moved = engine.poll();
        news.wanted().into_iter().for_each(|place| place.set(before.0));
        moved.wanted().into_iter().for_each(|place| place.set(c_int::from(has_moved)));
        Ok(())
    }

    /// `rma_progress_serve`.
    fn rma_progress_serve(engine: u64) {
        ENGINES.get(engine)?.serve();
        Ok(())
    }

    /// `rma_progress_descriptor`.
    fn rma_progress_descriptor(engine: u64, descriptor: Out<c_int>) {
        let place = descriptor.needed("descriptor")?;
        place.set(ENGINES.get(engine)?.wait_descriptor()?.as_raw_fd());
        Ok(())
    }

    /// `rma_progress_arm`.
    fn rma_progress_arm(engine: u64, news: u64, wait: Out<u64>) {
        let place = wait.needed("wait")?;
        let wait = ENGINES.get(engine)?.arm(News(news));
        place.set(wait.map_or(0, |wait| EXTERNAL_WAITS.insert(Arc::new(wait))));
        Ok(())
    }

    /// `rma_progress_disarm`.
    fn rma_progress_disarm(wait: u64) {
        EXTERNAL_WAITS.take(wait).map(drop)
    }

    /// `rma_progress_wake`.
    fn rma_progress_wake(engine: u64) {
        ENGINES.get(engine)?.wake_handle().wake();
        Ok(())
    }
}

fn create(options: &EngineOptions) -> Result<Engine> {
    let (channel, host) =
        (In::from(options.channel).sized("channel")?, In::from(options.host).sized("host")?);
    let config = EngineConfig::read(&|name| {
        let (function, name) = (options.look_up?, CString::new(name).ok()?);
        // SAFETY: the embedder's function with its context, and a string that lives until it returns.
        text(outside(|| unsafe { function(options.look_up_context, name.as_ptr()) }))
    })?;
    if options.me == u32::MAX {
        return Err(bad("process number 4294967295 is none"));
    }
    // SAFETY: the embedder's promise.
    let channel = unsafe { ForeignChannel::new(&channel, options.channel_context)? };
    // SAFETY: as above.
    let host = unsafe { ForeignHost::new(&host, options.host_context, Peer(options.me))? };
    let owners = [channel.owner(), host.owner()];
    let (mut channel, me): (Box<dyn Channel>, _) = (Box::new(channel), Peer(options.me));
    let context = options.observe_context;
    let observer = options.observe.map(|function| Arc::new(ForeignObserver { function, context }));
    let observer = observer.map(|observer| observer as Arc<dyn Observer>);
    if observer.is_some() {
        channel = Box::new(Tracer::new(me, channel, ObservedPackets::new(observer.clone())));
    }
    let engine = Engine::with_observer(config, channel, Arc::new(host), Box::new(NoUpper), observer)?;
    owners.iter().for_each(|owner| owner.store(true, Relaxed));
    Ok(engine)
}
