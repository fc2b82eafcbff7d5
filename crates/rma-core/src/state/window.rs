//! A window's part of the engine: everything that is used under the engine's lock.
//!
//! Two roles stand side by side and share no field: the origin's (epoch, table, errors to raise) and the target's (lock
//! queue, bodies being received).

use super::{
    Arrivals, Dropped, Eager, LearntMemory, Lock, NodeRank, Packing, Parting, Permission, Pools,
    RemoteAccess, Rounds, Shared, Single, TargetRole, WindowEpoch,
};
use crate::bugs::{Bug, has};
use crate::config::EngineConfig;
use crate::epoch::{AccessEvent, AccessWord, Call, Epoch, Facts, LockStage, OpenEpoch, RankLock, check};
use crate::error::{Error, ErrorClass, Result};
use crate::fork::{self, BarredInChild};
use crate::host::HostRequest;
use crate::ids::Rank;
use crate::pool::LocalShare;
use crate::stats::Counters;
use crate::table::Table;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

/// How the others are seen to come to a fence that has not waited for them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening {
    /// By the host's barrier.
    Barrier(HostRequest),
    /// By their packets, to the fence of this number.
    Packets(u64),
}

/// How the ranks of a window meet in its fences: chosen when the window is made, by what all of them know alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceProtocol {
    /// By counts in shared memory, where all map each other.
    Memory,
    /// By a packet from each to each, up to `RMA_FENCE_PACKETS` ranks.
    Words,
    /// By the host's barrier.
    Barrier,
}

impl FenceProtocol {
    fn of(shared: &Shared, fence_packets: u64) -> Self {
        if !shared.has_packet_targets() {
            return Self::Memory;
        }
        if u64::from(shared.group.size()) <= fence_packets { Self::Words } else { Self::Barrier }
    }
}

/// One window under the engine's lock.
pub(crate) struct WindowState {
    pub(crate) shared: Arc<Shared>,
    _in_child: BarredInChild,
    pub(crate) epoch: WindowEpoch,
    pub(crate) table: Table,
    /// The window's reserved operation elements.
    pub(crate) op_share: LocalShare,
    /// The window's reserved target elements.
    pub(crate) target_share: LocalShare,
    /// Packets to ranks without a target element.
    pub(crate) rounds: Rounds,
    /// How the others are seen to come to a fence that did not wait for them.
    pub(crate) opening: Option<Opening>,
    /// Lock calls of mapped ranks that wait in line.
    pub(crate) in_line: u32,
    /// What is left of calls that were given up.
    pub(crate) dropped: Dropped,
    /// Ranks whose locks this one got by packets after a process died with them, for which the program has
    /// not asked yet.
    pub(crate) bequests: BTreeSet<Rank>,
    /// Something in the table may be issued.
    pub(crate) needs_issue: bool,
    /// What became of the last small stores.
    pub(crate) eager: Eager,
    /// The pack that the next small store may join.
    pub(crate) packing: Option<Packing>,
    /// An element was wanted and not to be had: hold nothing back until one was taken.
    pub(crate) no_hold_back: bool,
    /// An error that arrived, to be raised by the next synchronization call.
    pub(crate) error: Option<Error>,
    /// A target that the open lock_all epoch depended on is lost: what flush_all and unlock_all say.
    pub(crate) lost: Option<Error>,
    /// A rank of the group is lost.
    pub(crate) has_lost: bool,
    pub(crate) target: TargetRole,
    /// What there is of the window's end, if its ranks do not leave it together.
    pub(crate) parting: Option<Box<Parting>>,
    /// Memory that is reached without its owner's code.
    pub(crate) remote: RemoteAccess,
    pub(crate) learnt: LearntMemory,
    /// What was done for this window alone; the engine's own have the rest.
    pub(crate) counters: Counters,
}

impl WindowState {
    /// What has been counted, operations in mapped memory included.
    pub(crate) fn all_counters(&self) -> Counters {
        let mut all = self.counters;
        if let Some(mapped_counts) = &self.shared.mapped_counts {
            mapped_counts.add_to(&mut all);
        }
        all
    }

    pub(crate) fn new(
        shared: Arc<Shared>,
        slots: usize,
        op_share: LocalShare,
        target_share: LocalShare,
        fence_packets: u64,
        remote: RemoteAccess,
    ) -> Self {
        let size = shared.group.size();
        let protocol = FenceProtocol::of(&shared, fence_packets);
        let arrivals = (protocol == FenceProtocol::Words).then(|| Arrivals::new(shared.group.me(), size));
        let in_child: Weak<Shared> = Arc::downgrade(&shared);
        Self {
            shared,
            _in_child: fork::keep(in_child),
            epoch: WindowEpoch::new(),
            table: Table::new(slots),
            op_share,
            target_share,
            rounds: Rounds::default(),
            opening: None,
            has_lost: false,
            in_line: 0,
            dropped: Dropped::default(),
            bequests: BTreeSet::new(),
            needs_issue: false,
            eager: Eager::default(),
            packing: None,
            no_hold_back: false,
            error: None,
            lost: None,
            target: TargetRole::new(arrivals),
            parting: None,
            remote,
            learnt: LearntMemory::default(),
            counters: Counters::default(),
        }
    }

