//! Start and end of MPI in this process, from `MPI_Init` to `MPI_Finalize`: what is opened and closed around [`Process`].

use crate::abi::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_THREAD_MULTIPLE};
use crate::communicator::{Comm, owner};
use crate::process::{self, Process, not_running, running};
use crate::window::handle_cache;
use crate::{debug, heap, noted, start, tool};
use rma::config::Configuration;
use rma::raw::when_forked;
use rma::{Result, World, log_to_stderr};
use std::sync::Arc;

/// What a forked child does first.
fn leave_in_child() {
    handle_cache::close();
    process::forget();
}

/// Starts MPI in this process.
pub(crate) fn start(call: &'static str, asked_level: i32) -> Result<()> {
    when_forked(leave_in_child);
    let written = tool::take_settings();
    let instead = |name: &str| written.get(name).cloned();
    // A wrong value is reported below. A program in other languages too may have a subscriber, which is left
    // alone.
    let _ = log_to_stderr(&|name| instead(name).or_else(|| Configuration::of_environment(name)));
    let mut builder = World::builder().settings(&instead);
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

/// Ends MPI in this process.
pub(crate) fn finish() -> Result<()> {
    if let Some(process) = running() {
        delete_predefined_attributes(process)?;
        // What the functions of attributes free is freed.
        debug::report(process);
    }
    handle_cache::close();
    let Some(job) = process::close() else { return Err(not_running("MPI_Finalize")) };
    heap::close();
    match job {
        Some(job) => job.finalize().map_err(|error| error.in_call("MPI_Finalize")),
        None => Ok(()),
    }
}

/// Deletes the attributes of the predefined communicators, because MPI ends (MPI 5.0 §11.2.2): first of all that ends.
///
/// # Errors
/// What a delete function answers.
fn delete_predefined_attributes(process: &'static Process) -> Result<()> {
    let own = process.own.attributes.delete_all(owner(MPI_COMM_SELF));
    own.and(process.world.attributes.delete_all(owner(MPI_COMM_WORLD)))
}
