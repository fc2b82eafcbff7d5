//! A lone store: the one operation that waits for its target, in a few words instead of an element of the pool.
//!
//! Most programs that wait for each store of a few bytes put one, and flush. Such a store is held back until the flush comes, which
//! rides on its packet, and needs nothing once that has left: no data comes back, no buffer is still read. So nobody ever looks at its
//! element, which costs more than the packet. It stays with the window instead, until one of two things happens:
//!
//! * A flush of its target, with nothing else to do for the window, sends it from here.
//! * Anybody takes the window out of the table to work on it ([`State::take_window`]), or another operation is posted there: then it
//!   becomes an operation like all others, and nobody else has to know of it.
//!
//! Invariants: there is one in a window at most; its target has an element, to which it is the newest operation posted and nothing
//! else is pending; packets to that target may leave; the window's own share of operation elements has one left, so that it can
//! always become one. All of that changes only in the two cases above.
//!
//! [`State::take_window`]: crate::progress::State::take_window

use super::pack::Small;
use super::send::{Outbox, Sent};
use crate::channel::Lane;
use crate::config::EngineConfig;
use crate::ids::{Rank, Sequence};
use crate::pool::PoolKey;
use crate::progress::{Pools, State};
use crate::table::{Operation, Target};
use crate::window::{Shared, WindowState};
use crate::wire::{Place, Request, RequestFlags, RequestKind, Store};

/// Longest lone store: every channel carries so much in a small packet, whatever its settings.
const MOST_DATA: usize = 16;

/// A store that waits alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lone {
    pub(crate) rank: Rank,
    target: PoolKey,
    small: Small,
}

/// Whether a store is short enough to wait alone.
#[inline]
pub(crate) fn is_short(small: &Small) -> bool {
    small.data.len() <= MOST_DATA
}

/// Keeps a short store until the next flush, if nothing else waits for its target and nothing needs it to be an operation.
pub(crate) fn keep(state: &mut State, shared: &Shared, rank: Rank, small: &Small) -> bool {
    if !state.lost.is_empty() {
        return false;
    }
    let State { windows, pools, config, .. } = state;
    let is_first = |window: &&mut WindowState| window.lone.is_none();
    let Some(window) = windows.calm(shared.id, rank).filter(is_first) else { return false };
    let Some(key) = window.table.find(&pools.targets, rank) else { return false };
    let target = &mut pools.targets[key];
    let may_wait = target.pending.is_empty()
        && window.op_share.has_own()
        && window.epoch.is_granted(rank)
        && is_held_back(config, small)
        && small.is_inside(shared);
    if may_wait {
        target.posted += 1;
        window.lone = Some(Lone { rank, target: key, small: *small });
        window.counters.on_ops_queued(1);
    }
    may_wait
}

/// Whether the settings leave a single store to wait, and in one piece.
fn is_held_back(config: &EngineConfig, small: &Small) -> bool {
    config.piggyback_threshold > 0 && config.pack_from > 1 && small.data.len() as u64 <= config.unit_bytes
}

impl Lone {
    /// Sends the store, with a request for its acknowledgement if there is to be one. `false` when it has not left, and has to
    /// become an operation.
    pub(crate) fn send(
        &self,
        shared: &Shared,
        target: &mut Target,
        outbox: &mut Outbox<'_>,
        is_acknowledged: bool,
    ) -> bool {
        let place = Place::run(self.small.disp, 0);
        let kind = match self.small.store {
            Store::Put => RequestKind::Put(place),
            Store::Accumulate(kernel) => RequestKind::Accumulate { place, kernel },
        };
        let flags = if is_acknowledged { RequestFlags::ACK } else { RequestFlags::NONE };
        let request = Request { window: shared.id, flags, sequence: Sequence(target.sent.0 + 1), kind };
        if outbox.small_span(target.peer, Lane::Request, &request.emit(), self.small.data) != Sent::Yes {
            return false;
        }
        let sequence = target.next_sequence();
        target.on_issued(target.posted, true);
        if is_acknowledged {
            target.on_ack_asked(sequence);
        }
        outbox.counters.on_ops_issued(1);
        true
    }

    /// Puts the store into the operation table.
    pub(crate) fn enter(self, pools: &mut Pools, window: &mut WindowState) {
        let Small { store, disp, data } = self.small;
        let mut op = Operation::store(store, disp, data);
        let target = &mut pools.targets[self.target];
        op.order = target.posted;
        match pools.ops.take(&mut window.op_share, op) {
            Ok(key) => target.pending.push_back(&mut pools.ops, key),
            Err(_) => unreachable!("a lone store has an element of its window's share"),
        }
    }

    /// Recomputes what holds for a lone store; for tests.
    ///
    /// # Errors
    /// A sentence about what does not.
    pub(crate) fn invariants(&self, pools: &Pools, window: &WindowState) -> Result<(), String> {
        let Some(target) = pools.targets.get(self.target) else {
            return Err(format!("the target of a lone store, rank {}, has no element", self.rank));
        };
        let is_newest = target.posted == target.issued_to + 1 && target.push_to < target.posted;
        let may_leave = window.epoch.is_granted(self.rank) && window.op_share.has_own();
        if target.rank == self.rank && target.pending.is_empty() && is_newest && may_leave {
            return Ok(());
        }
        Err(format!("a lone store to rank {} is not alone, or may not leave: {target:?}", self.rank))
    }
}