    /// Whether the call is legal now; see [`check`].
    pub(crate) fn check(&self, pools: &Pools, call: Call, name: &'static str) -> Result<()> {
        let may_replace = matches!(call, Call::Lock(_) | Call::LockAll | Call::Start | Call::Free);
        let facts = Facts {
            is_pending: may_replace
                && (self.shared.fence_gate.is_used() || self.table.is_busy(&pools.targets)),
            is_exposed: self.is_exposed(),
            is_started: call.rank().is_some_and(|rank| self.is_started(rank)),
            lock: self.lock_for(call),
        };
        let open = || OpenEpoch {
            number: self.epoch.number(),
            locked: self.a_locked_node_rank().or(self.epoch.a_locked_rank()),
            started: self.started().count(),
        };
        check(self.access(), call, name, facts, open).map_err(|error| match &self.error {
            // An epoch that has ended with a failure: the failure is what the user must know.
            Some(cause) => cause.clone().in_call(name),
            None => error,
        })
    }

    /// How the ranks of the window meet in its fences.
    pub(crate) fn fence_protocol(&self) -> FenceProtocol {
        match self.target.arrivals {
            Some(_) => FenceProtocol::Words,
            None if self.shared.has_packet_targets() => FenceProtocol::Barrier,
            None => FenceProtocol::Memory,
        }
    }

    /// Whether the word of a fence goes to one other rank, and says what an acknowledgement would.
    pub(crate) fn notifies_one(&self) -> bool {
        self.target.arrivals.as_ref().is_some_and(Arrivals::are_of_two)
    }

    /// Whether an open epoch allows any number of such calls, and they change nothing of the window but its
    /// operations: then neither the table of legal calls nor the window's other facts have to be looked at.
    #[inline]
    pub(crate) fn only_uses(&self, call: Call) -> bool {
        let does = match call {
            // A mapped target that calls do not reach without the engine has an epoch that is being opened.
            Call::Operation(rank) => self.shared.mapped(rank).is_none() && self.permits_calls(rank),
            Call::Flush(rank) => self.permits_calls(rank),
            Call::Fence => {
                let only = self.shared.node_targets.first();
                only.is_some_and(|node_rank| self.permission(node_rank.rank) == Permission::Fenced)
            }
            Call::Complete => self.has_started_node_targets(),
            _ => false,
        };
        does && !self.dropped.has_steps()
    }

    /// Whether nothing goes on in the window but an access epoch, and what it has queued.
    pub(super) fn has_nothing_else(&self) -> bool {
        self.error.is_none()
            && !self.has_lost
            && !self.no_hold_back
            && self.opening.is_none()
            && self.rounds.has_nothing_to_say()
    }

    /// Whether an operation on `rank` may take its lock request along.
    pub(crate) fn may_ask(&self, rank: Rank) -> bool {
        self.epoch.lock(rank).is_some_and(|lock| lock.state == LockStage::Called)
    }

    /// The state of the access side, how far its calls have come, and its single locks.
    #[inline]
    pub(crate) fn access(&self) -> AccessWord {
        self.shared.access.word()
    }

