//! What keeps an element's fetch and update one step against every other kernel on the same memory.
//!
//! Naturally aligned words are changed in one atomic step of the processor each, or by plain code where the exclusion allows
//! that; unaligned ones, and elements that are not one word (complex numbers, pairs, extended precision), are changed under a
//! guard. The two never meet on one element: all processes see an address with the same offset in its page, concurrent
//! accumulates to a location have the same type, and overlapping elements that are not the same element have no defined
//! outcome (MPI 3.1 §11.7.1).

use crate::mem::WriteSpan;

/// Keeps other kernels away from elements of the same window memory.
///
/// All code that can reach the memory uses the same exclusion; what it gives orders what it guards, from its
/// making to its drop. The holder of a guard or an entry asks for no other.
pub trait Exclusion {
    /// Excludes others from elements that have no atomic step, until dropped.
    type Guard<'a>
    where
        Self: 'a;

    /// Keeps plain code of others away from naturally aligned words, until dropped.
    type Entry<'a>
    where
        Self: 'a;

    /// Waits until there is no other guard.
    fn exclude(&self) -> Self::Guard<'_>;

    /// Waits until an atomic step on this one word is right.
    fn enter(&self, element: WriteSpan) -> Self::Entry<'_>;

    /// Waits until a part of a run of words may be changed, which starts with the bytes of `first`; `weight` says how long all
    /// of it is, in bytes of words of four or more. Others may wait for the entry to be dropped, so no more than some kilobytes are changed under one.
    fn enter_run(&self, first: WriteSpan, weight: usize) -> Admission<Self::Entry<'_>>;
}

/// What may be done to a run of words.
#[derive(Debug)]
pub struct Admission<E> {
    /// Holds until it is dropped.
    pub entry: E,
    /// The admission is for the words that begin in so many bytes from the first on, at least one; for all
    /// words of the memory when this is `usize::MAX`.
    pub reach: usize,
    /// Whether no other thread touches them meanwhile, so that they may be changed by plain code. Otherwise
    /// each is changed in one atomic step.
    pub is_plain: bool,
}

/// The exclusion of memory that only the caller changes: private memory of the target's engine, or of a test.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sole;

impl Exclusion for Sole {
    type Guard<'a> = ();
    type Entry<'a> = ();

    #[inline]
    fn exclude(&self) {}

    #[inline]
    fn enter(&self, _: WriteSpan) {}

    #[inline]
    fn enter_run(&self, _: WriteSpan, _: usize) -> Admission<()> {
        Admission { entry: (), reach: usize::MAX, is_plain: true }
    }
}
