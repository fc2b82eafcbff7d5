//! What comes back: grants, refusals, acknowledgements, data, errors.
//!
//! Handlers change states and mark that the window needs issue; they send nothing. Every event is idempotent in effect or refused as
//! forged: a reply must name a live operation of this window and this peer that waits for exactly it.

use crate::channel::{Delivery, Placement};
use crate::epoch::{LockEvent, LockStage};
use crate::error::{Error, ErrorClass};
use crate::ids::{Peer, Rank, RequestId, Sequence};
use crate::pool::PoolKey;
use crate::state::{OutOfRange, Pools, WindowState};
use crate::table::{ClosingWord, OpPool, Operation, Target};
use crate::wire::{Response, ResponseFlags, ResponseKind};

const NEVER_SENT: &str = "response to a request that was never sent";

/// What handling a response works on.
pub(crate) struct Settler<'a> {
    pub(crate) window: &'a mut WindowState,
    pub(crate) pools: &'a mut Pools,
}

impl Settler<'_> {
    /// Handles a small response and the data behind its head.
    #[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
    pub(crate) fn handle(&mut self, from: Peer, response: &Response, data: &[u8]) -> Delivery {
        match self.try_handle(from, response, data) {
            Ok(()) => Delivery::Accepted,
            Err(reason) => Delivery::Refused(reason),
        }
    }

    /// Says where the body of a bulk reply goes. [`Settler::on_bulk_data`] follows when it is there.
    pub(crate) fn place_bulk(
        &mut self,
        from: Peer,
        response: &Response,
        len: u64,
    ) -> (Placement, Option<PoolKey>) {
        let ResponseKind::Data { to } = response.kind else {
            return (Placement::Refused("bulk response that is not data"), None);
        };
        let found = self.target_of(from).and_then(|target| {
            let Pools { ops, targets } = &mut *self.pools;
            check_grant(self.window, &targets[target], response)?;
            let operation = waiting_op(ops, &targets[target], to, response, len)?;
            operation.is_receiving = true;
            Ok((operation.result.split_to(len), to.into()))
        });
        match found {
            Ok((place, op)) => (Placement::Into(place), Some(op)),
            Err(reason) => (Placement::Refused(reason), None),
        }
    }

    /// A bulk reply is in the user's buffer.
    pub(crate) fn on_bulk_data(&mut self, from: Peer, response: &Response, op: PoolKey) {
        if let Ok(target) = self.target_of(from) {
            let Pools { ops, targets } = &mut *self.pools;
            let target = &mut targets[target];
            target.on_data(on_reply(&mut ops[op]));
            on_common(self.window, ops, target, response);
        }
    }

    /// The channel has read the last byte of a bulk body.
    pub(crate) fn on_bulk_sent(&mut self, target: PoolKey, op: PoolKey) {
        let Pools { ops, targets } = &mut *self.pools;
        let Some(operation) = ops.get_mut(op) else { return };
        operation.on_bulk_sent();
        operation.signal_if_ended();
        if let Some(target) = targets.get_mut(target) {
            retire(self.window, ops, target);
        }
    }

    fn try_handle(&mut self, from: Peer, response: &Response, data: &[u8]) -> Result<(), &'static str> {
        if response.flags == ResponseFlags::NONE && response.kind == ResponseKind::Ack {
            return self.acknowledged(from, response.sequence);
        }
        if response.flags.has(ResponseFlags::NOTE) {
            return self.note(from, response);
        }
        if let Some(rank) = self.granted_without_element(from, response) {
            self.window.bequests.extend(Some(rank).filter(|_| response.is_bequeathed()));
            self.window.needs_issue = true;
            return Ok(());
        }
        let target = self.target_of(from)?;
        let Pools { ops, targets } = &mut *self.pools;
        let target = &mut targets[target];
        if response.sequence > target.sent {
            return Err(NEVER_SENT);
        }
        check_grant(self.window, target, response)?;
        match response.kind {
            ResponseKind::Ack => {}
            ResponseKind::NotPosted | ResponseKind::Over | ResponseKind::Key { .. } => {
                return Err("error without a note's flag");
            }
            ResponseKind::Data { to } => {
                let op = waiting_op(ops, target, to, response, data.len() as u64)?;
                op.result.write(data);
                target.on_data(on_reply(op));
            }
            ResponseKind::Error { to, start, len, size } => {
                if let Some(to) = to {
                    let op = ops.get(to.into()).ok_or("error for an operation that does not exist")?;
                    let len = op.fetch().map_or(0, |fetch| fetch.len);
                    let op = waiting_op(ops, target, to, response, len)?;
                    op.result.skip(len);
                    target.on_data(on_reply(op));
                }
                let error = OutOfRange { start, len, size }.into_error("flush", target.rank);
                self.window.note_error(error);
            }
        }
        on_common(self.window, ops, target, response);
        Ok(())
    }

    /// What an acknowledgement alone says: everything up to that packet has been applied. No operation waits for one.
    fn acknowledged(&mut self, from: Peer, sequence: Sequence) -> Result<(), &'static str> {
        let target = self.target_of(from)?;
        let element = &mut self.pools.targets[target];
        if sequence > element.sent {
            return Err(NEVER_SENT);
        }
        element.on_acked(sequence);
        // It gives room for no more than what waits here already.
        self.window.needs_issue |= !element.pending.is_empty();
        Ok(())
    }

    /// An error that acknowledges nothing: its operation may be long complete, and its element gone.
    fn note(&mut self, from: Peer, response: &Response) -> Result<(), &'static str> {
        let rank = self.window.shared.group.rank(from).ok_or("note from a process outside the group")?;
        self.window.note_error(match response.kind {
            ResponseKind::Error { to: None, start, len, size } => {
                OutOfRange { start, len, size }.into_error("complete", rank)
            }
            ResponseKind::NotPosted => {
                let cause = format!("rank {rank} had not called post for this rank's epoch of start");
                Error::new(ErrorClass::RmaSync, "complete", cause)
            }
            ResponseKind::Ack
            | ResponseKind::Data { .. }
            | ResponseKind::Error { to: Some(_), .. }
            | ResponseKind::Key { .. }
            | ResponseKind::Over => {
                return Err("note that is not an error");
            }
        });
        Ok(())
    }

    /// The rank whose lock a response grants without an element: to the window protocol of lock_all, or ahead
    /// of a later lock of its caller.
    fn granted_without_element(&mut self, from: Peer, response: &Response) -> Option<Rank> {
        if !response.flags.has(ResponseFlags::GRANT) || response.kind != ResponseKind::Ack {
            return None;
        }
        let rank = self.window.shared.group.rank(from)?;
        if self.window.epoch.on_answered(rank) {
            return Some(rank);
        }
        if !self.window.epoch.on_granted_bare(rank) {
            return None;
        }
        // Operations may have come meanwhile.
        if let Some(key) = self.window.table.find(&self.pools.targets, rank) {
            self.pools.targets[key].is_locking = false;
        }
        Some(rank)
    }

    fn target_of(&self, from: Peer) -> Result<PoolKey, &'static str> {
        let rank = self
            .window
            .shared
            .group
            .rank(from)
            .ok_or("response from a process outside the window's group")?;
        self.window.table.find(&self.pools.targets, rank).ok_or("response from a target that owes none")
    }
}

