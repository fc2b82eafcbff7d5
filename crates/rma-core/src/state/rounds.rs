//! A window's words to many ranks: a small packet each, without a target element for each.

use crate::ids::Rank;

/// What an access epoch has to say to many ranks.
#[derive(Debug)]
pub(crate) enum AccessRound {
    /// Shared locks of all packet targets from `next` on that have not been asked.
    Locks { next: Rank },
    /// Their release, for those that have no element on which it rides.
    Unlocks { next: Rank },
    /// "Done", for these ranks, as soon as each has posted.
    Done(Vec<Rank>),
    /// The word of a fence, for these ranks.
    Fence(Vec<Rank>),
}

/// The rounds of a window: the origin's, and the target's.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) access: Option<AccessRound>,
    /// Origins that have not been notified of the open exposure epoch.
    pub(crate) posts: Vec<Rank>,
    /// Ranks that are waited for before anything is sent to them: contact is made, so that their death is
    /// noticed.
    pub(crate) meet: Vec<Rank>,
}

impl Rounds {
    pub(crate) fn is_empty(&self) -> bool {
        self.access.is_none() && self.posts.is_empty() && self.meet.is_empty()
    }

    /// Whether there is nothing but contact to be made.
    pub(crate) fn has_nothing_to_say(&self) -> bool {
        self.access.is_none() && self.posts.is_empty()
    }

    /// A rank is lost: nothing is sent to it any more.
    pub(crate) fn forget(&mut self, lost: Rank) {
        self.posts.retain(|rank| *rank != lost);
        if let Some(AccessRound::Done(ranks) | AccessRound::Fence(ranks)) = &mut self.access {
            ranks.retain(|rank| *rank != lost);
        }
    }
}