    /// The call that has opened the epoch that this rank is in, if it is in one.
    pub(crate) fn opened_by(&self) -> Option<&'static str> {
        let access = self.access();
        // Those that wait in line are counted, but open nothing yet.
        let has_lock = access.locks() > u64::from(self.in_line);
        let opened_by = match access.epoch() {
            Epoch::Unset => None,
            Epoch::PerTarget => has_lock.then_some("lock"),
            epoch => Some(epoch.opened_by()),
        };
        opened_by.or_else(|| self.is_exposed().then_some("post"))
    }

    /// Moves the access side; the caller of each event has checked that it can happen.
    #[inline(always)]
    pub(crate) fn on(&mut self, event: AccessEvent) {
        let before = self.shared.access.on(event);
        self.epoch.follow(before, event);
    }

    /// Records a lock that the user has called for.
    pub(crate) fn add_lock(&mut self, rank: Rank, lock: Lock) {
        self.epoch.add_lock(rank, lock);
        if !self.access().epoch().is_lock_all() {
            self.on(AccessEvent::Lock);
        }
    }

    /// Forgets a lock.
    pub(crate) fn remove_lock(&mut self, rank: Rank) {
        if self.epoch.remove_lock(rank).is_some() && self.access().epoch() == Epoch::PerTarget {
            self.on(AccessEvent::Unlock);
        }
    }

    /// Ends the open epoch, whatever has become of it; single locks of ranks of the node aside.
    pub(crate) fn end_epoch(&mut self) {
        let locks = self.epoch.locks().map(|(rank, _)| rank).collect::<Vec<_>>();
        locks.into_iter().for_each(|rank| self.remove_lock(rank));
        match self.access().epoch() {
            Epoch::Unset | Epoch::PerTarget => {}
            Epoch::FenceIssued | Epoch::FenceGranted => self.on(AccessEvent::FenceLast),
            Epoch::PscwIssued | Epoch::PscwGranted => self.on(AccessEvent::Complete),
            Epoch::LockAllCalled | Epoch::LockAllIssued | Epoch::LockAllGranted => {
                self.on(AccessEvent::UnlockAll)
            }
        }
        self.epoch = WindowEpoch::new();
    }

    /// Whether the open epoch of start reaches `rank`.
    pub(crate) fn is_started(&self, rank: Rank) -> bool {
        if self.shared.has_fast_start() {
            self.shared.is_started(rank)
        } else {
            self.epoch.access.contains(rank)
        }
    }

    /// The targets of the open epoch of start, ascending.
    pub(crate) fn started(&self) -> impl Iterator<Item = Rank> + '_ {
        let fast = self.shared.has_fast_start().then(|| self.shared.started());
        let group = fast.is_none().then(|| self.epoch.access.group().iter().copied());
        fast.into_iter().flatten().chain(group.into_iter().flatten())
    }

    /// Single locks of ranks of the node.
    fn node_locks(&self) -> u64 {
        self.access().locks().saturating_sub(self.epoch.locks_held() as u64)
    }

    fn a_locked_node_rank(&self) -> Option<Rank> {
        if self.node_locks() == 0 {
            return None;
        }
        let is_locked = |node_rank: &&NodeRank| node_rank.gate.single() != Single::No;
        self.shared.node_ranks().find(is_locked).map(|node_rank| node_rank.rank)
    }

    /// What there is of a single lock of the rank that a call names.
    pub(crate) fn lock_for(&self, call: Call) -> RankLock {
        let Some(rank) = call.rank() else { return RankLock::No };
        let Some(node_rank) = self.shared.node_rank(rank) else {
            return self
                .epoch
                .lock(rank)
                .map_or(RankLock::No, |lock| if lock.closing { RankLock::Changing } else { RankLock::Held });
        };
        match node_rank.gate.single() {
            Single::No => RankLock::No,
            Single::Changing => RankLock::Changing,
            Single::Held(_) => RankLock::Held,
        }
    }

    /// Whether a lock of another rank is held, so that waiting for `rank`'s in line could make others wait for each other.
    pub(crate) fn holds_another(&self, rank: Rank) -> bool {
        // A lock_all epoch holds the locks of the mapped ranks from the start, the own rank's among them.
        let is_lock_all = self.access().epoch().is_lock_all();
        let holds = is_lock_all || self.node_locks() > 0 || self.epoch.holds_another(rank);
        holds && !(has(Bug::StrictOrder) && is_lock_all)
    }

    /// Whether an epoch is open that calls past the engine know too little of.
    pub(super) fn has_own_epoch(&self) -> bool {
        self.access().is_engines() || self.epoch.locks_held() > 0
    }

    /// Whether lock calls of mapped ranks have to come here: anything but their like goes on, or has to be said.
    pub(crate) fn needs_owner(&self) -> bool {
        let has_more = self.in_line > 0 || !self.dropped.is_empty();
        self.has_own_epoch() || self.error.is_some() || has_more
    }

    /// A post has come, or needs not to: the window's state follows when it was the last.
    pub(crate) fn on_posted(&mut self, pools: &Pools, config: &EngineConfig) {
        if self.access().epoch() == Epoch::PscwIssued && !self.epoch.access.is_any_missing() {
            self.on(AccessEvent::Posted);
        }
        // Without room for one operation to wait, it waits for nothing but the post.
        let holds_back = config.piggyback_threshold > 0 && !self.no_hold_back;
        let is_due = if holds_back {
            self.table.has_due(&pools.targets, &pools.ops)
        } else {
            self.table.is_busy(&pools.targets)
        };
        self.needs_issue |= !self.rounds.is_empty() || is_due;
    }

    /// Keeps the first error until a synchronization call raises it.
    pub(crate) fn note_error(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Ends a synchronization call: raises what went wrong since the last one.
    pub(crate) fn raise(&mut self, call: &'static str) -> Result<()> {
        match self.error.take() {
            None => Ok(()),
            Some(error) => Err(error.in_call(call)),
        }
    }

    /// Whether a step of the engine has anything to do here.
    pub(crate) fn is_active(&self) -> bool {
        self.needs_issue || self.opening.is_some() || self.target.has_waiters() || !self.dropped.is_empty()
    }
}

/// The error of a call on a window that has been freed.
#[cold]
pub(crate) fn gone(call: &'static str) -> Error {
    Error::new(ErrorClass::Win, call, "the window has been freed")
}
