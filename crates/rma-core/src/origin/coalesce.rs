//! Coalescing: small stores to one target share a packet, a pack.
//!
//! A pack takes in the stores that wait at the end of the line when it begins ([`super::decide`] says when). Later ones join it without
//! an element of their own, and without asking again what is legal: a pack is joined only while nothing was posted behind it and no call
//! has pushed it, and every call that ends an epoch, and every flush, pushes what was posted before. What joins is copied, so a store
//! with a request is complete at the origin.

use crate::channel::Channel;
use crate::ids::{Disp, Peer, Rank};
use crate::pool::PoolKey;
use crate::state::{LearntMemory, MAX_HEAD, Packing, Pools, Shared, State, WindowState};
use crate::table::{OpData, OpKind, OpList, OpResult, Operation, Pack, SmallStore};
use crate::wire::PACK_ENTRY_LEN;
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// Longest store that may be packed: the copy of more costs about what a packet does.
const MOST_DATA: usize = 256;
/// Longest pack: the target can begin on the first while the next is being filled.
const MOST_BYTES: usize = 8192;
/// Lines of more than so many times `RMA_PACK_FROM` operations are left as they are.
const LONG_LINE: u64 = 4;

impl SmallStore {
    pub(super) fn may_be_packed(&self) -> bool {
        self.data.len() <= MOST_DATA
    }

    /// The first byte at the target, if the origin knows it; `None` when the store is outside the window.
    #[inline]
    pub(super) fn start(&self, shared: &Shared, learnt: &LearntMemory, rank: Rank) -> Option<Option<u64>> {
        shared.start_of(learnt, rank, self.disp, self.data.len())
    }

    #[inline]
    fn add_to(&self, pack: &mut Pack, start: Option<u64>) -> bool {
        pack.add(self.store, self.disp, start, self.data)
    }
}

/// Adds a store to the pack that waits for more of them, if there is one for this target and it has room.
pub(super) fn join(
    pools: &mut Pools,
    window: &mut WindowState,
    shared: &Shared,
    rank: Rank,
    small: &SmallStore,
) -> bool {
    let Some(mut packing) = window.packing else { return false };
    if packing.rank != rank {
        let Some(other) = last_in_line(pools, window, rank) else { return false };
        packing = other;
        window.packing = Some(other);
    }
    let Pools { ops, targets } = pools;
    let (Some(target), Some(op)) = (targets.get_mut(packing.target), ops.get_mut(packing.op)) else {
        window.packing = None;
        shared.has_pack.store(false, Relaxed);
        return false;
    };
    // It is the newest, so it is the last in line; and it leaves whole, so it is no longer an element when it has left.
    let is_open = op.order == target.posted && op.order > target.push_to && small.may_be_packed();
    let OpData::Pack(pack) = &mut op.data else { return false };
    let Some(start) = small.start(shared, &window.learnt, rank).filter(|_| is_open) else { return false };
    if !small.add_to(pack, start) {
        return false;
    }
    op.len = pack.bytes().len() as u64;
    target.posted += 1;
    op.order = target.posted;
    window.counters.on_ops_queued(1);
    true
}

/// The pack at the end of a target's line, which stores to another target have come after.
fn last_in_line(Pools { ops, targets }: &Pools, window: &WindowState, rank: Rank) -> Option<Packing> {
    let target = window.table.find(targets, rank).filter(|key| targets[*key].ends_in_pack(ops))?;
    let op = targets[target].pending.tail()?;
    Some(Packing { rank, target, op })
}

/// Makes a pack of an operation that has just got its place in a line of `RMA_PACK_FROM` or more but is not in it, and of the
/// stores at the end of the line; leaves the operation as it was when it cannot be packed.
pub(super) fn begin(
    state: &mut State,
    window: &mut WindowState,
    channel: &dyn Channel,
    key: PoolKey,
    op: &mut Operation,
) {
    let Pools { ops, targets } = &mut state.pools;
    let target = &mut targets[key];
    let rank = target.rank;
    let room = room(channel, target.peer);
    let Some(newest) = SmallStore::of(op).filter(SmallStore::may_be_packed) else { return };
    let needs = |small: &SmallStore| PACK_ENTRY_LEN + small.data.len();
    let mut left = match room.checked_sub(needs(&newest)) {
        Some(left) if newest.start(&window.shared, &window.learnt, rank).is_some() => left,
        _ => return,
    };
    // What was put in line before its target's memory was known may be outside: the target's answer says so.
    let start = |small: &SmallStore| small.start(&window.shared, &window.learnt, rank).flatten();
    let may_be_taken = |op: &Operation| {
        SmallStore::of(op).filter(|small| op.order > target.push_to && small.may_be_packed())
    };
    let line = match target.pending.tail().map(|key| &ops[key]) {
        // A pack that is full, or nothing.
        Some(Operation { kind: OpKind::Pack, .. }) | None => SmallVec::<[PoolKey; 64]>::new(),
        // A long line is one whose stores have others among them: it is not walked again and again.
        Some(last) if may_be_taken(last).is_none() => return,
        Some(_) if target.pending.len() > LONG_LINE * state.config.pack_from => return,
        Some(_) => target.pending.iter(ops).collect(),
    };
    let mut taken = SmallVec::<[(PoolKey, SmallStore); 64]>::new();
    for key in line.iter().rev() {
        let Some(small) = may_be_taken(&ops[*key]) else { break };
        let Some(rest) = left.checked_sub(needs(&small)) else { break };
        left = rest;
        taken.push((*key, small));
    }
    let mut pack = Pack::new(room);
    if !taken.is_empty() {
        target.pending = OpList::default();
        line[..line.len() - taken.len()].iter().for_each(|key| target.pending.push_back(ops, *key));
        // Another thread may wait for one of their elements, and no step says that they are free.
        state.must_notify = true;
        window.no_hold_back = false;
    }
    for (key, small) in taken.into_iter().rev() {
        let is_in = small.add_to(&mut pack, start(&small));
        debug_assert!(is_in, "its room was counted");
        ops.give_back(&mut window.op_share, key);
    }
    let is_in = newest.add_to(&mut pack, start(&newest));
    debug_assert!(is_in, "its room was counted first");
    let mut packed = operation(newest.disp, pack);
    packed.order = op.order;
    *op = packed;
}

/// Most bytes of a pack to a peer.
pub(super) fn room(channel: &dyn Channel, peer: Peer) -> usize {
    (channel.capabilities_for(peer).max_packet - MAX_HEAD).min(MOST_BYTES)
}

/// A pack of this store alone, if it may be packed, where packs have so much room.
pub(super) fn of_one(small: &SmallStore, start: Option<u64>, room: usize) -> Option<Operation> {
    let mut pack = Pack::new(room);
    (small.may_be_packed() && small.add_to(&mut pack, start)).then(|| operation(small.disp, pack))
}

fn operation(disp: Disp, pack: Pack) -> Operation {
    let len = pack.bytes().len() as u64;
    Operation::new(OpKind::Pack, disp, len, OpData::Pack(Box::new(pack)), OpResult::NONE)
}

/// Remembers a pack that is in line now: the next stores join it.
pub(super) fn note(window: &mut WindowState, rank: Rank, target: PoolKey, op: PoolKey) {
    window.packing = Some(Packing { rank, target, op });
    window.shared.has_pack.store(true, Relaxed);
}
