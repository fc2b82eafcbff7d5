//! Start and end of MPI in this process: what is opened and closed around [`Process`].
//!
//! There are two ways in, `MPI_Init` and sessions (MPI 5.0 §11.2, §11.3), and one part in the job, which begins with the first of them.
//! It ends with `MPI_Finalize`, or with the last session if that comes later. A process that has sessions only may make another one at
//! any time, so its part ends when it exits.
//!
//! ```text
//!   nothing ── MPI_Init, MPI_Session_init ──▶ a part in the job ── MPI_Finalize and no session left ──▶ over
//!                                                     └─────────── exit, with neither MPI_Init nor a session ──▶ over
//! ```

use crate::abi::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_THREAD_MULTIPLE, MPI_THREAD_SINGLE};
use crate::communicator::{Comm, owner};
use crate::errors::say;
use crate::process::{self, Phase, Process, not_running, running};
use crate::window::handle_cache;
use crate::{cancel, debug, heap, noted, start, tool};
use parking_lot::Mutex;
use rma::config::Configuration;
use rma::raw::when_forked;
use rma::{Error, ErrorClass, Result, World, log_to_stderr};
use std::sync::Arc;

/// Sessions that are open. Its lock is held while the part in the job begins or ends.
static SESSIONS: Mutex<usize> = Mutex::new(0);

/// What a forked child does first.
fn leave_in_child() {
    handle_cache::close();
    process::forget();
}

/// `MPI_Init`.
pub(crate) fn begin_world(call: &'static str, asked_level: i32) -> Result<()> {
    process::end_child(call);
    let _beginning = SESSIONS.lock();
    let refuse = |cause| Err(Error::new(ErrorClass::Other, call, cause));
    match process::phase() {
        Phase::Over => return refuse("called after MPI_Finalize; MPI cannot start again"),
        Phase::Running => return refuse("called twice"),
        Phase::Before => {}
    }
    if running().is_none() {
        start(call, asked_level)?;
    }
    process::begin_world(asked_level);
    Ok(())
}

/// `MPI_Session_init`; `open` makes the session.
pub(crate) fn begin_session(
    call: &'static str,
    open: impl FnOnce(&'static Process) -> Result<()>,
) -> Result<()> {
    process::end_child(call);
    let mut sessions = SESSIONS.lock();
    if running().is_none() {
        if process::of_life().is_some() {
            let cause = "MPI has ended in this process, and cannot start again";
            return Err(Error::new(ErrorClass::Other, call, cause));
        }
        start(call, MPI_THREAD_MULTIPLE)?;
        at_exit();
    }
    let process = running().ok_or_else(|| not_running(call))?;
    open(process)?;
    *sessions += 1;
    Ok(())
}

/// `MPI_Finalize`.
pub(crate) fn end_world() -> Result<()> {
    const CALL: &str = "MPI_Finalize";
    let process = running().filter(|_| process::phase() == Phase::Running);
    let process = process.ok_or_else(|| not_running(CALL))?;
    delete_predefined_attributes(process)?;
    let sessions = SESSIONS.lock();
    process::end_world();
    if *sessions == 0 { finish(CALL) } else { Ok(()) }
}

/// `MPI_Session_finalize`.
pub(crate) fn end_session() -> Result<()> {
    let mut sessions = SESSIONS.lock();
    *sessions = sessions.saturating_sub(1);
    match *sessions == 0 && process::phase() == Phase::Over {
        true => finish("MPI_Session_finalize"),
        false => Ok(()),
    }
}

/// Begins the part in the job.
fn start(call: &'static str, asked_level: i32) -> Result<()> {
    when_forked(leave_in_child);
    let written = tool::take_settings();
    let instead = |name: &str| written.get(name).cloned();
    // A wrong value is reported below. A program in other languages too may have a subscriber, which is left
    // alone.
    let _ = log_to_stderr(&|name| instead(name).or_else(|| Configuration::of_environment(name)));
    // SAFETY: a program in C that names objects to load answers for their code.
    let mut builder = unsafe { World::builder().settings(&instead).may_load() };
    if let Some(given) = start::take() {
        builder = builder.start(given.meet().map_err(|error| error.in_call(call))?);
        if given.is_of_guest {
            builder = builder.agent_with_windows();
        }
    }
    let job = builder.init().map_err(|error| error.in_call(call))?;
    let own = Comm::predefined(Arc::new(job.own()), "MPI_COMM_SELF");
    let world = Comm::predefined(job.communicator(), "MPI_COMM_WORLD");
    if asked_level < MPI_THREAD_MULTIPLE {
        world.inner.engine().promise_one_caller();
    }
    if asked_level == MPI_THREAD_SINGLE {
        cancel::trust_single_thread();
    }
    let process = Process::new(job, world, own, asked_level);
    let is_watched = process.world.inner.runtime().configuration().runtime.debug;
    noted::settle(is_watched);
    // Tools that look for faults need each block to be a new one.
    if !is_watched {
        heap::open();
    }
    process::open(process, is_watched);
    Ok(())
}

/// Ends the part in the job.
fn finish(call: &'static str) -> Result<()> {
    if let Some(process) = running() {
        // What the functions of attributes free is freed.
        debug::report(process);
    }
    handle_cache::close();
    let Some(job) = process::close() else { return Err(not_running(call)) };
    heap::close();
    match job {
        Some(job) => job.finalize().map_err(|error| error.in_call(call)),
        None => Ok(()),
    }
}

unsafe extern "C" {
    // SAFETY: any function without arguments may be given.
    safe fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

/// Has the part in the job end at exit, if a process that has had sessions only is left with none.
fn at_exit() {
    // Without room for one more function the launcher says that the process has not ended its part.
    let _ = atexit(leave);
}

extern "C" fn leave() {
    let end = std::panic::catch_unwind(|| {
        // A thread that begins or ends a session meanwhile keeps the part.
        let sessions = SESSIONS.try_lock()?;
        let is_due = *sessions == 0 && process::phase() == Phase::Before && !process::is_aborting();
        let process = running().filter(|_| is_due)?;
        let rank = process.world.inner.rank();
        finish("exit").err().map(|error| say(&format!("rma: rank {rank}: {error}")))
    });
    drop(end);
}

/// Deletes the attributes of the predefined communicators, because MPI ends (MPI 5.0 §11.2.2): first of all that ends.
///
/// # Errors
/// What a delete function answers.
fn delete_predefined_attributes(process: &'static Process) -> Result<()> {
    let own = process.own.attributes.delete_all(owner(MPI_COMM_SELF));
    own.and(process.world.attributes.delete_all(owner(MPI_COMM_WORLD)))
}
