//! Lock epochs: one rank, or a set of ranks, without the target's help (MPI 3.1 §11.5.3).

use super::operations::{Access, WindowParts};
use super::rank::IntoRank;
use super::scope;
use super::target::Target;
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

/// Runs `body` while a lock is held.
pub(super) fn with_lock<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
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

/// Runs `body` while several locks are held.
pub(super) fn with_set<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    locks: &[(impl IntoRank, LockKind)],
    body: impl FnOnce(&LockSet<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    let named = |(rank, kind): &(_, LockKind)| Ok((IntoRank::into_rank(*rank, "lock")?, *kind));
    let named = |_: &_| locks.iter().map(named).collect::<Result<Vec<(Rank, LockKind)>>>();
    let mut locks = parts.core.call(named)?;
    let set = LockSet { ranks: locks.iter().map(|(target, _)| locked(parts, *target)).collect() };
    locks.sort_by_key(|(rank, _)| *rank);
    with_locks(parts, &locks, || body(&set))
}

/// The handle of a rank that is locked, or is about to be.
fn locked<T>(parts: &WindowParts<T>, target: Rank) -> Locked<'_, T> {
    Target::new(Access::passive(parts), target)
}

/// Opens locks, runs `body`, closes them.
fn with_locks<T, R, E: From<Error>>(
    parts: &WindowParts<T>,
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
