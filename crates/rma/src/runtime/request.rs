//! Collectives under way, and how they end. What steps them is [`crate::progress`].
//!
//! ```text
//!   Running ── a step gives the result, or an error ──> Ended ── taken by its handle ──> Taken
//! ```
//!
//! Invariants: a machine is stepped by one thread at a time; one that has ended is dropped, with all it holds, before its
//! result can be seen. A collective whose handle was dropped goes on, because other ranks depend on it.

use super::process::Runtime;
use crate::collective::{CollectiveStep, Machine, drive};
use crate::ending::{Boxed, Ending};
use parking_lot::Mutex;
use rma_core::Result;
use std::fmt;
use std::sync::Arc;

/// A collective that this rank has begun and that goes on by itself: in every call that waits, tests or synchronizes, of
/// whatever kind. Dropping it lets it go on, and drops its result. It can be awaited, in a task of any executor.
///
/// ```
/// rma::World::run_threads(4, |world| {
///     let mut barrier = world.begin_barrier();
///     // Other calls meanwhile, also collectives: they bring the barrier forward too.
///     let sum = world.allreduce(rma::ReduceOp::Sum, &[1u32])?;
///     assert_eq!(sum, [4]);
///     while barrier.test()?.is_none() {}
///     Ok(())
/// })
/// .unwrap();
/// ```
#[must_use]
pub struct CollectiveRequest<T> {
    runtime: Arc<Runtime>,
    call: &'static str,
    root: Option<u32>,
    task: Arc<dyn CollectiveTask<T>>,
    is_taken: bool,
}

/// A collective as its handle sees it.
trait CollectiveTask<T>: Send + Sync {
    fn has_ended(&self) -> bool;
    /// How it ended, once, if it has.
    fn take(&self) -> Option<Result<T>>;
}

struct Active<M: Machine>(Mutex<CollectiveState<M>>);

enum CollectiveState<M: Machine> {
    Running(M),
    Ended(Result<M::Output>),
    Taken,
}

impl<M> CollectiveStep for Active<M>
where
    M: Machine + Send,
    M::Output: Send,
{
    fn step(&self) -> bool {
        let mut state = self.0.lock();
        let CollectiveState::Running(machine) = &mut *state else { return true };
        match drive(machine) {
            Ok(None) => return false,
            Ok(Some(output)) => *state = CollectiveState::Ended(Ok(output)),
            Err(error) => *state = CollectiveState::Ended(Err(error)),
        }
        true
    }
}

impl<M> CollectiveTask<M::Output> for Active<M>
where
    M: Machine + Send,
    M::Output: Send,
{
    fn has_ended(&self) -> bool {
        !matches!(*self.0.lock(), CollectiveState::Running(_))
    }

    fn take(&self) -> Option<Result<M::Output>> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, CollectiveState::Taken) {
            CollectiveState::Ended(end) => Some(end),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl<T> CollectiveRequest<T> {
    /// Begins: the first step is made before this returns.
    pub(crate) fn begin<M>(runtime: &Arc<Runtime>, call: &'static str, machine: M) -> Self
    where
        M: Machine<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let request = Self::enter(runtime, call, machine);
        // The first messages leave now: the rank may be away from the library for long after this call.
        runtime.engine.poll();
        request
    }

    /// As [`CollectiveRequest::begin`], but for the step, which the engine makes next: for a caller that waits.
    pub(super) fn enter<M>(runtime: &Arc<Runtime>, call: &'static str, machine: M) -> Self
    where
        M: Machine<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let root = machine.root();
        let active = Arc::new(Active(Mutex::new(CollectiveState::Running(machine))));
        runtime.started.push(Arc::clone(&active) as Arc<dyn CollectiveStep>);
        Self { runtime: Arc::clone(runtime), call, root, task: active, is_taken: false }
    }

    /// The call that has begun it.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// The root that its call has named, if it is one with a root.
    pub fn root(&self) -> Option<u32> {
        self.root
    }

    /// Whether it has ended. Moves nothing, so that it can be asked inside [`crate::raw::Runtime::wait_until`].
    pub fn has_ended(&self) -> bool {
        self.task.has_ended()
    }

    /// How it ended, once, if it has. Moves nothing; see [`CollectiveRequest::has_ended`].
    pub fn take(&mut self) -> Option<Result<T>> {
        let end = self.task.take()?;
        self.is_taken = true;
        Some(self.runtime.noted(end.map_err(|error| error.in_call(self.call))))
    }

    /// Moves whatever can be moved now, and gives the result once, if the collective has ended.
    ///
    /// # Errors
    /// What the blocking form of the collective answers.
    pub fn test(&mut self) -> Result<Option<T>> {
        self.runtime.engine.poll();
        self.take().transpose()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// What the blocking form of the collective answers.
    ///
    /// # Panics
    /// When the result has been taken by [`CollectiveRequest::test`] or [`CollectiveRequest::take`].
    pub fn wait(self) -> Result<T> {
        let Self { runtime, call, root, task, is_taken } = &self;
        let _call = runtime.engine.trace_call(call);
        assert!(!is_taken, "the result of this {call} has been taken");
        let describe = || runtime.awaited_collective(*root);
        let end = match task.take() {
            Some(end) => end,
            None => runtime.wait_until(call, &describe, &mut || task.take().transpose()),
        };
        runtime.noted(end.map_err(|error| error.in_call(call)))
    }
}

impl<T: Send + 'static> IntoFuture for CollectiveRequest<T> {
    type Output = Result<T>;
    type IntoFuture = Boxed<'static, T>;

    /// The end of [`CollectiveRequest::wait`], as a future.
    ///
    /// # Panics
    /// As [`CollectiveRequest::wait`].
    fn into_future(self) -> Self::IntoFuture {
        let Self { runtime, call, root, task, is_taken } = self;
        assert!(!is_taken, "the result of this {call} has been taken");
        let awaited = Arc::clone(&runtime);
        let describe = move || awaited.awaited_collective(root);
        let ending = Ending::new(&runtime.engine, &runtime.wakers, describe, move || task.take());
        Box::pin(async move { runtime.noted(ending.await?.map_err(|error| error.in_call(call))) })
    }
}

impl<T> fmt::Debug for CollectiveRequest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.has_ended() { "has ended" } else { "is under way" };
        write!(f, "CollectiveRequest: {} {end}", self.call)
    }
}
