//! A lone store: the one operation that waits for its target, in a few words instead of an element of the pool.
//!
//! Most programs that wait for each store of a few bytes put one, and flush. Such a store is held back until the flush comes, which
//! rides on its packet, and needs nothing once that has left: no data comes back, no buffer is still read. So nobody ever looks at its
//! element, which costs more than the packet. It stays with the window instead, until one of two things happens:
//!
//! * A flush of its target, or the fence that ends its epoch, with nothing else to do for the window, sends it from here.
//! * Anybody takes the window out of the table to work on it ([`State::take_window`]), or another operation is posted there: then it
//!   becomes an operation like all others, and nobody else has to know of it.
//!
//! Where flushes have taken the last ones in a row ([`Habit`]), the next one leaves at once, with the request for its acknowledgement, and
//! in a channel that keeps no packets back it is on its way while the program comes to its flush: as many packets, sooner. When
//! something else comes than its flush alone, that was a packet too many, and it takes twice as long a row until the next one.
//!
//! A store with a request leaves at once, because somebody waits for it, who waits for no more than that: complete, it needs no request
//! that anybody looks at. The next flush asks for its acknowledgement. A stream of them is packed ([`super::stream`]).
//!
//! Invariants: there is one in a window at most; its target has an element, to which it is the newest operation posted and nothing
//! else is pending; packets to that target may leave; the window's own share of operation elements has one left, so that it can
//! always become one. All of that changes only in the two cases above.
//!
//! [`State::take_window`]: crate::progress::State::take_window

use super::pack::Small;
use super::send::{Outbox, SHORT_STORE, Sent, ShortStore};
use crate::channel::{Capabilities, Channel, Lane};
use crate::config::EngineConfig;
use crate::epoch::Reach;
use crate::ids::{Peer, Rank, Sequence};
use crate::pool::PoolKey;
use crate::progress::{Core, Pools, State};
use crate::table::{Operation, Target};
use crate::window::{Shared, WindowState, Windows};
use crate::wire::{RequestFlags, STORE_HEAD, put_store_head};

/// Lone stores in a row that flushes have taken, after which the first one does not wait for its flush.
const ENOUGH: u8 = 3;

/// A store that waits alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lone {
    pub(crate) rank: Rank,
    target: PoolKey,
    small: Small,
}

/// What became of a window's last lone stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habit {
    /// How many in a row were taken by a flush that waits for the target.
    row: u8,
    /// The row after which one leaves ahead of its flush.
    enough: u8,
    /// The last one has left ahead of the flush of this rank, which has not come yet.
    ahead: Option<Rank>,
}

impl Default for Habit {
    fn default() -> Self {
        Self { row: 0, enough: ENOUGH, ahead: None }
    }
}

impl Habit {
    /// A flush has taken the store that waited.
    pub(crate) fn on_taken(&mut self, reach: Reach) {
        self.row = if reach == Reach::Remote { self.row.saturating_add(1) } else { 0 };
    }

    /// A flush of this rank has found no store waiting, and with `has_said_all` nothing else either.
    pub(crate) fn on_flush(&mut self, rank: Rank, reach: Reach, has_said_all: bool) {
        if self.ahead != Some(rank) {
            return;
        }
        match (reach, has_said_all) {
            (Reach::Remote, true) => self.ahead = None,
            (Reach::Remote | Reach::Local, _) => self.on_missed(),
        }
    }

    /// Something else has come than the flush that the last store left ahead of.
    fn on_missed(&mut self) {
        *self = Self { enough: self.enough.saturating_mul(2), ..Self::default() };
    }
}

/// Whether a store leaves in one small packet.
fn is_in_one(channel: &dyn Channel, peer: Peer, small: &Small) -> bool {
    let len = small.data.len();
    let carries = |limits: Capabilities| len <= limits.bulk_from && STORE_HEAD + len <= limits.max_packet;
    len <= SHORT_STORE || carries(channel.capabilities_for(peer))
}

/// Keeps a small store until the next flush, or sends it ahead, if nothing else waits for its target and nothing needs it to be an
/// operation. Says whether it has done either.
pub(crate) fn keep_or_send(core: &mut Core, shared: &Shared, rank: Rank, small: &Small) -> bool {
    let State { windows, pools, config, lost, by_channel, .. } = &mut core.state;
    if !lost.is_empty() {
        return false;
    }
    let Some((window, key)) = alone(windows, pools, shared, rank, small, |window| may_wait(window, rank))
    else {
        return false;
    };
    let target = &mut pools.targets[key];
    if !window.op_share.has_own()
        || !is_held_back(config, small)
        || !is_in_one(&*core.channel, target.peer, small)
    {
        return false;
    }
    target.posted += 1;
    window.counters.on_ops_queued(1);
    let lone = Lone { rank, target: key, small: *small };
    if window.habit.ahead.is_some() {
        window.habit.on_missed();
    }
    if window.habit.row >= window.habit.enough && !window.dirty && window.is_granted(rank) {
        let mut outbox = Outbox { channel: &mut *core.channel, counters: &mut window.counters, by_channel };
        if lone.send(shared, target, &mut outbox, RequestFlags::ACK) {
            window.habit.ahead = Some(rank);
            return true;
        }
    }
    window.lone = Some(lone);
    true
}

