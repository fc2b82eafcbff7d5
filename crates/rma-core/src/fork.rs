//! Forked children of a process of a job. One of the few files with `unsafe`.
//!
//! A child has its parent's sockets, descriptors and mapped memory, but it is no rank: what it sent, took or
//! wrote would be in the parent's name, and the parent would miss it. So a call in a child reports its name
//! and ends the child, without the rest of a process's end (functions of `atexit`, buffers that are the
//! parent's too). A child that makes no call, or starts another program, is left alone. What a child drops is
//! left as it is.
//!
//! The system calls [`in_child`] in every child that fork(2) makes, with no other thread there and any lock
//! perhaps held for ever; it only stores. The list of windows is locked then ([`before`]), and stays so in the child: to unlock it might
//! wait for threads that are not there. The check is where a call leaves the process, not at its beginning:
//!
//! | what leaves | what asks |
//! | --- | --- |
//! | packets, polls, waits, everything that the engine's state is for | the engine's lock, before it is taken (`progress/lock.rs`) |
//! | lock words and counters in shared memory, without that lock | nothing: in a child each window leaves all its calls to the engine's lock ([`InChild`]) |
//! | exclusion of accumulates in mapped memory | the domain (`control/domain.rs`): in a child no announcement is a thread's own |
//! | shared-memory collective slots, memory that peers of the node map, the launcher, traces | their writers in `rma` |
//!
//! What is left are loads and stores of window memory that is mapped: puts and gets on the direct path do in
//! a child what the same stores and loads by a pointer do, and ask nothing. The C library asks in every call,
//! by the same look that shows whether it runs at all ([`when_forked`]).

use parking_lot::{Mutex, MutexGuard, const_mutex};
use slab::Slab;
use std::ptr::fn_addr_eq;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{OnceLock, Weak};

static IS_CHILD: AtomicBool = AtomicBool::new(false);
static RANK: AtomicU32 = AtomicU32::new(0);
static WATCH: OnceLock<()> = OnceLock::new();
/// As many as there are callers of [`when_forked`].
static THEN: [OnceLock<fn()>; 2] = [const { OnceLock::new() }; 2];
/// What each window keeps for calls that ask nothing.
static KEPT: Mutex<Slab<Weak<dyn InChild>>> = const_mutex(Slab::new());

/// State by which calls go past the engine's lock.
pub(crate) trait InChild: Send + Sync {
    /// From now on none does. In a forked child: nothing but stores.
    fn bar(&self);
}

/// While it lives, the state is barred in forked children.
#[derive(Debug)]
pub(crate) struct BarredInChild(Option<usize>);

/// Has the state barred in forked children, where they are watched for.
pub(crate) fn keep(state: Weak<dyn InChild>) -> BarredInChild {
    BarredInChild(WATCH.get().map(|()| KEPT.lock().insert(state)))
}

impl Drop for BarredInChild {
    fn drop(&mut self) {
        if !is_child() {
            let _state = self.0.and_then(|place| KEPT.lock().try_remove(place));
        }
    }
}

/// From now on children of this process, a rank of this number, are recognized as such.
pub fn watch(rank: u32) {
    RANK.store(rank, Relaxed);
    WATCH.get_or_init(|| {
        // SAFETY: the functions are there for as long as the process, and may be called by any thread that forks.
        // Without memory for the entry there is no guard, which no right program needs.
        let _ = unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
    });
}

/// What is to be done in each forked child first: `then` may do nothing but store.
pub fn when_forked(then: fn()) {
    let is_free = |place: &&OnceLock<fn()>| fn_addr_eq(*place.get_or_init(|| then), then);
    let place = THEN.iter().find(is_free);
    debug_assert!(place.is_some(), "there is a place for each caller");
}

/// Whether this process is a forked child of one that has taken part in a job.
#[inline(always)]
pub fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Ends this process if it is a forked child: `call` says what only its parent may call.
#[inline]
pub fn check(call: &str) {
    if is_child() {
        end_child(call);
    }
}

/// Ends this process, a forked child, because it has called what only its parent may call.
#[cold]
#[inline(never)]
pub fn end_child(call: &str) -> ! {
    let line = format!(
        "rma: {call} called in a forked child of rank {}: only the process that the launcher has started is a rank; this child \
         ends (fork and then exec, or fork before the initialization)\n",
        RANK.load(Relaxed)
    );
    // Not by the standard library, whose lock another thread of the parent may have held.
    // SAFETY: the bytes are those of the line.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    // SAFETY: it ends the process.
    unsafe { libc::_exit(1) }
}

/// The child sees the list as no other thread is changing it.
extern "C" fn before() {
    if !is_child() {
        MutexGuard::leak(KEPT.lock());
    }
}

extern "C" fn after() {
    if !is_child() {
        // SAFETY: this thread has locked it, in `before`.
        unsafe { KEPT.force_unlock() };
    }
}

extern "C" fn in_child() {
    if !is_child() {
        // SAFETY: this thread has locked it, in `before`, and no other is there.
        let kept = unsafe { &*KEPT.data_ptr() };
        kept.iter().filter_map(|(_, state)| state.upgrade()).for_each(|state| state.bar());
        IS_CHILD.store(true, Relaxed);
    }
    THEN.iter().filter_map(OnceLock::get).for_each(|then| then());
}
