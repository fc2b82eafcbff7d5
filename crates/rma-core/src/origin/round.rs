//! Rounds: one small packet to each of many ranks, without a target element for each.
//!
//! The window protocol of lock_all asks all ranks for their locks, and releases them; complete notifies
//! targets that nothing was sent to; so does a fence; post notifies origins that they may come. All of them
//! are sent from here, one packet per turn like operations, so that a round delays no other traffic.

use super::issue::{Issuer, PacketStep, outbox};
use crate::bugs::{Bug, has};
use crate::channel::{Lane, Source};
use crate::epoch::LockStage;
use crate::ids::{Rank, Sequence};
use crate::state::{AccessRound, Outbox, Sent};
use crate::wire::{Request, RequestFlags, RequestKind};

impl Issuer<'_> {
    /// Sends at most one packet of each round.
    pub(super) fn issue_rounds(&mut self) -> PacketStep {
        for rank in std::mem::take(&mut self.window.rounds.meet) {
            // A peer that has failed is reported by the channel.
            let _ = self.channel.connect(self.window.shared.group.peer(rank));
        }
        let post = self.issue_post();
        let access = match self.window.rounds.access.take() {
            None => PacketStep::Idle,
            Some(AccessRound::Locks { next }) => self.issue_lock_round(next),
            Some(AccessRound::Unlocks { next }) => self.issue_unlock_round(next),
            Some(AccessRound::Done(ranks)) => self.issue_done(ranks),
            Some(AccessRound::Fence(ranks)) => self.issue_fence(ranks),
        };
        match (post, access) {
            (PacketStep::Moved, _) | (_, PacketStep::Moved) => PacketStep::Moved,
            (PacketStep::Blocked, _) | (_, PacketStep::Blocked) => PacketStep::Blocked,
            (PacketStep::Idle, PacketStep::Idle) => PacketStep::Idle,
        }
    }

    /// Asks for a lock that has to be held before a later one is asked for, unless that was done: by its
    /// element, or without one, since what waits behind it may have the last.
    pub(super) fn issue_lock_before(&mut self, rank: Rank) -> PacketStep {
        let lock = self.window.epoch.lock(rank).copied();
        let Some(lock) = lock.filter(|lock| lock.state == LockStage::Called) else { return PacketStep::Idle };
        if let Some(key) = self.window.table.find(&self.pools.targets, rank) {
            let rider = self.pools.targets[key].pending.head();
            return self.issue_lock(key, rider, lock.kind);
        }
        match self.send_bare(rank, self.lock_flag(rank, lock.kind), RequestKind::Sync) {
            Sent::Lost => PacketStep::Idle,
            Sent::Full => PacketStep::Blocked,
            Sent::Yes => {
                self.window.epoch.on_asked_bare(rank);
                PacketStep::Moved
            }
        }
    }

    fn issue_lock_round(&mut self, first: Rank) -> PacketStep {
        let holds = if has(Bug::StrictOrder) { RequestFlags::NONE } else { RequestFlags::HOLDS };
        let flags = RequestFlags::LOCK_SHARED.with(holds);
        for rank in (first.0..self.window.shared.group.size()).map(Rank) {
            if self.window.shared.node_rank(rank).is_some() || self.window.epoch.lock(rank).is_some() {
                continue;
            }
            let next = Rank(rank.0 + 1);
            if self.window.epoch.asking() as u64 >= self.config.credits {
                // The next grant makes the window need issue again.
                self.window.rounds.access = Some(AccessRound::Locks { next: rank });
                return PacketStep::Idle;
            }
            match self.send_bare(rank, flags, RequestKind::Sync) {
                Sent::Lost => {}
                Sent::Full => {
                    self.window.rounds.access = Some(AccessRound::Locks { next: rank });
                    return PacketStep::Blocked;
                }
                Sent::Yes => {
                    self.window.epoch.on_asked(rank);
                    self.window.rounds.access = Some(AccessRound::Locks { next });
                    return PacketStep::Moved;
                }
            }
        }
        PacketStep::Moved
    }

    fn issue_unlock_round(&mut self, first: Rank) -> PacketStep {
        for rank in (first.0..self.window.shared.group.size()).map(Rank) {
            // Elements stay until the round is over, so none that carries the release is taken for one that was never there.
            let has_element = self.window.table.find(&self.pools.targets, rank).is_some();
            if has_element || self.window.shared.node_rank(rank).is_some() {
                continue;
            }
            match self.send_bare(rank, RequestFlags::UNLOCK, RequestKind::Sync) {
                Sent::Lost => {}
                Sent::Full => {
                    self.window.rounds.access = Some(AccessRound::Unlocks { next: rank });
                    return PacketStep::Blocked;
                }
                Sent::Yes => {
                    self.window.rounds.access = Some(AccessRound::Unlocks { next: Rank(rank.0 + 1) });
                    return PacketStep::Moved;
                }
            }
        }
        PacketStep::Moved
    }

    fn issue_done(&mut self, mut ranks: Vec<Rank>) -> PacketStep {
        let mut step = PacketStep::Idle;
        // Ranks that have not posted do not hold back the others.
        let posted = ranks.iter().position(|rank| self.window.epoch.access.has_posted(*rank));
        if let Some(at) = posted {
            let rank = ranks[at];
            let sent = if rank == self.window.shared.group.me() {
                self.window.target.undone.remove(rank);
                Sent::Yes
            } else {
                self.send_bare(rank, RequestFlags::DONE, RequestKind::Sync)
            };
            step = if sent == Sent::Full { PacketStep::Blocked } else { PacketStep::Moved };
            if sent != Sent::Full {
                ranks.swap_remove(at);
            }
        }
        self.window.rounds.access = (!ranks.is_empty()).then_some(AccessRound::Done(ranks));
        step
    }

    fn issue_fence(&mut self, mut ranks: Vec<Rank>) -> PacketStep {
        let Some(rank) = ranks.last().copied() else { return PacketStep::Idle };
        let sent = self.send_bare(rank, RequestFlags::FENCE, RequestKind::Sync);
        if sent != Sent::Full {
            ranks.pop();
        }
        self.window.rounds.access = (!ranks.is_empty()).then_some(AccessRound::Fence(ranks));
        if sent == Sent::Full { PacketStep::Blocked } else { PacketStep::Moved }
    }

    fn issue_post(&mut self) -> PacketStep {
        let Some(rank) = self.window.rounds.posts.last().copied() else { return PacketStep::Idle };
        match self.send_bare(rank, RequestFlags::NONE, RequestKind::Post) {
            Sent::Full => PacketStep::Blocked,
            Sent::Yes | Sent::Lost => {
                self.window.rounds.posts.pop();
                PacketStep::Moved
            }
        }
    }

    /// A packet to a rank that has no element, so it is the first of its count.
    fn send_bare(&mut self, rank: Rank, flags: RequestFlags, kind: RequestKind) -> Sent {
        let request = Request { window: self.window.shared.id, flags, sequence: Sequence(1), kind };
        let peer = self.window.shared.group.peer(rank);
        outbox!(self).small(peer, Lane::Request, &request.emit(), Source::Bytes(&[]))
    }
}
