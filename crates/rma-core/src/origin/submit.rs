//! The fast path of an operation: in an epoch that permits it, where nothing else of the window changes.
//!
//! It asks for the decision ([`super::decide`]) and carries it out, if that can be done here; [`super::post`] does everything else, after
//! the table of legal calls was asked. A store that leaves here takes no element of the table, for nothing is left to wait for; a fetch
//! has its element filled in while the target works on it, and is among the issued ones from the start. A fetch behind another one is
//! held back as any operation: a later store then goes before it, and is acknowledged by its reply.
//!
//! Called under the engine's lock.

use super::coalesce;
use super::decide::{Decision, MOST_OPERAND, New};
use super::issue::{Issuer, outbox, request_kind};
use super::post::{PlaceInLine, enqueue};
use crate::channel::{Channel, Lane};
use crate::ids::{Rank, Sequence};
use crate::pool::PoolKey;
use crate::state::{Outbox, Permission, Sent, Shared, ShortStore, State, WindowState};
use crate::table::{FetchCall, Operation, Outline, SmallStore};
use crate::wire::{RUN_HEAD, Request, RequestFlags, TargetPlace};
use std::sync::atomic::Ordering::Relaxed;

/// An operation's window and target, with what its fast path changes.
pub(crate) struct FastPath<'a> {
    pub(crate) channel: &'a mut dyn Channel,
    pub(crate) state: &'a mut State,
    pub(crate) window: &'a mut WindowState,
    pub(crate) shared: &'a Shared,
    pub(crate) rank: Rank,
}

impl FastPath<'_> {
    /// Carries an operation out, if it belongs here; says how. One that is requested is complete at the origin then.
    #[inline(always)] // each caller has one kind of outline
    pub(crate) fn submit(&mut self, outline: Outline<'_>, is_requested: bool) -> Option<Decision> {
        match outline {
            Outline::Store(small) => {
                let has_joined = self.shared.has_pack.load(Relaxed) && self.joins(small, is_requested);
                if has_joined { Some(Decision::Coalesce) } else { self.store(outline, small, is_requested) }
            }
            Outline::Fetch(call) => self.fetch(outline, call),
            Outline::Other => None,
        }
    }

    /// Adds a store to the pack that waits for more of them, if there is one; says whether it has. One that is requested joins in epochs
    /// of locks only.
    #[inline]
    pub(crate) fn joins(&mut self, small: &SmallStore, is_requested: bool) -> bool {
        let Self { state, window, shared, rank, .. } = self;
        let is_permitted = !is_requested || window.permits_calls(*rank) && state.lost.is_empty();
        is_permitted && coalesce::join(&mut state.pools, window, shared, *rank, small)
    }

    #[inline(always)]
    fn store(&mut self, outline: Outline<'_>, small: &SmallStore, is_requested: bool) -> Option<Decision> {
        let Self { state, window, shared, rank, .. } = self;
        let permission = window.permission(*rank);
        let is_permitted = match permission {
            Permission::None => false,
            // What needs its lock first is for the slow path; only locks allow requests.
            Permission::Promised => is_requested,
            Permission::Fenced | Permission::Started => !is_requested,
            Permission::Held => true,
        };
        if !is_permitted || !state.lost.is_empty() || window.transfers_store(*rank, small.data.len()) {
            return None;
        }
        let start = small.start(shared, &window.learnt, *rank)?;
        let (key, decision) = self.decide(outline, is_requested, permission == Permission::Held)?;
        let Self { channel, state, window, .. } = self;
        if let Decision::Send(flags) = decision {
            return Issuer::new(*channel, state, window).send_store(key, small, flags).then_some(decision);
        }
        if !state.pools.ops.can_take(&window.op_share) {
            return None;
        }
        let target = &state.pools.targets[key];
        let is_first = target.pending.is_empty();
        let op = match decision {
            Decision::Coalesce if is_requested => {
                coalesce::of_one(small, start, coalesce::room(*channel, target.peer))?
            }
            // The signal of its end is to be made.
            _ if is_requested => return None,
            _ => Operation::from(small),
        };
        let place = PlaceInLine { target: key, decision, is_extra: false };
        if !enqueue(state, window, *channel, place, &mut Some(op)) {
            return None;
        }
        if decision != Decision::Hold && !(is_requested && is_first) {
            (window.needs_issue, state.needs_step) = (true, true);
        }
        Some(decision)
    }

    #[inline(always)]
    fn fetch(&mut self, outline: Outline<'_>, call: &FetchCall) -> Option<Decision> {
        let Self { state, window, shared, rank, .. } = self;
        // Elsewhere the release of the lock rides on an operation.
        if !window.holds_node_target(*rank)
            || !state.lost.is_empty()
            || call.result.is_empty()
            || shared.start_of(&window.learnt, *rank, call.disp, call.result.len()).is_none()
            || !state.pools.ops.can_take(&window.op_share)
        {
            return None;
        }
        let (key, decision) = self.decide(outline, false, true)?;
        let Decision::Send(flags) = decision else { return None };
        let Self { channel, state, window, .. } = self;
        Issuer::new(*channel, state, window).send_fetch(key, call, flags).then_some(decision)
    }

    #[inline(always)]
    fn decide(
        &mut self,
        outline: Outline<'_>,
        is_requested: bool,
        is_open: bool,
    ) -> Option<(PoolKey, Decision)> {
        let Self { channel, state, window, rank, .. } = self;
        let key = window.table.find(&state.pools.targets, *rank)?;
        let may_leave = is_open && !window.needs_issue;
        let new = New { outline, is_requested, is_transfer: false };
        Some((key, Issuer::new(*channel, state, window).decide(key, new, may_leave)))
    }
}

