//! The process's part in the job, as calls find it: the predefined communicators, waiting, and what all calls share.
//!
//! One process has one [`Process`]; entry points get it from [`enter`], which is also the check that MPI is running. It
//! is never given back: threads may still be inside calls when another finalizes, which is erroneous but must not follow
//! a dangling pointer. [`crate::life`] makes it and ends it.

use crate::abi::{MPI_COMM_NULL, MPI_COMM_SELF, MPI_COMM_WORLD, MPI_Comm, MPI_THREAD_MULTIPLE};
use crate::communicator::{COMMS, Comm};
use crate::noted;
use parking_lot::Mutex;
use rma::raw::{MessageId, end_forked_child, is_forked_child};
use rma::{Error, ErrorClass, Result, World};
use rma_core::host::{Awaited, Need};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};
use std::thread::ThreadId;

/// What has to come for a wait to end, as far as it can tell in a word.
#[derive(Clone, Debug)]
pub(crate) enum Sought {
    /// This message.
    Message(MessageId),
    /// The other ranks, in a collective of the call of this name and with this root, if it has one.
    Collective(&'static str, Option<u32>),
    /// The end of a one-sided operation.
    Operation(Need),
    /// Something else, or one of several.
    Any,
}

/// Tells each of the things that have to come.
pub(crate) type Seek<'a> = dyn Fn(&mut dyn FnMut(Sought)) + 'a;

/// What all calls share.
pub(crate) struct Process {
    /// Taken out when MPI is finalized.
    job: Mutex<Option<World>>,
    pub(crate) world: Comm,
    pub(crate) own: Comm,
    /// The thread level that was asked for when the part in the job began.
    pub(crate) asked_level: i32,
    /// The attribute `MPI_UNIVERSE_SIZE`: as many processes as the job has, since there is no way to start more.
    pub(crate) universe_size: i32,
    /// The attribute `MPIX_FT`: whether the job goes on when a rank dies, as far as this rank has heard.
    survives: AtomicI32,
}

impl Process {
    pub(crate) fn new(job: World, world: Comm, own: Comm, asked_level: i32) -> Self {
        let universe_size = i32::try_from(world.inner.size()).unwrap_or(i32::MAX);
        let survives = AtomicI32::new(0);
        Self { job: Mutex::new(Some(job)), world, own, asked_level, universe_size, survives }
    }

