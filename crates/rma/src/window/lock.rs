//! Lock epochs: one rank, or a set of ranks, without the target's help (MPI 3.1 §11.5.3).

use super::operations::{Access, Parts};
use super::rank::IntoRank;
use super::scope;
use super::target::Target;
use super::typed::Window;
use crate::elements::Element;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::Rank;
use rma_core::{Error, Result};
use std::fmt;

/// The epoch of a lock.
#[derive(Debug)]
pub enum Lock {}

/// The handle of a rank that is locked for the scope.
pub type Locked<'scope, T> = Target<'scope, T, Lock>;

/// Several ranks that are locked for the scope.
pub struct LockSet<'scope, T> {
    ranks: Vec<Locked<'scope, T>>,
}
impl<T: Element, E: From<Error>> Window<'_, T, E> {
    /// Runs `body` while this rank holds the exclusive lock of rank `target`.
    ///
    /// ```
    /// rma::World::run_threads(3, |world| {
    ///     let mut window = world.allocate::<f64>(1)?;
    ///     // Read, compute, write: no other rank is in between.
    ///     window.exclusive(0, |rank0| {
    ///         let old = rank0.load(0)?;
    ///         rank0.store(0, old.mul_add(2.0, 1.0))
    ///     })?;
    ///     world.barrier()?;
    ///     assert_eq!(window.shared(0, |rank0| rank0.load(0))?, 7.0);
    ///     world.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The closure's error, or that of lock or unlock; see [`rma_core::window::Window::lock`].
    pub fn exclusive<'scope, R>(
        &'scope mut self,
        target: impl IntoRank,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_lock(self.opened("lock")?, LockKind::Exclusive, target, Assert::NONE, body)
    }

    /// Runs `body` while this rank holds a shared lock of rank `target`.
    ///
    /// # Errors
    /// As [`Window::exclusive`].
    pub fn shared<'scope, R>(
        &'scope mut self,
        target: impl IntoRank,
        body: impl FnOnce(&Locked<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_lock(self.opened("lock")?, LockKind::Shared, target, Assert::NONE, body)
    }

    /// Runs `body` while this rank holds these locks. They are taken in ascending rank order, so that two sets cannot wait
    /// for each other; `body` finds them in the order given.
    ///
    /// ```
    /// use rma::LockKind::{Exclusive, Shared};
    ///
    /// rma::World::run_threads(3, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.local().set(0, 10 * u64::from(world.rank()));
    ///     world.barrier()?;
    ///     if world.rank() == 0 {
    ///         window.lock_set(&[(2, Exclusive), (1, Shared)], |set| {
    ///             let [two, one] = set.ranks() else { unreachable!("two ranks were named") };
    ///             two.fetch_add(0, one.load(0)?)
    ///         })?;
    ///     }
    ///     world.barrier()?;
    ///     if world.rank() == 2 {
    ///         assert_eq!(window.local().get(0), 30);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Window::exclusive`]; `MPI_ERR_RMA_SYNC` when a rank is named twice.
    pub fn lock_set<'scope, R>(
        &'scope mut self,
        locks: &[(impl IntoRank, LockKind)],
        body: impl FnOnce(&LockSet<'scope, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        let parts = self.opened("lock")?;
        let named = |(rank, kind): &(_, LockKind)| Ok((IntoRank::into_rank(*rank, "lock")?, *kind));
        let named = |_: &_| locks.iter().map(named).collect::<Result<Vec<(Rank, LockKind)>>>();
        let mut locks = parts.core.call(named)?;
        let set = LockSet { ranks: locks.iter().map(|(target, _)| locked(parts, *target)).collect() };
        locks.sort_by_key(|(rank, _)| *rank);
        with_locks(parts, &locks, || body(&set))
    }
}

/// Runs `body` while a lock is held.
pub(super) fn with_lock<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope Parts<T>,
    kind: LockKind,
    target: impl IntoRank,
    assert: Assert,
    body: impl FnOnce(&Locked<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    let target = parts.rank(target, "lock")?;
    let handle = locked(parts, target);
    parts.core.call(|window| window.lock(kind, target, assert))?;
    scope::epoch(parts, || body(&handle), || parts.core.call(|window| window.unlock(target)))
}

/// The handle of a rank that is locked, or is about to be.
fn locked<T>(parts: &Parts<T>, target: Rank) -> Locked<'_, T> {
    Target::new(Access::passive(parts), target)
}

/// Opens locks, runs `body`, closes them.
fn with_locks<T, R, E: From<Error>>(
    parts: &Parts<T>,
    locks: &[(Rank, LockKind)],
    body: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    let core = &parts.core;
    let mut held = Vec::with_capacity(locks.len());
    let mut opened = Ok(());
    for (rank, kind) in locks {
        opened = core.call(|window| window.lock(*kind, *rank, Assert::NONE));
        if opened.is_err() {
            break;
        }
        held.push(*rank);
    }
    let close = || {
        // Every lock is released, also behind one that fails; the first error is the result.
        let mut closed = Ok(());
        for rank in &held {
            let unlocked = core.call(|window| window.unlock(*rank));
            closed = closed.and(unlocked);
        }
        closed
    };
    let body = || {
        opened?;
        body()
    };
    scope::epoch(parts, body, close)
}

impl<'scope, T> LockSet<'scope, T> {
    /// The locked ranks, in the order in which they were named.
    pub fn ranks(&self) -> &[Locked<'scope, T>] {
        &self.ranks
    }
}

impl<T> fmt::Debug for LockSet<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.ranks).finish()
    }
}