impl Issuer<'_> {
    /// Sends a store that is one small packet. Says whether it has.
    fn send_store(&mut self, key: PoolKey, small: &SmallStore, flags: RequestFlags) -> bool {
        let id = self.window.shared.id;
        let target = &mut self.pools.targets[key];
        let sequence = Sequence(target.sent.0 + 1);
        let SmallStore { store, disp, data } = *small;
        let short = ShortStore { store, disp, run: 0, data };
        if outbox!(self).store(target.peer, id, flags, sequence, short) != Sent::Yes {
            return false;
        }
        target.posted += 1;
        target.next_sequence();
        target.on_left(sequence, target.posted, true, flags);
        self.window.eager.on_left(target.rank, flags);
        self.window.counters.on_ops_queued(1);
        self.window.counters.on_ops_issued(1);
        true
    }

    /// Sends the request of a call, for which there is an element. Says whether it has.
    fn send_fetch(&mut self, key: PoolKey, call: &FetchCall, flags: RequestFlags) -> bool {
        let id = self.window.shared.id;
        let target = &mut self.pools.targets[key];
        let op = self.pools.ops.next_key();
        let (len, operand_len) = (call.result.len() as u64, call.operand.len());
        let sequence = Sequence(target.sent.0 + 1);
        let kind = request_kind(call.kind, op.into(), TargetPlace::run(call.disp, 0), len);
        let request = Request { window: id, flags, sequence, kind };
        let mut packet = [0; RUN_HEAD + MOST_OPERAND];
        let (head, _) = packet.split_first_chunk_mut().expect("a packet longer than the head");
        let head_len = request.put_head(head).expect("the head of a run");
        call.operand.read(&mut packet[head_len..head_len + operand_len]);
        let packet = &packet[..head_len + operand_len];
        if outbox!(self).whole(target.peer, Lane::Request, packet, operand_len) != Sent::Yes {
            return false;
        }
        // The target works on it while the element is filled in.
        let mut operation = Operation::from(call);
        (operation.order, operation.sent) = (target.posted + 1, len);
        operation.on_asked(sequence, len);
        let taken = self.pools.ops.take(&mut self.window.op_share, operation);
        debug_assert_eq!(taken, Ok(op), "the pool has said that there is an element, and which");
        target.on_fetch_left(&mut self.pools.ops, op, sequence);
        self.window.counters.on_ops_queued(1);
        self.window.counters.on_ops_issued(1);
        true
    }
}