    /// The communicator of a handle.
    #[inline]
    pub(crate) fn find(&'static self, comm: MPI_Comm) -> Option<&'static Comm> {
        match comm {
            MPI_COMM_WORLD => Some(&self.world),
            MPI_COMM_SELF => Some(&self.own),
            // SAFETY: MPI forbids to free a communicator while another thread passes it to a call.
            comm => unsafe { COMMS.get(comm) },
        }
    }

    /// As [`Process::find`], or the error that says what is wrong with the handle.
    #[inline]
    pub(crate) fn comm(&'static self, comm: MPI_Comm) -> Result<&'static Comm> {
        self.find(comm).ok_or_else(|| {
            let cause = match comm {
                MPI_COMM_NULL => "comm is MPI_COMM_NULL".to_owned(),
                comm => format!("comm {:#x} is no communicator, or was freed", comm.0),
            };
            Error::new(ErrorClass::Comm, "", cause)
        })
    }

    /// Waits until `ready` gives a value, moving everything meanwhile; `ready` only looks.
    ///
    /// # Errors
    /// What `ready` answers.
    pub(crate) fn wait<T>(&self, ready: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        self.wait_for("wait", &|each| each(Sought::Any), ready)
    }

    /// As [`Process::wait`], in this call, for all that `seek` tells. It is asked only for a report, and not
    /// while `ready` runs.
    ///
    /// # Errors
    /// What `ready` answers.
    pub(crate) fn wait_for<T>(
        &self,
        call: &'static str,
        seek: &Seek<'_>,
        mut ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let runtime = self.world.inner.runtime();
        let _call = runtime.engine().trace_call("wait");
        runtime.wait_until(call, &|| self.describe(seek), &mut ready)
    }

    /// Facts about what is sought. Of several things only messages and operations are reported: what they
    /// need does not depend on what else is sought.
    fn describe(&self, seek: &Seek<'_>) -> Awaited {
        let runtime = self.world.inner.runtime();
        let (mut messages, mut operations, mut collectives, mut others) =
            (Vec::new(), Vec::new(), Vec::new(), 0);
        seek(&mut |sought| match sought {
            Sought::Message(message) => messages.push(message),
            Sought::Operation(need) => operations.push(need),
            Sought::Collective(_, root) => collectives.push(root),
            Sought::Any => others += 1,
        });
        match (&messages[..], &collectives[..], others + operations.len()) {
            ([], [root], 0) => runtime.awaited_collective(*root),
            ([message], [], 0) => runtime.awaited("a message", Some(*message)),
            _ => {
                let needs = messages.into_iter().flat_map(|message| {
                    let Awaited { needs, .. } = runtime.awaited("", Some(message));
                    needs
                });
                match needs.chain(operations).collect::<Vec<_>>() {
                    needs if needs.is_empty() => runtime.awaited("requests", None),
                    needs => Awaited { needs, ..Awaited::from("requests") },
                }
            }
        }
    }

    /// A call on messages has ended at once: what it left to do is done, and other threads hear of it.
    pub(crate) fn end_short_call(&self) {
        self.world.inner.runtime().end_short_call();
    }

    /// Whether the job goes on when a rank dies, as a number at an address that stays. It may begin to do so at any time, and goes on
    /// then for good.
    pub(crate) fn survives(&self) -> &AtomicI32 {
        if self.survives.load(Relaxed) == 0 {
            let survives = self.job.lock().as_ref().is_some_and(World::outlives_ranks);
            self.survives.store(survives.into(), Relaxed);
        }
        &self.survives
    }

    /// Asks that the job goes on when a rank dies.
    pub(crate) fn outlive_ranks(&self) -> Result<()> {
        if self.survives().load(Relaxed) == 0
            && let Some(job) = &*self.job.lock()
        {
            job.outlive_ranks()?;
        }
        Ok(())
    }

    /// Whether one thread at a time calls, each after the one before.
    #[inline(always)]
    pub(crate) fn has_one_caller(&self) -> bool {
        self.asked_level < MPI_THREAD_MULTIPLE
    }

    /// Whether a call that needs no packet may go by without a poll; it is counted then.
    #[inline(always)]
    pub(crate) fn pass_poll(&self) -> bool {
        self.world.inner.engine().pass_poll()
    }

    /// Moves what can be moved now, if it is time for that.
    pub(crate) fn poll_throttled(&self) {
        self.world.inner.engine().poll_throttled();
    }

    /// Makes threads that wait look again, after a change that no packet brings.
    pub(crate) fn tell(&self) {
        self.world.inner.engine().wake_waiters();
    }

    /// Moves what can be moved now.
    pub(crate) fn poll(&self) {
        self.world.inner.engine().poll();
    }

    /// Serves others for a moment, in a wait of the guest's host.
    pub(crate) fn serve(&self) {
        self.world.inner.engine().serve();
    }
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(null_mut());
/// The process in place of [`PROCESS`], when calls are to note their names.
static WATCHED: AtomicPtr<Process> = AtomicPtr::new(null_mut());
/// The process after the end: kept here, so that checkers of memory see that nothing is lost.
static FINALIZED: AtomicPtr<Process> = AtomicPtr::new(null_mut());

/// The process, while MPI runs, for the call of this name. Where names are not noted, that is one load.
#[inline]
pub(crate) fn enter(call: &'static str) -> Option<&'static Process> {
    let process = PROCESS.load(Acquire);
    match process.is_null() {
        // SAFETY: what `open` has stored is never freed.
        false => Some(unsafe { &*process }),
        true => watched(call),
    }
}

/// Whether MPI runs and names are not noted: the condition of calls that try the fast path first.
#[inline(always)]
pub(crate) fn is_unwatched() -> bool {
    !PROCESS.load(Acquire).is_null()
}

/// The process, likewise.
#[inline(always)]
pub(crate) fn unwatched() -> Option<&'static Process> {
    // SAFETY: as in `enter`.
    unsafe { PROCESS.load(Acquire).as_ref() }
}

/// As [`enter`], when names are noted.
#[cold]
fn watched(call: &'static str) -> Option<&'static Process> {
    noted::note(call);
    // SAFETY: as in `enter`.
    unsafe { WATCHED.load(Acquire).as_ref() }
}

/// The process, while MPI runs.
#[inline]
pub(crate) fn running() -> Option<&'static Process> {
    // SAFETY: as in `enter`.
    unsafe { PROCESS.load(Acquire).as_ref().or_else(|| WATCHED.load(Acquire).as_ref()) }
}

/// The process while MPI runs and after the end, for reading only.
pub(crate) fn of_life() -> Option<&'static Process> {
    // SAFETY: as in `running`.
    running().or_else(|| unsafe { FINALIZED.load(Acquire).as_ref() })
}

/// Where `MPI_Init` and `MPI_Finalize` have brought this process; sessions are beside that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Before,
    Running,
    Over,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);
/// The thread that has called `MPI_Init`, and the level that it has asked for.
static WORLD: OnceLock<(ThreadId, i32)> = OnceLock::new();
static IS_ABORTING: AtomicBool = AtomicBool::new(false);
/// Whether a tool has handles of events.
static WANTS_EVENTS: AtomicBool = AtomicBool::new(false);

pub(crate) fn phase() -> Phase {
    match PHASE.load(Acquire) {
        0 => Phase::Before,
        1 => Phase::Running,
        _ => Phase::Over,
    }
}

pub(crate) fn begin_world(asked_level: i32) {
    // Once: `MPI_Init` is refused the second time.
    let _ = WORLD.set((std::thread::current().id(), asked_level));
    PHASE.store(Phase::Running as u8, Release);
}

pub(crate) fn end_world() {
    PHASE.store(Phase::Over as u8, Release);
}

/// The thread level that `MPI_Init` was asked for, or what the part in the job has begun with.
pub(crate) fn asked_level(process: &Process) -> i32 {
    WORLD.get().map_or(process.asked_level, |(_, level)| *level)
}

/// Whether this is the thread that has called `MPI_Init`.
pub(crate) fn is_main_thread() -> bool {
    WORLD.get().is_some_and(|(thread, _)| *thread == std::thread::current().id())
}

/// Whether events are raised from now on.
pub(crate) fn want_events(wants: bool) {
    WANTS_EVENTS.store(wants, Relaxed);
}

/// What [`want_events`] has said last.
#[inline(always)]
pub(crate) fn are_events_wanted() -> bool {
    WANTS_EVENTS.load(Relaxed)
}

/// Whether the process ends because of an error.
pub(crate) fn is_aborting() -> bool {
    IS_ABORTING.load(Relaxed)
}

/// Whether MPI has been initialized, now or before.
pub(crate) fn is_initialized() -> bool {
    phase() != Phase::Before || is_forked_child()
}

/// Whether MPI has been finalized, or is over for another reason: in a forked child of a rank. Libraries that end MPI with the
/// process if it runs leave it alone there.
pub(crate) fn is_finalized() -> bool {
    phase() == Phase::Over || is_forked_child()
}

/// Ends a forked child, which no call but those that are legal at any time leaves alive.
pub(crate) fn end_child(call: &'static str) {
    if is_forked_child() {
        end_forked_child(call);
    }
}

/// Makes this the process, which calls find from now on. It is never freed.
pub(crate) fn open(process: Process, is_watched: bool) {
    let place = if is_watched { &WATCHED } else { &PROCESS };
    place.store(Box::into_raw(Box::new(process)), Release);
}

/// Takes the process away from calls, and its part in the job with it; the first answer is `None` when there is no process.
pub(crate) fn close() -> Option<Option<World>> {
    let process = match PROCESS.swap(null_mut(), AcqRel) {
        process if process.is_null() => WATCHED.swap(null_mut(), AcqRel),
        process => process,
    };
    if process.is_null() {
        return None;
    }
    FINALIZED.store(process, Release);
    // SAFETY: as in `running`.
    Some(unsafe { &*process }.job.lock().take())
}

/// As [`close`], in a forked child, which has no part in the job: whatever it calls finds no process.
pub(crate) fn forget() {
    PROCESS.store(null_mut(), Release);
    WATCHED.store(null_mut(), Release);
}

/// Ends the whole job.
pub(crate) fn abort(code: i32) -> ! {
    IS_ABORTING.store(true, Relaxed);
    // Status 0 would look like success.
    let code = if code == 0 { 1 } else { code };
    if let Some(process) = running()
        && let Some(job) = &*process.job.lock()
    {
        job.abort(code);
    }
    std::process::exit(code)
}

/// Ends the whole job because of an error of this code.
pub(crate) fn abort_by_error(code: i32) -> ! {
    const OF_LOSSES: [ErrorClass; 3] =
        [ErrorClass::ProcAborted, ErrorClass::ProcFailed, ErrorClass::ProcFailedPending];
    // The end below is none of the kind that ends the part in the job, and may hold the lock that this takes.
    IS_ABORTING.store(true, Relaxed);
    // A program mostly revokes because of a loss.
    let is_revoked = code == ErrorClass::Revoked as i32;
    if let Some(process) = running()
        && (OF_LOSSES.iter().any(|class| *class as i32 == code)
            || is_revoked && process.world.inner.runtime().messenger().first_lost().is_some())
        && let Some(job) = &*process.job.lock()
    {
        job.abort_after_loss(code);
    }
    abort(code)
}

/// The error of a call outside `MPI_Init` … `MPI_Finalize`; a forked child ends here.
#[cold]
pub(crate) fn not_running(call: &'static str) -> Error {
    end_child(call);
    let cause = match is_finalized() {
        true => "called after MPI_Finalize",
        false => "called before MPI_Init or MPI_Init_thread",
    };
    Error::new(ErrorClass::Other, call, cause)
}
