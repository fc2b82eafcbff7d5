//! What a window remembers of its last small operations: whether flushes take them one by one ([`crate::origin`], `decide.rs`), and which
//! pack the next store may join.

use crate::epoch::Reach;
use crate::ids::Rank;
use crate::pool::PoolKey;
use crate::wire::RequestFlags;

/// Held stores in a row that flushes have taken, after which the first one does not wait for its flush.
const ENOUGH: u8 = 3;

/// What became of a window's last small stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eager {
    /// How many in a row were taken by a flush that waits for the target.
    row: u8,
    /// The row after which one leaves ahead of its flush.
    enough: u8,
    /// The last one has left ahead of the flush of this rank, which has not come yet.
    ahead: Option<Rank>,
}

impl Default for Eager {
    fn default() -> Self {
        Self { row: 0, enough: ENOUGH, ahead: None }
    }
}

impl Eager {
    /// A flush has taken the only operation that was held back, a store.
    pub(crate) fn on_taken(&mut self, reach: Reach) {
        self.row = if reach == Reach::Remote { self.row.saturating_add(1) } else { 0 };
    }

    /// An operation is queued behind another that is held back: something else than a flush has followed that.
    pub(crate) fn on_behind(&mut self) {
        self.row = 0;
    }

    /// A store has left with its call; with the request for its acknowledgement it is ahead of the flush of this rank.
    pub(crate) fn on_left(&mut self, rank: Rank, flags: RequestFlags) {
        if flags.has(RequestFlags::ACK) {
            self.ahead = Some(rank);
        }
    }

    /// A flush of this rank has found nothing held back, and with `has_said_all` nothing else either.
    pub(crate) fn on_flush(&mut self, rank: Rank, reach: Reach, has_said_all: bool) {
        if self.ahead != Some(rank) {
            return;
        }
        match (reach, has_said_all) {
            (Reach::Remote, true) => self.ahead = None,
            (Reach::Remote | Reach::Local, _) => self.on_missed(),
        }
    }

    /// A store comes: says whether it is to leave at once.
    pub(crate) fn on_store(&mut self) -> bool {
        if self.ahead.is_some() {
            self.on_missed();
        }
        self.row >= self.enough
    }

    /// Something else has come than the flush that the last store left ahead of.
    fn on_missed(&mut self) {
        *self = Self { enough: self.enough.saturating_mul(2), ..Self::default() };
    }
}

/// The pack of a window that the last store has joined. Its elements may be gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    pub(crate) rank: Rank,
    pub(crate) target: PoolKey,
    pub(crate) op: PoolKey,
}
