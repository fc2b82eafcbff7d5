//! Which ranks exchange when ranks double: those beyond a power of two fold into a neighbor, and the others,
//! by their *places*, exchange across one bit of them at a time.

/// The places of so many ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubling {
    size: u32,
}

impl Doubling {
    pub(super) fn new(size: u32) -> Self {
        Self { size }
    }

    /// The largest power of two of ranks.
    pub(super) fn power(self) -> u32 {
        1 << self.size.ilog2()
    }

    /// How many ranks are beyond it.
    pub(super) fn extra(self) -> u32 {
        self.size - self.power()
    }

    /// Whether a rank folds into the one before it.
    pub(super) fn folds(self, rank: u32) -> bool {
        rank < 2 * self.extra() && rank % 2 == 1
    }

    /// Whether the rank behind this one folds into it.
    pub(super) fn is_folded_into(self, rank: u32) -> bool {
        rank < 2 * self.extra() && rank.is_multiple_of(2)
    }

    /// The place of a rank, which does not fold into another.
    pub(super) fn place(self, rank: u32) -> u32 {
        if rank < 2 * self.extra() { rank / 2 } else { rank - self.extra() }
    }

    /// The rank of a place.
    pub(super) fn rank(self, place: u32) -> u32 {
        if place < self.extra() { 2 * place } else { place + self.extra() }
    }

    /// All partners of a rank.
    pub(super) fn partners(self, rank: u32) -> Vec<u32> {
        if self.folds(rank) {
            return vec![rank - 1];
        }
        let place = self.place(rank);
        let bits = (0..self.power().ilog2()).map(|bit| self.rank(place ^ 1 << bit));
        bits.chain(self.is_folded_into(rank).then_some(rank + 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_exchange_are_partners() {
        for size in 1..70 {
            let doubling = Doubling::new(size);
            for rank in 0..size {
                for other in doubling.partners(rank) {
                    assert!(other < size && other != rank, "{rank} with {other} of {size}");
                    assert!(doubling.partners(other).contains(&rank), "{rank} with {other} of {size}");
                }
                if !doubling.folds(rank) {
                    assert_eq!(doubling.rank(doubling.place(rank)), rank);
                }
            }
        }
    }
}
