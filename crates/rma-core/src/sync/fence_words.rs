//! Fences by words: each rank sends each other one a packet that it has come ([`super::fence`]).

use crate::channel::Channel;
use crate::epoch::{Assert, Epoch};
use crate::error::Result;
use crate::ids::Rank;
use crate::origin::issue::{Issuer, longest_short_store};
use crate::state::{AccessRound, Permission, State, WindowState};
use crate::table::{ClosingWord, Target};

/// Sends this rank's word to the only other one, of the same node, if only held-back operations are under way
/// to it: they take the word along. `is_fenced`: that is known to be permitted. Gives the fence's number, and whether the word has left.
pub(super) fn notify_at_once(
    assert: Assert,
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    is_fenced: bool,
) -> Option<(u64, bool)> {
    let State { pools, bulks, by_channel, config, lost, needs_step, .. } = state;
    if window.needs_issue || !lost.is_empty() || assert.has(Assert::NO_PRECEDE) {
        return None;
    }
    let rank = window.shared.node_targets.first()?.rank;
    let key = window.table.find(&pools.targets, rank)?;
    let is_first = pools.targets[key].holds_a_store_at_most(&pools.ops, longest_short_store(config));
    if !is_first || !is_fenced && window.permission(rank) != Permission::Fenced {
        return None;
    }
    let number = window.target.arrivals.as_mut()?.enter();
    if (Issuer { window, pools, bulks, channel, by_channel, config }).close_to(key) {
        return Some((number, true));
    }
    (window.needs_issue, *needs_step) = (true, true);
    Some((number, false))
}

/// Has this rank's word sent to every other rank, behind the last operation to it; gives the number of the
/// fence. `None` when the ranks of the window meet otherwise.
pub(super) fn notify(state: &mut State, window: &mut WindowState) -> Option<u64> {
    let number = window.target.arrivals.as_mut()?.enter();
    // Where nothing can be out of bounds unnoticed the fences of the others say all that an acknowledgement would. Of more than two
    // ranks this one has its acknowledgements already.
    let acknowledge = window.shared.uniform.is_none();
    let can_ride = window.access().epoch() == Epoch::FenceGranted;
    let group = &window.shared.group;
    let mut bare = Vec::new();
    for rank in (0..group.size()).map(Rank).filter(|rank| *rank != group.me()) {
        let element = window.table.find(&state.pools.targets, rank).filter(|_| can_ride);
        match element.map(|key| &mut state.pools.targets[key]) {
            Some(target) => {
                target.push(acknowledge);
                target.closing = ClosingWord::Wanted;
            }
            None => bare.push(rank),
        }
    }
    window.rounds.access = (!bare.is_empty()).then_some(AccessRound::Fence(bare));
    window.needs_issue = true;
    Some(number)
}

/// Whether all words have left, and this rank's operations need nothing any more.
pub(super) fn has_notified(state: &State, window: &WindowState) -> bool {
    let is_over = |target: &Target| {
        target.is_locally_complete(&state.pools.ops, target.push_to)
            && target.closing != ClosingWord::Wanted
            // One that was asked for when elements ran short is waited for, because it would find no element.
            && target.asked.is_empty()
    };
    let are_notified = !matches!(&window.rounds.access, Some(AccessRound::Fence(ranks)) if !ranks.is_empty());
    let keys = window.table.keys(&state.pools.targets);
    are_notified && keys.into_iter().all(|key| is_over(&state.pools.targets[key]))
}

/// Whether every rank's word of fence `number` has come. While one has not, no rank may be lost: a lost rank
/// may have sent its word to this one and not to others, and ranks that know of the loss send theirs no more.
pub(super) fn have_arrived(state: &State, window: &WindowState, number: u64) -> Result<bool> {
    let Some(arrivals) = &window.target.arrivals else { return Ok(true) };
    if arrivals.are_complete(number) {
        return Ok(true);
    }
    let left = arrivals.silent().find(|rank| state.sends_no_more(&window.shared, *rank));
    let lost = state.any_lost_error(window, "fence");
    lost.or_else(|| Some(state.left_error(&window.shared, left?, "fence"))).map_or(Ok(false), Err)
}
