//! The only place that touches window memory and user buffers.
//!
//! Window memory is shared with other processes and with other threads, and races on it are the user's right (MPI 3.1
//! §11.7). So no reference and no slice is ever formed over it: everything goes through [`ReadSpan`] and [`WriteSpan`]
//! (raw memory that is copied by relaxed atomics or by inline assembly) and through the element atomics.
//!
//! Invariants: a span is made only by `unsafe` code that promises how long the memory lives; every method of a span
//! checks its range; copies are defined behaviour even when another process writes the same bytes meanwhile (the bytes
//! read are then any mix of old and new).

mod atomic;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512_x86_64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod cache_x86_64;
#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "combine_x86_64.rs")]
mod combine;
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod combine_tests;
#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "copy_x86_64.rs")]
mod copy;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod copy_avx_x86_64;
#[cfg(test)]
mod copy_tests;
#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "ordering_x86_64.rs")]
mod ordering;
mod span;
mod strided;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors_x86_64;

pub(crate) use atomic::ElementsApart;
pub use atomic::{Element, Elements, Word};
pub(crate) use ordering::{ONLY_STORES_LAG, full_ordering_beside_step};
pub(crate) use span::Lent;
pub use span::{Fold, Folding, LaneType, ReadSpan, WriteSpan};
pub(crate) use strided::{Side, copy_block, copy_blocks, copy_each};
