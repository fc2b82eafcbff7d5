//! The world: all processes of a job, from start to end.

use crate::channels::{LIBRARIES, LookUp};
use crate::communicator::Communicator;
use crate::config::{Configuration, RuntimeConfig};
use crate::join::{Allgather, Notices, Start};
use crate::parting::{is_survivable, meet_survivors};
use crate::pmi::Client;
use crate::start::{StartedProcess, start};
use crate::trace::TraceSummary;
use rma_core::config::Setting;
use rma_core::{Error, ErrorClass, Result, fork};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};

/// All processes of the job. Behaves as the [`Communicator`] of all of them.
///
/// Dropping it ends the process's part in the job in order, and waits for the other ranks to do the same. A rank that
/// panics, or whose last collective failed, does not wait: it ends, and the launcher ends the job. Ranks that wait for one
/// that has ended its part get an error.
///
/// ```no_run
/// fn main() -> rma::Result<()> {
///     let world = rma::World::init()?;
///     println!("rank {} of {}", world.rank(), world.size());
///     world.barrier()
/// }
/// ```
#[derive(Debug)]
pub struct World {
    communicator: Arc<Communicator>,
    start: Arc<dyn Start>,
    /// What reads notices, if there can be some.
    notices: Option<Notices>,
    is_over: bool,
    summary: Option<TraceSummary>,
    /// Whether rank 0 sums up, for which all meet.
    is_summed: bool,
}

/// A process is in one job in its life.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

impl World {
    /// Starts this process's part in the job that its launcher says; without a launcher, in a job of one rank.
    ///
    /// # Errors
    /// When a variable has a wrong value, the launcher does not answer, the system refuses what a channel needs, or the
    /// process has called this before.
    pub fn init() -> Result<Self> {
        Self::builder().init()
    }

    /// As [`World::init`], with settings and a start of the program's own.
    pub fn builder() -> Builder<'static> {
        Builder { instead: &|_| None, start: None, has_late_agent: false, may_load: false }
    }

    /// A rank that is a thread.
    pub(crate) fn of_thread(communicator: Communicator) -> Self {
        // Its channel is all that it needs of the others.
        Self::new(communicator, Arc::new(Allgather::alone()), None, false)
    }

    fn new(
        communicator: Communicator,
        start: Arc<dyn Start>,
        notices: Option<Notices>,
        is_summed: bool,
    ) -> Self {
        let summary = communicator.runtime().configuration.observer.stats.then(TraceSummary::start);
        Self { communicator: Arc::new(communicator), start, notices, is_over: false, summary, is_summed }
    }

    /// The communicator of all processes, to be kept beside the world. It is of no use once the world has ended.
    pub fn communicator(&self) -> Arc<Communicator> {
        Arc::clone(&self.communicator)
    }

    /// Every variable of the library with its default, range and the value in force.
    pub fn settings(&self) -> Vec<Setting> {
        self.runtime().configuration().settings()
    }

    /// Whether the job goes on when a rank dies, as its launcher says.
    pub fn outlives_ranks(&self) -> bool {
        is_survivable(&*self.start).unwrap_or(false)
    }

    /// Asks the launcher that the job goes on when a rank dies, from now on, as `RMA_ON_FAILURE=continue` does from the start; says
    /// whether it does. It does not when a rank has begun to end its part, or under launchers that are not `rmarun`.
    ///
    /// # Errors
    /// When the launcher does not answer.
    pub fn outlive_ranks(&self) -> Result<bool> {
        self.start.overseer().map_or(Ok(false), Client::outlive)
    }

    /// Ends this process's part in the job in order: waits for the other ranks, says goodbye, tells the launcher. Dropping
    /// the world does the same, but can only print what goes wrong.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn finalize(mut self) -> Result<()> {
        self.end().inspect_err(|_| self.give_up())
    }

    /// Ends the job at once, with this exit status, and does not return.
    pub fn abort(&self, code: i32) -> ! {
        fork::check("abort");
        // A launcher that cannot be reached sees the exit.
        let _ = self.start.abort(code);
        std::process::exit(code)
    }

    /// As [`World::abort`], because another rank is lost: the launcher names that one and ends with its status.
    pub fn abort_after_loss(&self, code: i32) -> ! {
        fork::check("abort");
        // As above.
        let _ = match self.start.overseer() {
            Some(launcher) => launcher.abort_after_loss(code),
            None => self.start.abort(code),
        };
        std::process::exit(code)
    }

    /// Ends the part in the job in order, once.
    pub(crate) fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        fork::check("finalize");
        // From here on this thread serves until no rank needs this one.
        self.runtime().agent.end();
        self.runtime().wakers.end();
        if let Some(summary) = &self.summary {
            summary.leave(&self.runtime().engine, &*self.start);
        }
        let runtime = self.runtime();
        let ended = {
            let _call = runtime.engine.trace_call("finalize");
            self.meet_last().and_then(|()| runtime.close())
        };
        ended?;
        runtime.end_trace();
        if self.is_summed && self.size() > 1 {
            self.start.fence()?;
        }
        if let Some(summary) = self.summary.as_ref().filter(|_| self.rank() == 0) {
            summary.print(&runtime.engine, &*self.start);
        }
        let ended = self.start.finalize();
        // The process may end with another thread than this one.
        self.notices = None;
        self.runtime().release();
        ended
    }

    /// Meets all ranks, or those that live where ranks may outlive each other.
    fn meet_last(&self) -> Result<()> {
        match self.start.overseer() {
            Some(launcher) if self.size() > 1 && launcher.leave()? => {
                // A rank that the farewell does not reach is gone.
                let _ = self.communicator.say_farewell();
                meet_survivors(self.runtime(), &self.start)
            }
            _ => self.communicator.meet_last(),
        }
    }

    /// Tells the launcher that this rank fails, and because of which rank as far as it knows.
    fn give_up(&self) {
        const PANIC: i32 = 101;
        let code = if std::thread::panicking() { PANIC } else { 1 };
        // A launcher that cannot be reached sees the exit.
        let _ = match self.start.overseer() {
            Some(launcher) => launcher
                .fail(code, self.runtime().messenger.first_lost().map_or(launcher.rank(), |peer| peer.0)),
            None => self.start.abort(code),
        };
        // The others and the launcher notice when the process ends, not before.
        std::mem::forget((Arc::clone(self.runtime()), Arc::clone(&self.start)));
    }

    /// Leaves without a word, as a rank does that has failed.
    pub(crate) fn desert(&mut self) {
        self.is_over = true;
        self.runtime().wakers.end();
    }
}

