//! What comes back: grants, refusals, acknowledgements, data, errors.
//!
//! Handlers change states and mark the window dirty; they send nothing. Every event is idempotent in effect or refused as
//! forged: a reply must name a live operation of this window and this peer that waits for exactly it.

use crate::channel::{Delivery, Placement};
use crate::epoch::{LockEvent, LockState};
use crate::error::{Error, ErrorClass};
use crate::ids::{Peer, Rank, RequestId, Sequence};
use crate::pool::PoolKey;
use crate::state::{OutOfRange, Pools, WindowState};
use crate::table::Closing;
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
            self.check_grant(target, response)?;
            let op = self.waiting_op(target, to, response, len)?;
            let operation = &mut self.pools.ops[op];
            operation.is_receiving = true;
            Ok((operation.result.split_to(len), op))
        });
        match found {
            Ok((place, op)) => (Placement::Into(place), Some(op)),
            Err(reason) => (Placement::Refused(reason), None),
        }
    }

    /// A bulk reply is in the user's buffer.
    pub(crate) fn on_bulk_data(&mut self, from: Peer, response: &Response, op: PoolKey) {
        if let Ok(target) = self.target_of(from) {
            self.on_data(target, op);
            self.on_common(target, response);
        }
    }

    /// The channel has read the last byte of a bulk body.
    pub(crate) fn on_bulk_sent(&mut self, target: PoolKey, op: PoolKey) {
        let Some(operation) = self.pools.ops.get_mut(op) else { return };
        operation.on_bulk_sent();
        operation.signal_if_ended();
        self.retire(target);
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
            self.window.dirty = true;
            return Ok(());
        }
        let target = self.target_of(from)?;
        if response.sequence > self.pools.targets[target].sent {
            return Err(NEVER_SENT);
        }
        self.check_grant(target, response)?;
        match response.kind {
            ResponseKind::Ack => {}
            ResponseKind::NotPosted | ResponseKind::Over => return Err("error without a note's flag"),
            ResponseKind::Data { to } => {
                let op = self.waiting_op(target, to, response, data.len() as u64)?;
                self.pools.ops[op].result.write(data);
                self.on_data(target, op);
            }
            ResponseKind::Error { to, start, len, size } => {
                if let Some(to) = to {
                    let key = PoolKey { index: to.index, generation: to.generation };
                    let op = self.pools.ops.get(key).ok_or("error for an operation that does not exist")?;
                    let len = op.fetch().map_or(0, |fetch| fetch.len);
                    let op = self.waiting_op(target, to, response, len)?;
                    self.pools.ops[op].result.skip(len);
                    self.on_data(target, op);
                }
                let rank = self.pools.targets[target].rank;
                self.window.note_error(OutOfRange { start, len, size }.into_error("flush", rank));
            }
        }
        self.on_common(target, response);
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
        self.window.dirty |= !element.pending.is_empty();
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
            | ResponseKind::Over => {
                return Err("note that is not an error");
            }
        });
        Ok(())
    }

    /// Whose lock a response grants that was asked for without an element: by the window protocol of lock_all, or before another
    /// one of its caller.
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

    fn check_grant(&self, target: PoolKey, response: &Response) -> Result<(), &'static str> {
        let answers_lock =
            response.flags.has(ResponseFlags::GRANT) || response.flags.has(ResponseFlags::REFUSED);
        let rank = self.pools.targets[target].rank;
        let is_waiting = self.window.epoch.lock(rank).is_some_and(|lock| lock.state == LockState::Issued);
        if answers_lock && !is_waiting { Err("answer to a lock that was not asked for") } else { Ok(()) }
    }

    /// The operation that waits for this reply, in this window, from this target, with this many bytes.
    fn waiting_op(
        &self,
        target: PoolKey,
        to: RequestId,
        response: &Response,
        len: u64,
    ) -> Result<PoolKey, &'static str> {
        let key = PoolKey { index: to.index, generation: to.generation };
        let op = self.pools.ops.get(key).ok_or("data for an operation that does not exist")?;
        let fetch = op.fetch().filter(|fetch| fetch.sequence == response.sequence);
        let fetch = fetch.ok_or("data for an operation that does not wait for it")?;
        if fetch.len != len {
            return Err("data of another length than was asked for");
        }
        if op.is_receiving {
            return Err("data for an operation that is receiving its data");
        }
        // Of the pending operations only the first can have asked for anything.
        let target = &self.pools.targets[target];
        let is_here = target.pending.head() == Some(key)
            || target.issued.iter(&self.pools.ops).any(|issued| issued == key);
        if is_here { Ok(key) } else { Err("data for an operation of another target") }
    }

    fn on_data(&mut self, target: PoolKey, key: PoolKey) {
        let op = &mut self.pools.ops[key];
        op.on_fetched();
        let is_applied = op.sent == op.len && op.fetches() == 0;
        let applied = if is_applied { op.order } else { op.order - 1 };
        op.signal_if_ended();
        self.pools.targets[target].on_data(applied);
    }

    /// What every response says by its head: lock granted or data handed back, and everything up to it applied.
    fn on_common(&mut self, target: PoolKey, response: &Response) {
        if response.flags.has(ResponseFlags::REFUSED) {
            self.take_back(target, response.sequence);
            return;
        }
        if response.flags.has(ResponseFlags::GRANT) {
            self.on_grant(target, response.is_bequeathed());
        }
        let element = &mut self.pools.targets[target];
        element.on_acked(response.sequence);
        // An answer alone gives room for no more than what waits here already.
        self.window.dirty |= response.flags != ResponseFlags::NONE || !element.pending.is_empty();
        self.retire(target);
    }

    fn on_grant(&mut self, target: PoolKey, is_bequeathed: bool) {
        let element = &mut self.pools.targets[target];
        element.is_locking = false;
        if is_bequeathed {
            self.window.bequests.insert(element.rank);
        }
        self.window.epoch.on_lock(element.rank, LockEvent::Grant);
        // Only the first packet of an epoch can have carried the lock, so the operation is at the head.
        if let Some(key) = element.issued.head() {
            let op = &mut self.pools.ops[key];
            op.set_awaits_grant(false);
            op.signal_if_ended();
        }
    }

    /// The target has queued the lock request but dropped the operation that came with it: it goes back, untouched, to the
    /// head of the list, and every number is again what it was before the packet (lessons, decision 1).
    fn take_back(&mut self, target: PoolKey, sequence: Sequence) {
        let element = &mut self.pools.targets[target];
        let Some(key) = element.issued.pop_front(&mut self.pools.ops) else { return };
        let op = &mut self.pools.ops[key];
        self.window.counters.on_bytes_sent_again(op.data_len());
        element.fetching -= op.fetches();
        op.take_back();
        element.asked.retain(|(asked, _)| *asked != sequence);
        element.issued_to = op.order - 1;
        element.stored_to = element.stored_to.min(op.order - 1);
        if element.closing == Closing::Sent {
            element.closing = Closing::Wanted;
        }
        element.pending.push_front(&mut self.pools.ops, key);
    }

    /// Frees the issued operations at the head that wait for nothing any more.
    #[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
    fn retire(&mut self, target: PoolKey) {
        let Some(element) = self.pools.targets.get_mut(target) else { return };
        while let Some(key) = element.issued.head().filter(|key| self.pools.ops[*key].is_settled()) {
            element.issued.pop_front(&mut self.pools.ops);
            self.pools.ops.give_back(&mut self.window.op_share, key);
            self.window.pressure = false;
        }
    }
}
