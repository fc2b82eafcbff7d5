//! The walk that recomputes every count of the engine from its lists. Tests call it between steps; nothing else does.

use super::{AccessRound, BulkOwner, Receiving, Single, State, WindowState, Windows};
use crate::epoch::{Epoch, LockStage, Stage};
use crate::table::{ClosingWord, OpArea, Target};

/// A sentence about what is wrong.
type Broken = String;

impl State {
    /// Checks all parts.
    ///
    /// # Errors
    /// A sentence about the first count that is wrong.
    pub(crate) fn invariants(&self, windows: &Windows) -> Result<(), Broken> {
        windows.invariants()?;
        self.replies.invariants(&self.bulks)?;
        self.pools.ops.invariants(windows.iter().map(|w| &w.op_share))?;
        self.pools.targets.invariants(windows.iter().map(|w| &w.target_share))?;
        let (mut ops, mut bulks) = (0, 0);
        for window in windows.iter() {
            let in_window = |broken| format!("window {}: {broken}", window.shared.id);
            self.check_window(window).map_err(in_window)?;
            for key in window.table.keys(&self.pools.targets) {
                let target = &self.pools.targets[key];
                self.check_target(window, target)
                    .map_err(|broken| in_window(format!("target {}: {broken}", target.rank)))?;
                ops += target.pending.len() + target.issued.len();
                bulks += [&target.pending, &target.issued]
                    .into_iter()
                    .flat_map(|list| list.iter(&self.pools.ops))
                    .map(|op| u64::from(self.pools.ops[op].bulks()))
                    .sum::<u64>();
            }
        }
        equal("operations", ops, self.pools.ops.iter().count() as u64)?;
        let is_operation =
            |owner: &BulkOwner| matches!(owner, BulkOwner::Operation { .. } | BulkOwner::Transfer { .. });
        equal("bulk bodies", bulks, self.bulks.iter().filter(|(_, owner)| is_operation(owner)).count() as u64)
    }

    fn check_window(&self, window: &WindowState) -> Result<(), Broken> {
        check_epoch(window)?;
        window.target.invariants(&window.shared)?;
        let keys = window.table.keys(&self.pools.targets);
        equal("target elements", keys.len() as u64, window.table.len().into())?;
        equal("target elements", keys.len() as u64, window.target_share.in_use().into())?;
        let is_here = |receiving: &&Receiving| {
            let id = window.shared.id;
            matches!(receiving, Receiving::Request(incoming) if incoming.request().window == id)
        };
        let receiving = self.receiving.values().filter(is_here).count() as u64;
        equal("bodies received", receiving, window.target.receiving.into())
    }

    fn check_target(&self, window: &WindowState, target: &Target) -> Result<(), Broken> {
        let pool = &self.pools.ops;
        let (pending, issued) = (target.pending.iter(pool), target.issued.iter(pool));
        equal("pending operations", pending.count() as u64, target.pending.len())?;
        equal("issued operations", issued.count() as u64, target.issued.len())?;
        let mut before = 0;
        for (at, key) in target.issued.iter(pool).enumerate() {
            let op = &pool[key];
            holds("issued operations in order", op.order > before && op.order <= target.issued_to)?;
            holds("an issued operation is sent", op.sent == op.len)?;
            holds("the first issued operation waits for something", at > 0 || !op.is_settled())?;
            before = op.order;
        }
        for (at, key) in target.pending.iter(pool).enumerate() {
            let op = &pool[key];
            let is_started = op.sent > 0 || op.bulks() > 0;
            holds("pending operations in order", op.order > before && op.order > target.issued_to)?;
            holds("only the first pending operation is started", at == 0 || !is_started)?;
            let is_cut = op.kind.streamed_element().is_some()
                || matches!(op.area(), OpArea::Shape(_))
                || op.has_transferred();
            holds("what is cut is streamed or irregular", !is_started || is_cut)?;
            holds("a pending operation waits for no grant", !op.awaits_grant())?;
            holds("a reply was asked for", op.fetches() == 0 || is_started)?;
            before = op.order;
        }
        let all = [&target.pending, &target.issued].into_iter().flat_map(|list| list.iter(pool));
        let fetching: u64 = all.map(|key| pool[key].fetches()).sum();
        equal("requests for data", fetching, target.fetching)?;
        holds("orders", before <= target.posted && target.issued_to <= target.posted)?;
        holds("stores are issued", target.stored_to <= target.issued_to)?;
        holds("what is acknowledged is issued", target.acked_to <= target.issued_to)?;
        holds("goals are posted", target.push_to.max(target.ack_to) <= target.posted)?;
        let asked = &target.asked;
        holds("acknowledgements ascend", asked.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1))?;
        holds(
            "acknowledgements are sent",
            asked.last().is_none_or(|(sequence, _)| *sequence <= target.sent),
        )?;
        // Other threads may have begun operations of the next epoch meanwhile.
        let may_go_on = window.access().epoch() == Epoch::FenceGranted;
        let is_closed = target.closing == ClosingWord::Sent && !may_go_on;
        holds("nothing behind an unlock", !is_closed || target.pending.is_empty())?;
        let is_asked = window.epoch.lock(target.rank).is_some_and(|lock| lock.state == LockStage::Issued);
        holds("a lock that is asked for has an element", is_asked == target.is_locking)
    }
}

/// Which facts belong to which state of the access side, and of the exposure.
fn check_epoch(window: &WindowState) -> Result<(), Broken> {
    let (epoch, state) = (&window.epoch, window.access().epoch());
    let has_locks = epoch.locks_held() > 0;
    let may_have_locks = matches!(state, Epoch::PerTarget | Epoch::LockAllCalled | Epoch::LockAllIssued);
    holds("locks belong to an epoch of locks", !has_locks || may_have_locks)?;
    holds("only the window protocol asks all ranks", epoch.asking() == 0 || state == Epoch::LockAllIssued)?;
    let access = &epoch.access;
    holds("a group belongs to an epoch of start", access.group().is_empty() || state.is_pscw())?;
    holds("a rank that is to post is in the group", access.missing().all(|rank| access.contains(rank)))?;
    holds("posts are awaited until all came", state != Epoch::PscwGranted || !access.is_any_missing())?;
    let is_closing = window.access().stage() == Stage::Closing;
    let is_round_legal = match &window.rounds.access {
        None => true,
        Some(AccessRound::Locks { .. }) => state == Epoch::LockAllIssued,
        Some(AccessRound::Unlocks { .. }) => state == Epoch::LockAllGranted && is_closing,
        Some(AccessRound::Done(_)) => state.is_pscw() && is_closing,
        Some(AccessRound::Fence(_)) => state.is_fence_or_unset() && window.target.arrivals.is_some(),
    };
    holds("a round belongs to the call that began it", is_round_legal)?;
    let has_origins = !window.rounds.posts.is_empty() || window.target.undone.is_any_left();
    holds("origins belong to an exposure epoch", !has_origins || window.is_exposed())?;
    let gates = window.shared.node_ranks().filter(|node_rank| node_rank.gate.single() != Single::No);
    let far = if state == Epoch::PerTarget { epoch.locks_held() } else { 0 };
    equal("single locks", (gates.count() + far) as u64, window.access().locks())
}

fn equal(what: &str, found: u64, counted: u64) -> Result<(), Broken> {
    if found == counted { Ok(()) } else { Err(format!("{what}: {found} found, {counted} counted")) }
}

fn holds(what: &str, condition: bool) -> Result<(), Broken> {
    if condition { Ok(()) } else { Err(format!("does not hold: {what}")) }
}
