//! What differs between the ABIs of hosts, as data: handles and constants. Functions have the same parameters in all of them, if a
//! handle is taken for a word.
//!
//! Invariant: nothing here knows how a library is found or called.

mod classes;
mod combiners;
mod constants;
mod handles;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use classes::class_for;
pub(crate) use combiners::Combiner;
pub(crate) use constants::{Constants, Family, STANDARD};
pub(crate) use handles::{DATATYPES, Named, OPERATIONS};
pub(crate) use types::{Aint, Count, Handle};