fn check_grant(window: &WindowState, target: &Target, response: &Response) -> Result<(), &'static str> {
    if !response.flags.has(ResponseFlags::GRANT) && !response.flags.has(ResponseFlags::REFUSED) {
        return Ok(());
    }
    let is_waiting = window.epoch.lock(target.rank).is_some_and(|lock| lock.state == LockStage::Issued);
    if is_waiting { Ok(()) } else { Err("answer to a lock that was not asked for") }
}

/// The operation that waits for this reply, in this window, from this target, with this many bytes.
fn waiting_op<'a>(
    ops: &'a mut OpPool,
    target: &Target,
    to: RequestId,
    response: &Response,
    len: u64,
) -> Result<&'a mut Operation, &'static str> {
    let key = PoolKey::from(to);
    // Of the pending operations only the first can have asked for anything.
    let is_here = target.issued.head() == Some(key)
        || target.pending.head() == Some(key)
        || target.issued.iter(ops).any(|issued| issued == key);
    let op = ops.get_mut(key).ok_or("data for an operation that does not exist")?;
    let fetch = op.fetch().filter(|fetch| fetch.sequence == response.sequence);
    let fetch = fetch.ok_or("data for an operation that does not wait for it")?;
    if fetch.len != len {
        return Err("data of another length than was asked for");
    }
    if op.is_receiving {
        return Err("data for an operation that is receiving its data");
    }
    if is_here { Ok(op) } else { Err("data for an operation of another target") }
}

/// Notes that a reply is in its place; answers up to which operation all have been applied at the target with it.
fn on_reply(op: &mut Operation) -> u64 {
    op.on_fetched();
    let is_applied = op.sent == op.len && op.fetches() == 0;
    op.signal_if_ended();
    if is_applied { op.order } else { op.order - 1 }
}

/// What every response says by its head: lock granted or data handed back, and everything up to it applied.
#[inline]
fn on_common(window: &mut WindowState, ops: &mut OpPool, target: &mut Target, response: &Response) {
    if response.flags.has(ResponseFlags::REFUSED) {
        return take_back(window, ops, target, response.sequence);
    }
    if response.flags.has(ResponseFlags::GRANT) {
        on_grant(window, ops, target, response.is_bequeathed());
    }
    target.on_acked(response.sequence);
    // An answer alone gives room for no more than what waits here already.
    window.needs_issue |= response.flags != ResponseFlags::NONE || !target.pending.is_empty();
    retire(window, ops, target);
}

fn on_grant(window: &mut WindowState, ops: &mut OpPool, target: &mut Target, is_bequeathed: bool) {
    target.is_locking = false;
    if is_bequeathed {
        window.bequests.insert(target.rank);
    }
    window.epoch.on_lock(target.rank, LockEvent::Grant);
    // Only the first packet of an epoch can have carried the lock, so the operation is at the head.
    if let Some(key) = target.issued.head() {
        let op = &mut ops[key];
        op.set_awaits_grant(false);
        op.signal_if_ended();
    }
}

/// The target has queued the lock request but dropped the operation that came with it: it goes back, untouched, to the
/// head of the list, and every number is again what it was before the packet (lessons, decision 1).
fn take_back(window: &mut WindowState, ops: &mut OpPool, target: &mut Target, sequence: Sequence) {
    let Some(key) = target.issued.pop_front(ops) else { return };
    let op = &mut ops[key];
    window.counters.on_bytes_sent_again(op.data_len());
    target.fetching -= op.fetches();
    op.take_back();
    target.asked.retain(|(asked, _)| *asked != sequence);
    target.issued_to = op.order - 1;
    target.stored_to = target.stored_to.min(op.order - 1);
    if target.closing == ClosingWord::Sent {
        target.closing = ClosingWord::Wanted;
    }
    target.pending.push_front(ops, key);
}

/// Frees the issued operations at the head that wait for nothing any more.
#[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
pub(super) fn retire(window: &mut WindowState, ops: &mut OpPool, target: &mut Target) {
    while target.issued.free_first_if(ops, &mut window.op_share, Operation::is_settled) {
        window.no_hold_back = false;
    }
}
