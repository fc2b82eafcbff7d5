//! Mini's ranks, and its progress loop: the one place that waits, for the engine's calls and for Mini's own.

use crate::{Boxes, MiniChannel, MiniHost};
use rma_core::config::EngineConfig;
use rma_core::host::{Combine, Group, Host, Outcome};
use rma_core::ids::{Peer, Rank};
use rma_core::progress::NoUpper;
use rma_core::{Engine, Result};
use rustix::event::{PollFd, PollFlags, poll};
use std::sync::Arc;

/// One rank.
#[derive(Debug)]
pub struct Mini {
    /// The engine of the rank.
    pub engine: Engine,
    host: Arc<MiniHost>,
    world: Group,
}

impl Mini {
    /// Runs so many ranks as threads, and gives what each comes to.
    ///
    /// # Panics
    /// When a rank does.
    pub fn run<T: Send>(size: u32, main: impl Fn(&Self) -> Result<T> + Sync) -> Result<Vec<T>> {
        let boxes = Boxes::new(size);
        let rank = |me| {
            let host = Arc::new(MiniHost::new(Peer(me), Arc::clone(&boxes)));
            let channel = Box::new(MiniChannel::new(Peer(me), Arc::clone(&boxes)));
            let config = EngineConfig::read(&|name| std::env::var(name).ok())?;
            let engine = Engine::new(config, channel, host.clone(), Box::new(NoUpper))?;
            let mini = Self { engine, host, world: Group::strided(0, Rank(me), Peer(0), 1, size) };
            let result = main(&mini)?;
            mini.barrier()?;
            mini.until(|| Ok(mini.engine.poll_close().then_some(())))?;
            Ok(result)
        };
        std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..size).map(|me| scope.spawn(move || rank(me))).collect();
            ranks.into_iter().map(|rank| rank.join().expect("a rank panicked")).collect()
        })
    }

    /// All ranks.
    pub fn world(&self) -> &Group {
        &self.world
    }

    /// Mini's own barrier.
    pub fn barrier(&self) -> Result<()> {
        self.reduce(Combine::Sum, &[]).map(drop)
    }

    /// Mini's own reduction.
    pub fn reduce(&self, combine: Combine, values: &[u64]) -> Result<Vec<u64>> {
        let request = self.host.begin_reduce(&self.world, combine, values)?;
        match self.until(|| self.host.poll(request))? {
            Outcome::Values(values) => Ok(values.into_vec()),
            Outcome::Met | Outcome::Segment(_) => Ok(Vec::new()),
        }
    }

    /// Drives Mini and the engine until `ready` has a value. Whatever either waits for rings the engine's bell.
    pub fn until<T>(&self, mut ready: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        loop {
            let news = self.engine.news();
            self.engine.poll();
            if let Some(value) = ready()? {
                return Ok(value);
            }
            if let Some(_wait) = self.engine.arm(news) {
                // What Mini's ranks send each other rings the engine's bell, and a bell that has rung is not lost. An
                // interrupted sleep is a wake-up.
                let _ = poll(&mut [PollFd::new(&self.engine.wait_descriptor()?, PollFlags::IN)], None);
            }
        }
    }
}
