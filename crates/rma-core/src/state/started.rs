//! The origin's part of post/start/complete/wait: which targets a start call named, and which of them have posted.
//!
//! A target posts to an origin again only when its wait call has seen that origin's complete call. So at most one post of a
//! target is early, that is, has come before the start call that it belongs to, and a set of ranks is all that has to be
//! kept: packets of a pair come in order, and so posts match start calls in order (lessons, decision 4, and still there 1).

use super::AwaitedRanks;
use crate::bugs::{Bug, has};
use crate::ids::Rank;
use std::collections::BTreeSet;

/// The targets of the open epoch, and early posts.
#[derive(Debug, Default)]
pub(crate) struct Access {
    /// Those of the open epoch; awaited are those that have not posted.
    targets: AwaitedRanks,
    /// All of them are ranks of the node whose memory is not mapped.
    is_of_node_targets: bool,
    /// Ranks whose post has come before the start call.
    early: BTreeSet<Rank>,
}

impl Access {
    /// Opens an epoch to `group`, ascending. Unless it is `unchecked`, each rank's post is waited for.
    pub(crate) fn open(&mut self, group: &[Rank], unchecked: bool) {
        debug_assert!(self.group().is_empty());
        let are_awaited = !unchecked || has(Bug::StartWaitsUnchecked);
        let early = &mut self.early;
        self.targets.open(group, |rank| are_awaited && (early.is_empty() || !early.remove(&rank)));
    }

    /// Notes whether the open epoch reaches node targets, and no other rank.
    pub(crate) fn set_of_node_targets(&mut self, is_of_node_targets: bool) {
        self.is_of_node_targets = is_of_node_targets;
    }

    /// Whether the open epoch reaches node targets, and no other rank.
    pub(crate) fn is_of_node_targets(&self) -> bool {
        self.is_of_node_targets
    }

    /// Whether a rank has posted before the start call.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Ends the epoch.
    pub(crate) fn close(&mut self) {
        self.targets.clear();
        self.is_of_node_targets = false;
    }

    /// Ends an epoch that could not be opened: the posts of its targets stay for the next one.
    pub(crate) fn abandon(&mut self) {
        let posted = self.targets.group().iter().filter(|rank| !self.targets.is_awaited(**rank));
        self.early.extend(posted);
        self.close();
    }

    /// A post has come.
    ///
    /// # Errors
    /// A reason for a refusal: no target posts twice to an epoch.
    pub(crate) fn on_post(&mut self, rank: Rank) -> Result<(), &'static str> {
        if self.targets.remove(rank) || self.early.insert(rank) {
            Ok(())
        } else {
            Err("second post to the same epoch")
        }
    }

    /// A rank of the open epoch has posted in shared memory.
    pub(crate) fn on_seen_post(&mut self, rank: Rank) {
        self.targets.remove(rank);
    }

    /// Whether the open epoch reaches `rank`.
    pub(crate) fn contains(&self, rank: Rank) -> bool {
        self.targets.contains(rank)
    }

    /// Whether operations to `rank`, one of the group, may leave.
    pub(crate) fn has_posted(&self, rank: Rank) -> bool {
        !self.targets.is_awaited(rank)
    }

    /// The targets of the open epoch, ascending.
    pub(crate) fn group(&self) -> &[Rank] {
        self.targets.group()
    }

    /// The targets that have not posted.
    pub(crate) fn missing(&self) -> impl Iterator<Item = Rank> + '_ {
        self.targets.iter()
    }

    /// Whether there are any.
    pub(crate) fn is_any_missing(&self) -> bool {
        self.targets.is_any_left()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_that_come_early_open_the_next_epoch_and_no_other() {
        let ranks = |list: &[u32]| list.iter().copied().map(Rank).collect::<Vec<_>>();
        let mut access = Access::default();
        access.on_post(Rank(2)).unwrap();
        access.on_post(Rank(3)).unwrap();
        access.open(&ranks(&[1, 2]), false);
        assert!(access.has_posted(Rank(2)) && !access.has_posted(Rank(1)));
        // The next epoch's, while this one is open.
        access.on_post(Rank(2)).unwrap();
        assert!(access.on_post(Rank(2)).is_err(), "a third one is forged");
        access.on_post(Rank(1)).unwrap();
        assert_eq!(access.missing().count(), 0);
        access.close();
        access.open(&ranks(&[1, 2, 3]), false);
        assert_eq!(access.missing().collect::<Vec<_>>(), [Rank(1)]);
        access.on_post(Rank(1)).unwrap();
        access.close();
        // Without checks no rank posts, and early posts of others stay.
        access.on_post(Rank(3)).unwrap();
        access.open(&ranks(&[1]), true);
        assert!(access.contains(Rank(1)) && !access.contains(Rank(3)) && access.has_posted(Rank(1)));
        access.close();
        access.open(&ranks(&[3]), false);
        assert!(access.has_posted(Rank(3)));
    }

    #[test]
    fn an_epoch_that_could_not_be_opened_uses_no_post_up() {
        let mut access = Access::default();
        access.on_post(Rank(1)).unwrap();
        access.open(&[Rank(1), Rank(2), Rank(3)], false);
        access.on_seen_post(Rank(3));
        access.abandon();
        access.open(&[Rank(1), Rank(3)], false);
        assert_eq!(access.missing().count(), 0, "both have posted, and will not again");
    }
}
