//! What comes back: grants, refusals, acknowledgements, data, errors.
//!
//! Handlers change states and mark the window dirty; they send nothing. Every event is idempotent in effect or refused as
//! forged: a reply must name a live operation of this window and this peer that waits for exactly it.

use crate::channel::{Delivery, Placement};
use crate::datatype::Scatter;
use crate::epoch::LockState;
use crate::ids::{Peer, RequestId, Sequence};
use crate::pool::PoolKey;
use crate::progress::Pools;
use crate::stats::Counters;
use crate::table::Closing;
use crate::window::{OutOfRange, WindowState};
use crate::wire::{Response, ResponseFlags, ResponseKind};

/// What handling a response works on.
pub(crate) struct Settler<'a> {
    pub(crate) window: &'a mut WindowState,
    pub(crate) pools: &'a mut Pools,
    pub(crate) counters: &'a mut Counters,
}

impl Settler<'_> {
    /// Handles a small response and the data behind its head.
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
            self.waiting_op(target, to, response, len)
        });
        match found {
            Ok(op) => {
                let result = std::mem::replace(&mut self.pools.ops[op].result, Scatter::discard(0));
                (Placement::Into(result), Some(op))
            }
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
        operation.outstanding.bulks -= 1;
        self.retire(target);
    }

    fn try_handle(&mut self, from: Peer, response: &Response, data: &[u8]) -> Result<(), &'static str> {
        let target = self.target_of(from)?;
        if response.sequence > self.pools.targets[target].sent {
            return Err("response to a request that was never sent");
        }
        self.check_grant(target, response)?;
        match response.kind {
            ResponseKind::Ack => {}
            ResponseKind::Data { to } => {
                let op = self.waiting_op(target, to, response, data.len() as u64)?;
                self.pools.ops[op].result.write(data);
                self.on_data(target, op);
            }
            ResponseKind::Error { to, start, len, size } => {
                if let Some(to) = to {
                    let key = PoolKey { index: to.index, generation: to.generation };
                    let op = self.pools.ops.get(key).ok_or("error for an operation that does not exist")?;
                    let len = op.len;
                    let op = self.waiting_op(target, to, response, len)?;
                    self.on_data(target, op);
                }
                let rank = self.pools.targets[target].rank;
                self.window.note_error(OutOfRange { start, len, size }.into_error("flush", rank));
            }
        }
        self.on_common(target, response);
        Ok(())
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
        if !op.outstanding.data || op.sequence != response.sequence {
            return Err("data for an operation that does not wait for it");
        }
        if op.len != len {
            return Err("data of another length than was asked for");
        }
        if op.result.remaining() != op.len {
            return Err("data for an operation that is receiving its data");
        }
        if !self.pools.targets[target].issued.iter(&self.pools.ops).any(|issued| issued == key) {
            return Err("data for an operation of another target");
        }
        Ok(key)
    }

    fn on_data(&mut self, target: PoolKey, key: PoolKey) {
        let op = &mut self.pools.ops[key];
        op.outstanding.data = false;
        self.pools.targets[target].on_data(op.order);
    }

    /// What every response says by its head: lock granted or data handed back, and everything up to it applied.
    fn on_common(&mut self, target: PoolKey, response: &Response) {
        if response.flags.has(ResponseFlags::REFUSED) {
            self.take_back(target, response.sequence);
            return;
        }
        if response.flags.has(ResponseFlags::GRANT) {
            self.on_grant(target);
        }
        self.pools.targets[target].on_acked(response.sequence);
        self.retire(target);
        self.window.dirty = true;
    }

    fn on_grant(&mut self, target: PoolKey) {
        let element = &mut self.pools.targets[target];
        element.is_locking = false;
        if let Some(lock) = self.window.epoch.lock_mut(element.rank) {
            lock.state = LockState::Granted;
        }
        // Only the first packet of an epoch can have carried the lock, so the operation is at the head.
        if let Some(key) = element.issued.head() {
            self.pools.ops[key].outstanding.grant = false;
        }
    }

    /// The target has queued the lock request but dropped the operation that came with it: it goes back, untouched, to the
    /// head of the list, and every number is again what it was before the packet (lessons, decision 1).
    fn take_back(&mut self, target: PoolKey, sequence: Sequence) {
        let element = &mut self.pools.targets[target];
        let Some(key) = element.issued.pop_front(&mut self.pools.ops) else { return };
        let op = &mut self.pools.ops[key];
        self.counters.on_bytes_sent_again(op.data_len());
        op.sent = 0;
        op.outstanding.grant = false;
        if op.outstanding.data {
            op.outstanding.data = false;
            element.fetching -= 1;
        }
        element.asked.retain(|(asked, _)| *asked != sequence);
        element.issued_to = op.order - 1;
        element.stored_to = element.stored_to.min(op.order - 1);
        if element.closing == Closing::Sent {
            element.closing = Closing::Wanted;
        }
        element.pending.push_front(&mut self.pools.ops, key);
    }

    /// Frees the issued operations at the head that wait for nothing any more.
    fn retire(&mut self, target: PoolKey) {
        let Some(element) = self.pools.targets.get_mut(target) else { return };
        while let Some(key) = element.issued.head().filter(|key| self.pools.ops[*key].is_settled()) {
            element.issued.pop_front(&mut self.pools.ops);
            self.pools.ops.put_back(&mut self.window.op_share, key);
            self.window.pressure = false;
        }
    }
}