/// Sends a small store, if nothing waits for its target and nothing needs it to be an operation. Says whether it has: then it is
/// complete at the origin, and the next flush asks for its acknowledgement.
pub(crate) fn send_at_once(core: &mut Core, shared: &Shared, rank: Rank, small: &Small) -> bool {
    let State { windows, pools, config, lost, by_channel, .. } = &mut core.state;
    if !lost.is_empty() || small.data.len() as u64 > config.unit_bytes {
        return false;
    }
    // Only locks allow requests.
    let is_open = |window: &WindowState| window.is_granted(rank) && window.is_calm(rank);
    let Some((window, key)) = alone(windows, pools, shared, rank, small, is_open) else { return false };
    let target = &mut pools.targets[key];
    if window.dirty || !is_in_one(&*core.channel, target.peer, small) {
        return false;
    }
    let lone = Lone { rank, target: key, small: *small };
    let mut outbox = Outbox { channel: &mut *core.channel, counters: &mut window.counters, by_channel };
    target.posted += 1;
    let has_left = lone.send(shared, target, &mut outbox, RequestFlags::NONE);
    if has_left {
        window.counters.on_ops_queued(1);
    } else {
        target.posted -= 1;
    }
    has_left
}

/// The window of a store, and the element of its target, if nothing waits there, and the store is legal and may leave.
fn alone<'a>(
    windows: &'a mut Windows,
    pools: &Pools,
    shared: &Shared,
    rank: Rank,
    small: &Small,
    is_open: impl Fn(&WindowState) -> bool,
) -> Option<(&'a mut WindowState, PoolKey)> {
    let window = windows.get_mut(shared.id).filter(|window| window.lone.is_none() && is_open(window))?;
    let key = window.table.find(&pools.targets, rank)?;
    let is_first = pools.targets[key].pending.is_empty() && small.is_inside(shared);
    is_first.then_some((window, key))
}

/// Whether a store may wait alone for what ends its epoch or flushes it.
fn may_wait(window: &WindowState, rank: Rank) -> bool {
    let has_lock = window.is_granted(rank) && window.is_calm(rank);
    has_lock || window.is_calm_in_fence(rank) || window.only_started() == Some(rank)
}

/// Whether the settings leave a single store to wait, and in one piece.
fn is_held_back(config: &EngineConfig, small: &Small) -> bool {
    config.piggyback_threshold > 0 && config.pack_from > 1 && small.data.len() as u64 <= config.unit_bytes
}

impl Lone {
    /// Sends the store, with a request for its acknowledgement or the word of a fence, if there is to be one. `false` when it has not left.
    pub(crate) fn send(
        &self,
        shared: &Shared,
        target: &mut Target,
        outbox: &mut Outbox<'_>,
        flags: RequestFlags,
    ) -> bool {
        let Small { store, disp, data } = self.small;
        let sequence = Sequence(target.sent.0 + 1);
        let sent = if data.len() <= SHORT_STORE {
            outbox.store(target.peer, shared.id, flags, sequence, ShortStore { store, disp, run: 0, data })
        } else {
            let mut head = [0; STORE_HEAD];
            let len = put_store_head(&mut head, shared.id, flags, sequence, store, disp, 0);
            outbox.small_span(target.peer, Lane::Request, &head[..len], data)
        };
        if sent != Sent::Yes {
            return false;
        }
        let sequence = target.next_sequence();
        target.on_issued(target.posted, true);
        if flags.has(RequestFlags::ACK) {
            target.on_ack_asked(sequence);
        }
        if flags.closes() {
            target.on_closed(flags);
        }
        outbox.counters.on_ops_issued(1);
        true
    }

    /// Puts the store into the operation table.
    pub(crate) fn enter(self, pools: &mut Pools, window: &mut WindowState) {
        window.habit.row = 0;
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
        let is_open = window.is_granted(self.rank) || may_wait(window, self.rank);
        let may_wait = is_open && window.op_share.has_own();
        if target.rank == self.rank && target.pending.is_empty() && is_newest && may_wait {
            return Ok(());
        }
        Err(format!("a lone store to rank {} is not alone, or may not wait: {target:?}", self.rank))
    }
}
