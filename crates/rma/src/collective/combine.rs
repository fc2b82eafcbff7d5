//! What a reduction does with the values of two ranks. One of the few files with `unsafe`.

use rma_core::kernel::{Kernel, Sole};
use rma_core::mem::WriteSpan;
use std::fmt;
use std::sync::Arc;

/// An associative operation on the packed values of ranks.
///
/// Reductions give it the values of lower ranks on the left, always, so that it need not be commutative (MPI 4.1 §6.9.1);
/// and on every rank that computes the same result, in the same association.
pub trait Combine: Send + Sync {
    /// Stores `lower ∘ values` in `values`, element by element. Both are whole numbers of elements, and equally long.
    ///
    /// Called by whatever thread makes progress, under the engine's lock: it must not call the library.
    fn combine(&self, lower: &[u8], values: &mut [u8]);

    /// Whether the operation is commutative as well, which may save a message.
    fn is_commutative(&self) -> bool {
        true
    }
}

/// The predefined operations are commutative.
impl Combine for Kernel {
    fn combine(&self, lower: &[u8], values: &mut [u8]) {
        // SAFETY: the slice is exclusively borrowed for the whole call, in which nothing else uses its memory.
        let target = unsafe { WriteSpan::new(values.as_mut_ptr(), values.len()) };
        self.accumulate(target, lower, &Sole);
    }
}

/// An operation that a function makes, for each pair of packed elements of `unit` bytes: `lower ∘ value` is stored in
/// `value`.
pub struct ElementWise<F> {
    unit: usize,
    is_commutative: bool,
    function: F,
}

impl<F: Fn(&[u8], &mut [u8]) + Send + Sync + 'static> ElementWise<F> {
    /// The operation of a function on elements of `unit` bytes.
    ///
    /// # Panics
    /// When `unit` is 0.
    pub fn shared(unit: usize, is_commutative: bool, function: F) -> Arc<dyn Combine> {
        assert!(unit > 0, "elements of no bytes cannot be combined");
        Arc::new(Self { unit, is_commutative, function })
    }
}

impl<F: Fn(&[u8], &mut [u8]) + Send + Sync> Combine for ElementWise<F> {
    fn combine(&self, lower: &[u8], values: &mut [u8]) {
        for (lower, value) in lower.chunks_exact(self.unit).zip(values.chunks_exact_mut(self.unit)) {
            (self.function)(lower, value);
        }
    }

    fn is_commutative(&self) -> bool {
        self.is_commutative
    }
}

impl<F> fmt::Debug for ElementWise<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementWise")
            .field("unit", &self.unit)
            .field("is_commutative", &self.is_commutative)
            .finish_non_exhaustive()
    }
}
