//! Two-level element pools: each window's own share first, then what all windows share.
//!
//! The pool decides how many elements may exist; it does not know what they are. A window that has opened a share can
//! always use that many elements, whatever the others hold, so it always moves (design note, "Operation and Target
//! Element Pools"). Exhaustion is a value: the caller gives up an optimization or restores elements, never waits inside.
//!
//! Elements are named by index and generation ([`PoolKey`]); a stale or forged key finds nothing.

#![forbid(unsafe_code)]

mod elements;
mod key;
mod share;

pub use elements::{Exhausted, GlobalPool, PoolStats};
pub use key::PoolKey;
pub use share::LocalShare;
