//! How a datatype is made: by which constructor, with which numbers.

use crate::abi::{Combiner, Count};
use std::ffi::c_int;

/// A constructor and its numbers, which stand as the contents of its form with large counts do (MPI 5.0 table 5.2): what is a number of
/// elements, a displacement or an extent is a count.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) combiner: Combiner,
    /// Of arrays: dimensions, order, processes.
    pub(super) numbers: Vec<c_int>,
    pub(super) counts: Vec<Count>,
}

/// A call of a constructor, with its arguments where the program has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) combiner: Combiner,
    pub(crate) numbers: &'a [&'a [c_int]],
    pub(crate) counts: &'a [Counts<'a>],
}

/// One argument behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counts<'a> {
    One(Count),
    Narrow(&'a [c_int]),
    Wide(&'a [Count]),
}

impl Counts<'_> {
    fn len(&self) -> usize {
        match self {
            Counts::One(_) => 1,
            Counts::Narrow(counts) => counts.len(),
            Counts::Wide(counts) => counts.len(),
        }
    }

    fn are(&self, known: &[Count]) -> bool {
        match self {
            Counts::One(count) => known == [*count],
            Counts::Narrow(counts) => {
                counts.iter().zip(known).all(|(count, known)| Count::from(*count) == *known)
            }
            Counts::Wide(counts) => *counts == known,
        }
    }

    fn add_to(&self, all: &mut Vec<Count>) {
        match self {
            Counts::One(count) => all.push(*count),
            Counts::Narrow(counts) => all.extend(counts.iter().map(|count| Count::from(*count))),
            Counts::Wide(counts) => all.extend_from_slice(counts),
        }
    }
}

impl Call<'_> {
    /// Whether the call has this recipe.
    pub(super) fn has(&self, recipe: &Recipe) -> bool {
        let len: usize = self.counts.iter().map(Counts::len).sum();
        if (self.combiner, len) != (recipe.combiner, recipe.counts.len()) {
            return false;
        }
        let mut rest = &recipe.counts[..];
        self.counts.iter().all(|counts| {
            let known = rest.split_off(..counts.len()).unwrap_or_default();
            counts.are(known)
        }) && self.numbers.iter().copied().flatten().eq(&recipe.numbers)
    }

    pub(super) fn recipe(&self) -> Recipe {
        let mut counts = Vec::with_capacity(self.counts.iter().map(Counts::len).sum());
        self.counts.iter().for_each(|some| some.add_to(&mut counts));
        Recipe { combiner: self.combiner, numbers: self.numbers.concat(), counts }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Combiner, Counts};

    #[test]
    fn a_call_has_the_recipe_that_is_made_of_it_and_no_other() {
        let (lens, places) = ([1, 2], [0, 8]);
        let indexed = [Counts::One(2), Counts::Narrow(&lens), Counts::Wide(&places)];
        let call = Call { combiner: Combiner::Indexed, numbers: &[], counts: &indexed };
        let recipe = call.recipe();
        assert_eq!(recipe.counts, [2, 1, 2, 0, 8]);
        assert!(call.has(&recipe));
        assert!(!Call { combiner: Combiner::Hindexed, ..call }.has(&recipe));
        for other in [&indexed[..2], &[Counts::One(2), Counts::Narrow(&lens), Counts::Wide(&[0, 9])]] {
            assert!(!Call { counts: other, ..call }.has(&recipe));
        }
        let array = Call { combiner: Combiner::Subarray, numbers: &[&[2], &[56]], counts: &indexed };
        assert_eq!(array.recipe().numbers, [2, 56]);
        assert!(array.has(&array.recipe()));
        assert!(!Call { numbers: &[&[2], &[57]], ..array }.has(&array.recipe()));
        assert!(!Call { numbers: &[&[2]], ..array }.has(&array.recipe()));
    }
}
