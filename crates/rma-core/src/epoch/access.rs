//! The origin's part of post/start/complete/wait: which targets a start call named, and which of them have posted.
//!
//! A target posts to an origin again only when its wait call has seen that origin's complete call. So at most one post of a
//! target is early, that is, has come before the start call that it belongs to, and a set of ranks is all that has to be
//! kept: packets of a pair come in order, and so posts match start calls in order (lessons, decision 4, and still there 1).

use crate::bugs::{Bug, has};
use crate::ids::Rank;
use std::collections::BTreeSet;

/// The targets of the open epoch, and early posts.
#[derive(Debug, Default)]
pub(crate) struct Access {
    /// Ascending.
    group: Box<[Rank]>,
    /// All of them are ranks of the node whose memory is not mapped.
    is_of_neighbors: bool,
    /// Ranks of `group` that have not posted.
    missing: BTreeSet<Rank>,
    /// Ranks whose post has come before the start call.
    early: BTreeSet<Rank>,
}

impl Access {
    /// Opens an epoch to `group`, ascending. Unless it is `unchecked`, each rank's post is waited for.
    pub(crate) fn open(&mut self, group: Box<[Rank]>, unchecked: bool) {
        debug_assert!(self.group.is_empty() && self.missing.is_empty());
        if !unchecked || has(Bug::StartWaitsUnchecked) {
            self.missing = group.iter().copied().filter(|rank| !self.early.remove(rank)).collect();
        }
        self.group = group;
    }

    /// Opens an epoch to `group`, ascending, all mapped, of which every rank's post has been seen.
    pub(crate) fn open_posted(&mut self, group: Box<[Rank]>) {
        debug_assert!(self.group.is_empty() && self.missing.is_empty());
        self.group = group;
    }

    /// Notes whether the open epoch reaches neighbors, and nobody else.
    pub(crate) fn set_of_neighbors(&mut self, is_of_neighbors: bool) {
        self.is_of_neighbors = is_of_neighbors;
    }

    /// Whether the open epoch reaches neighbors, and nobody else.
    pub(crate) fn is_of_neighbors(&self) -> bool {
        self.is_of_neighbors
    }

    /// Whether a rank has posted before the start call.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Ends the epoch.
    pub(crate) fn close(&mut self) {
        self.group = Box::default();
        self.is_of_neighbors = false;
        self.missing.clear();
    }

    /// Ends an epoch that could not be opened: the posts of its targets stay for the next one.
    pub(crate) fn abandon(&mut self) {
        let posted = self.group.iter().filter(|rank| !self.missing.contains(rank));
        self.early.extend(posted);
        self.close();
    }

    /// A post has come.
    ///
    /// # Errors
    /// A reason for a refusal: no target posts twice to an epoch.
    pub(crate) fn on_post(&mut self, rank: Rank) -> Result<(), &'static str> {
        if self.missing.remove(&rank) || self.early.insert(rank) {
            Ok(())
        } else {
            Err("second post to the same epoch")
        }
    }

    /// A rank of the open epoch has posted in shared memory.
    pub(crate) fn on_seen_post(&mut self, rank: Rank) {
        self.missing.remove(&rank);
    }

    /// Whether the open epoch reaches `rank`.
    pub(crate) fn contains(&self, rank: Rank) -> bool {
        self.group.binary_search(&rank).is_ok()
    }

    /// Whether operations to `rank`, one of the group, may leave.
    pub(crate) fn has_posted(&self, rank: Rank) -> bool {
        !self.missing.contains(&rank)
    }

    /// The targets of the open epoch, ascending.
    pub(crate) fn group(&self) -> &[Rank] {
        &self.group
    }

    /// The targets that have not posted.
    pub(crate) fn missing(&self) -> impl Iterator<Item = Rank> + '_ {
        self.missing.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_that_come_early_open_the_next_epoch_and_no_other() {
        let ranks = |list: &[u32]| list.iter().copied().map(Rank).collect::<Box<[_]>>();
        let mut access = Access::default();
        access.on_post(Rank(2)).unwrap();
        access.on_post(Rank(3)).unwrap();
        access.open(ranks(&[1, 2]), false);
        assert!(access.has_posted(Rank(2)) && !access.has_posted(Rank(1)));
        // The next epoch's, while this one is open.
        access.on_post(Rank(2)).unwrap();
        assert!(access.on_post(Rank(2)).is_err(), "a third one is forged");
        access.on_post(Rank(1)).unwrap();
        assert_eq!(access.missing().count(), 0);
        access.close();
        access.open(ranks(&[1, 2, 3]), false);
        assert_eq!(access.missing().collect::<Vec<_>>(), [Rank(1)]);
        access.on_post(Rank(1)).unwrap();
        access.close();
        // Without checks nobody posts, and early posts of others stay.
        access.on_post(Rank(3)).unwrap();
        access.open(ranks(&[1]), true);
        assert!(access.contains(Rank(1)) && !access.contains(Rank(3)) && access.has_posted(Rank(1)));
        access.close();
        access.open(ranks(&[3]), false);
        assert!(access.has_posted(Rank(3)));
    }

    #[test]
    fn an_epoch_that_could_not_be_opened_uses_no_post_up() {
        let mut access = Access::default();
        access.on_post(Rank(1)).unwrap();
        access.open([Rank(1), Rank(2), Rank(3)].into(), false);
        access.on_seen_post(Rank(3));
        access.abandon();
        access.open([Rank(1), Rank(3)].into(), false);
        assert_eq!(access.missing().count(), 0, "both have posted, and will not again");
    }
}
