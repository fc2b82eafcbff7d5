//! Envelope and contents of a datatype of the host.
//!
//! Constructors have two forms, with `int` and with large counts, whose contents stand in other places. A [`Recipe`] has them as those of the
//! second form.

use super::recipe::Recipe;
use crate::abi::{Combiner, Count, Handle};
use crate::errors::{ERR_TYPE, Failure};
use crate::library::host;
use crate::memory::{Handles, write_handle};
use crate::theirs;
use std::ffi::c_int;

/// How a datatype was made, and of what.
#[derive(Debug)]
pub(super) struct DatatypeContents {
    pub(super) recipe: Recipe,
    pub(super) kinds: Vec<Handle>,
}

/// How many of each kind there are, and the combiner.
#[derive(Debug, Default)]
struct Envelope {
    numbers: Count,
    addresses: Count,
    counts: Count,
    kinds: Count,
    combiner: c_int,
}

impl Envelope {
    /// # Safety
    /// A datatype of the host.
    unsafe fn of(kind: Handle) -> Option<Self> {
        let mut told = Self::default();
        let Self { numbers, addresses, counts, kinds, combiner } = &mut told;
        // SAFETY: as the caller promises; room for each number.
        let code = unsafe {
            if theirs::has_large_counts() {
                theirs::type_get_envelope_c(kind, numbers, addresses, counts, kinds, combiner)
            } else {
                let mut narrow = [0; 3];
                let [n, a, k] = &mut narrow;
                let code = theirs::type_get_envelope(kind, n, a, k, combiner);
                (*numbers, *addresses, *kinds) = (narrow[0].into(), narrow[1].into(), narrow[2].into());
                code
            }
        };
        (code == 0).then_some(told)
    }
}

/// How a datatype of the host was made; `None` when that is not known.
///
/// # Safety
/// A datatype of the host.
unsafe fn combiner(kind: Handle) -> Option<Combiner> {
    // SAFETY: as the caller promises.
    Combiner::of(host().family, unsafe { Envelope::of(kind) }?.combiner)
}

/// How many datatypes one was made of.
///
/// # Safety
/// A datatype of the host.
pub(super) unsafe fn number_of_kinds(kind: Handle) -> usize {
    // SAFETY: as the caller promises.
    unsafe { Envelope::of(kind) }.map_or(0, |told| told.kinds as usize)
}

impl DatatypeContents {
    /// Asks the host. Datatypes among the contents that are not predefined are the caller's to free.
    ///
    /// # Safety
    /// A datatype of the host.
    pub(super) unsafe fn of(kind: Handle) -> Result<Self, Box<Failure>> {
        // SAFETY: as the caller promises.
        let told = unsafe { Envelope::of(kind) }.unwrap_or(Envelope { combiner: -1, ..Envelope::default() });
        let Some(combiner) = Combiner::of(host().family, told.combiner) else {
            let text = format!("a datatype whose combiner is {} is not known", told.combiner);
            return Err(Failure::new(ERR_TYPE, text));
        };
        let room = |len: Count| vec![0; len as usize + 1];
        let mut numbers: Vec<c_int> = vec![0; told.numbers as usize + 1];
        let (mut addresses, mut counts) = (room(told.addresses), room(told.counts));
        let mut kinds = Handles::new(told.kinds as usize);
        if combiner != Combiner::Named {
            let (n, a, c, k) =
                (numbers.as_mut_ptr(), addresses.as_mut_ptr(), counts.as_mut_ptr(), kinds.room());
            // SAFETY: as the caller promises; there is as much room as the envelope asks for. An address is as long as a count.
            let code = unsafe {
                if theirs::has_large_counts() {
                    let Envelope { numbers, addresses, counts, kinds, .. } = told;
                    theirs::type_get_contents_c(kind, numbers, addresses, counts, kinds, n, a.cast(), c, k)
                } else {
                    let Envelope { numbers, addresses, kinds, .. } = told;
                    let [numbers, addresses, kinds] = [numbers, addresses, kinds].map(|len| len as c_int);
                    theirs::type_get_contents(kind, numbers, addresses, kinds, n, a.cast(), k)
                }
            };
            if code != 0 {
                return Err(Failure::new(ERR_TYPE, "the contents of a datatype are not told"));
            }
        }
        numbers.truncate(told.numbers as usize);
        addresses.truncate(told.addresses as usize);
        counts.truncate(told.counts as usize);
        let kinds = (0..told.kinds as usize).map(|index| kinds.get(index)).collect();
        if counts.is_empty() {
            (numbers, counts) = of_first_form(combiner, &numbers, &addresses);
        }
        Ok(Self { recipe: Recipe { combiner, numbers, counts }, kinds })
    }
}

/// # Safety
/// A datatype that the host has given with contents.
pub(super) unsafe fn give_back(kind: Handle) {
    let mut room = [0usize; 1];
    // SAFETY: as the caller promises; room for a handle.
    unsafe {
        let is_made = !matches!(
            combiner(kind),
            None | Some(Combiner::Named | Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer)
        );
        if is_made {
            write_handle(room.as_mut_ptr().cast(), kind);
            theirs::type_free(room.as_mut_ptr().cast());
        }
    }
}

/// Contents of a constructor with `int`: numbers, and counts.
fn of_first_form(combiner: Combiner, numbers: &[c_int], addresses: &[Count]) -> (Vec<c_int>, Vec<Count>) {
    let wide = |numbers: &[c_int]| numbers.iter().map(|number| Count::from(*number)).collect::<Vec<_>>();
    match combiner {
        // Dimensions, sizes, sizes of the part, its starts, order.
        Combiner::Subarray => match numbers {
            [dims, arrays @ .., order] => (vec![*dims, *order], wide(arrays)),
            _ => (Vec::new(), Vec::new()),
        },
        // Processes, rank, dimensions, sizes, and the rest.
        Combiner::Darray => {
            let dims = numbers.get(2).map_or(0, |dims| *dims as usize);
            let sizes = 3..(3 + dims).min(numbers.len());
            let rest = numbers.iter().take(3).chain(&numbers[sizes.end..]).copied();
            (rest.collect(), wide(&numbers[sizes]))
        }
        _ => (Vec::new(), wide(numbers).into_iter().chain(addresses.iter().copied()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Combiner, of_first_form};

    #[test]
    fn contents_of_the_first_form_stand_as_those_of_the_second() {
        let of = of_first_form;
        assert_eq!(of(Combiner::Vector, &[2, 3, 4], &[]), (vec![], vec![2, 3, 4]));
        assert_eq!(of(Combiner::Hvector, &[2, 3], &[-8]), (vec![], vec![2, 3, -8]));
        assert_eq!(of(Combiner::Hvector, &[2, 3, -8], &[]), (vec![], vec![2, 3, -8]), "of Fortran");
        assert_eq!(of(Combiner::Struct, &[2, 1, 1], &[0, 8]), (vec![], vec![2, 1, 1, 0, 8]));
        assert_eq!(
            of(Combiner::Subarray, &[2, 9, 8, 3, 2, 1, 0, 56], &[]),
            (vec![2, 56], vec![9, 8, 3, 2, 1, 0])
        );
        let darray = [4, 1, 2, 9, 8, 0, 1, -1, -1, 2, 2, 57];
        assert_eq!(of(Combiner::Darray, &darray, &[]), (vec![4, 1, 2, 0, 1, -1, -1, 2, 2, 57], vec![9, 8]));
        assert_eq!(of(Combiner::Resized, &[], &[-4, 16]), (vec![], vec![-4, 16]));
    }
}