/// A world that is about to be started ([`World::builder`]).
pub struct Builder<'a> {
    instead: &'a dyn Fn(&str) -> Option<String>,
    start: Option<Arc<dyn Start>>,
    has_late_agent: bool,
    may_load: bool,
}

impl<'a> Builder<'a> {
    /// With the values that `instead` answers in place of the environment's. Shared objects to load (`RMA_CHANNEL_PLUGIN`, `RMA_OFI_LIB`,
    /// `RMA_PMIX_LIB`) it may name only with [`Builder::may_load`].
    #[must_use]
    pub fn settings<'b>(self, instead: &'b dyn Fn(&str) -> Option<String>) -> Builder<'b>
    where
        'a: 'b,
    {
        Builder { instead, ..self }
    }

    /// Its settings may name shared objects to load.
    ///
    /// # Safety
    /// Those that they name must be what the variables stand for, and keep the contract of that interface.
    #[must_use]
    pub unsafe fn may_load(self) -> Self {
        Self { may_load: true, ..self }
    }

    /// With a start of the program's own, such as [`Allgather`], in place of the launcher that the environment names.
    #[must_use]
    pub fn start(self, start: impl Start + 'static) -> Self {
        Self { start: Some(Arc::new(start)), ..self }
    }

    /// Starts the thread of `RMA_AGENT` with the first window, not with the job: for a runtime that sends its messages by itself.
    #[must_use]
    pub fn agent_with_windows(self) -> Self {
        Self { has_late_agent: true, ..self }
    }

    /// Starts this process's part in the job.
    ///
    /// # Errors
    /// As for [`World::init`].
    pub fn init(self) -> Result<World> {
        fork::check("init");
        let named = LIBRARIES.iter().find(|name| (self.instead)(name).is_some());
        if let Some(name) = named.filter(|_| !self.may_load) {
            let cause =
                format!("the program sets {name}, which names code to load, without Builder::may_load");
            return Err(Error::new(ErrorClass::Arg, "init", cause));
        }
        if IS_STARTED.swap(true, SeqCst) {
            let cause = "this process has started its part in the job before";
            return Err(Error::new(ErrorClass::Other, "init", cause));
        }
        let read = |name: &str| (self.instead)(name).or_else(|| Configuration::of_environment(name));
        let look_up = match self.may_load {
            // SAFETY: the program has said so.
            true => unsafe { LookUp::that_may_load(&read) },
            false => LookUp::new(&read),
        };
        let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let StartedProcess { runtime, start, notices, is_summed } = start(look_up, names, self.start)?;
        let RuntimeConfig { agent, agent_tick_us, .. } = runtime.configuration.runtime;
        fork::watch(runtime.me.0);
        // A job of one has no peer to serve.
        if agent && runtime.size > 1 {
            match self.has_late_agent {
                true => runtime.agent.await_windows(agent_tick_us),
                // Before there is a world, whose end would meet the others first, and so keep the program from saying why.
                false => runtime.agent.start(&runtime.engine, agent_tick_us)?,
            }
        }
        Ok(World::new(Communicator::world(runtime), start, Some(notices), is_summed))
    }
}

impl fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Deref for World {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if fork::is_child() {
            // The world is the parent's, and so is everything that it holds on to.
            self.is_over = true;
            std::mem::forget((Arc::clone(&self.communicator), Arc::clone(&self.start)));
            return;
        }
        let is_in_step = !self.runtime().is_out_of_step.load(Relaxed) && !std::thread::panicking();
        let is_good = match is_in_step {
            true => self.end().inspect_err(|error| eprintln!("rma: rank {}: {error}", self.rank())).is_ok(),
            false => std::mem::replace(&mut self.is_over, true),
        };
        if !is_good {
            self.give_up();
            self.runtime().agent.end();
            self.runtime().wakers.end();
        }
    }
}
