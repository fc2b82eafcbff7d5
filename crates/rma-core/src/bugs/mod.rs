//! Faults that tests put into the engine, to see that they are found: each is one that engines of this design have had.
//!
//! Where a fault would be, the engine asks [`has`]. Without the feature `bugs`, which only tests ask for, the answer is a
//! constant `false`, and nothing is left of the question.

#[cfg(feature = "bugs")]
mod chosen;
#[cfg(not(feature = "bugs"))]
mod none;

#[cfg(feature = "bugs")]
pub use chosen::choose;
#[cfg(feature = "bugs")]
pub(crate) use chosen::{has, stale};
#[cfg(not(feature = "bugs"))]
pub(crate) use none::{has, stale};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "bugs"), allow(dead_code))]
pub enum Bug {
    /// The unlock of an exclusive lock returns without completion at the target.
    UnlockBeforeCompletion,
    /// A lock is released, and an origin counted as done, when the last reply was begun.
    ReleaseBeforeReplyIsOut,
    /// Start with no-check waits for posts that are never sent.
    StartWaitsUnchecked,
    /// An operation that waited for the lock is carried out twice when it also releases the lock.
    QueuedTwice,
    /// An operation is complete when the target has queued it, or dropped it.
    QueuedIsDone,
    /// A request is complete with the first packet of its operation.
    RequestDoneEarly,
    /// Fetch-and-op reads outside of the step in which it updates.
    FetchOutside,
    /// Posts that come while a fence is under way are the fence's.
    PostLostInFence,
    /// The window protocol of lock_all does not count the locks that were asked for one by one.
    LateGrants,
    /// No-check is forgotten with the target's element, and the target releases its lock without asking for
    /// the holder.
    UncheckedForgotten,
    /// The locks of a lock_all epoch are granted in strict order, although it holds others.
    StrictOrder,
    /// The packet that ends an epoch overtakes transfers.
    WordOvertakesTransfers,
    /// A request is complete when the transfers of its operation have begun.
    TransferIsDone,
    /// A transfer begins before the lock is granted.
    TransferUnlocked,
    /// A notice that has to wait for replies is forgotten.
    NoticeLostBehindReply,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::UnlockBeforeCompletion,
        Self::ReleaseBeforeReplyIsOut,
        Self::StartWaitsUnchecked,
        Self::QueuedTwice,
        Self::QueuedIsDone,
        Self::RequestDoneEarly,
        Self::FetchOutside,
        Self::PostLostInFence,
        Self::LateGrants,
        Self::UncheckedForgotten,
        Self::StrictOrder,
        Self::WordOvertakesTransfers,
        Self::TransferIsDone,
        Self::TransferUnlocked,
        Self::NoticeLostBehindReply,
    ];
}
