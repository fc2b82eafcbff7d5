//! The values of all ranks, side by side, and what reductions make of them. Each combines them in the association of the
//! collective of that name made of packets, so that a result does not depend on the way: not even the last bit of a sum of
//! floating-point numbers.

use crate::collective::Combine;

/// Values of all ranks, each at an address that suits every basic type.
pub(super) struct RankValues {
    bytes: Vec<u8>,
    stride: usize,
    len: usize,
}

/// Room for any basic type to be aligned.
const ALIGN: usize = 16;

impl RankValues {
    /// Room for values of `len` bytes of each of `ranks` ranks.
    pub(super) fn new(ranks: usize, len: usize) -> Self {
        let stride = len.next_multiple_of(ALIGN);
        Self { bytes: vec![0; ranks * stride], stride, len }
    }

    pub(super) fn of(&mut self, rank: usize) -> &mut [u8] {
        &mut self.bytes[rank * self.stride..][..self.len]
    }

    pub(super) fn take(&mut self, rank: usize) -> Vec<u8> {
        self.of(rank).to_vec()
    }

    /// Stores `lower ∘ upper` in the place of `upper`, a higher one.
    fn combine(&mut self, operation: &dyn Combine, lower: usize, upper: usize) {
        debug_assert!(lower < upper);
        let (below, above) = self.bytes.split_at_mut(upper * self.stride);
        operation.combine(&below[lower * self.stride..][..self.len], &mut above[..self.len]);
    }

    /// The place of the result for all ranks: pairs of neighbours among those beyond a power of two, then pairs of pairs.
    pub(super) fn all_reduce(&mut self, operation: &dyn Combine, ranks: usize) -> usize {
        let power = 1 << ranks.ilog2();
        let extra = ranks - power;
        (0..extra).for_each(|pair| self.combine(operation, 2 * pair, 2 * pair + 1));
        // After the fold the values of a place are those of the last of its ranks.
        let last = |place: usize| if place < extra { 2 * place + 1 } else { place + extra };
        let mut step = 1;
        while step < power {
            for place in (0..power).step_by(2 * step) {
                // A run of places has its result at its last one.
                self.combine(operation, last(place + step - 1), last(place + 2 * step - 1));
            }
            step *= 2;
        }
        last(power - 1)
    }

    /// The place of the result up a binomial tree whose first place is rank `first`; the ranks' values are moved for it.
    pub(super) fn reduce(&mut self, operation: &dyn Combine, ranks: usize, first: usize) -> usize {
        self.bytes.rotate_left(first * self.stride);
        let mut step = 1;
        while step < ranks {
            for place in (0..ranks - step).step_by(2 * step) {
                let end = (place + 2 * step).min(ranks);
                self.combine(operation, place + step - 1, end - 1);
            }
            step *= 2;
        }
        ranks - 1
    }
}
