//! No faults.

use super::Bug;

/// Whether the fault is in.
#[inline(always)]
pub(crate) const fn has(_: Bug) -> bool {
    false
}

/// What [`Bug::FetchOutside`] answers instead of what was fetched: nothing.
#[inline(always)]
pub(crate) fn stale(_: usize, _: &[u8]) -> Option<Vec<u8>> {
    None
}
