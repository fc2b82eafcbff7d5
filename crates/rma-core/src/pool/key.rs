//! The name of a pool element: index and generation.
//!
//! Generation 0 is never given out, so the key of all zeros names nothing.

use crate::ids::RequestId;
use std::fmt;

/// Names one element of one [`super::GlobalPool`] from `take` to `put_back`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolKey {
    /// Position in the pool's storage.
    pub index: u32,
    /// How often that position was used, this time included; wraps past 0.
    pub generation: u32,
}

impl PoolKey {
    /// The key of no element.
    pub const NONE: Self = Self { index: u32::MAX, generation: 0 };

    /// The key, unless it is that of no element.
    pub(crate) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

impl From<PoolKey> for RequestId {
    /// The key of an operation element as the target's replies name it.
    fn from(key: PoolKey) -> Self {
        Self { index: key.index, generation: key.generation }
    }
}

impl From<RequestId> for PoolKey {
    /// The key that a reply claims to answer; looking it up shows whether it is live.
    fn from(id: RequestId) -> Self {
        Self { index: id.index, generation: id.generation }
    }
}

impl fmt::Debug for PoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PoolKey {}.{}", self.index, self.generation)
    }
}
