//! Placeholder.

#[doc(hidden)]
pub mod demo;
