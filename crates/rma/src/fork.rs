//! Forked children of a process of a job. One of the few files with `unsafe`.
//!
//! A child has its parent's sockets, descriptors and mapped memory, but it is no rank: what it sent, took or wrote would be in
//! the parent's name, and the parent would miss it. So a call in a child says which one it was, and ends the child, without
//! anything that the end of a process does otherwise (functions of `atexit`, buffers that are the parent's too). A child that
//! calls nothing, or starts another program, is none of the library's business.
//!
//! The system calls [`in_child`] in every child that fork(2) makes, with no other thread there and any lock perhaps held for
//! ever; it only stores. What asks afterwards is the library above ([`when_forked`]), by the same look that tells whether it
//! runs at all: the C library asks in every call. Of the calls in Rust those that begin and end the part in the job ask, and
//! every wait, by the alarm that it looks at anyway; a call that needs no wait does not, and what comes before the wait is done.

use crate::runtime::Alarm;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

static IS_CHILD: AtomicBool = AtomicBool::new(false);
static RANK: AtomicU32 = AtomicU32::new(0);
static ALARM: OnceLock<Arc<Alarm>> = OnceLock::new();
static THEN: OnceLock<fn()> = OnceLock::new();

/// From now on children of this process, a rank of this number, are told apart from it.
pub(crate) fn watch(rank: u32, alarm: &Arc<Alarm>) {
    RANK.store(rank, Relaxed);
    if ALARM.set(Arc::clone(alarm)).is_ok() {
        // SAFETY: the function is there for as long as the process, and may be called in a child of any thread: it only stores.
        // Without memory for the entry there is no guard, which no right program needs.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// What is to be done in each forked child first: `then` may do nothing but store.
pub fn when_forked(then: fn()) {
    let _ = THEN.set(then);
}

/// Whether this process is a forked child of one that has taken part in a job.
pub fn is_forked_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Ends this process, a forked child, because it has called what only its parent may call.
pub fn end_forked_child(call: &str) -> ! {
    let line = format!(
        "rma: {call} called in a forked child of rank {}: only the process that the launcher has started is a rank; this child \
         ends (fork and then exec, or fork before the initialization)\n",
        RANK.load(Relaxed)
    );
    // Not by the standard library, whose lock another thread of the parent may have held.
    let _ = rustix::io::write(std::io::stderr(), line.as_bytes());
    // SAFETY: it ends the process.
    unsafe { libc::_exit(1) }
}

/// Ends this process if it is a forked child.
pub(crate) fn check(call: &str) {
    if is_forked_child() {
        end_forked_child(call);
    }
}

extern "C" fn in_child() {
    IS_CHILD.store(true, Relaxed);
    if let Some(alarm) = ALARM.get() {
        alarm.raise_alone();
    }
    if let Some(then) = THEN.get() {
        then();
    }
}
