//! A datatype of the library with the same constructor, and the same numbers, as one of the host.

use super::recipe::Recipe;
use crate::abi::{Combiner, Count, Handle, STANDARD};
use crate::errors::{ERR_TYPE, Failure};
use crate::library::host;
use crate::{ours, theirs};
use std::ffi::c_int;

/// One that is there from the start: named, or found by its size.
pub(super) fn predefined(kind: Handle, combiner: Combiner) -> Result<Option<Handle>, Box<Failure>> {
    let mut size: c_int = 0;
    // SAFETY: the host has told its envelope, so it is one; room for a number.
    unsafe { theirs::type_size(kind, &raw mut size) };
    let found = match (combiner, size) {
        (Combiner::F90Real, 4) => 0x2d2,
        (Combiner::F90Real, 8) => 0x2da,
        (Combiner::F90Real, 16) => 0x2e2,
        (Combiner::F90Complex, 8) => 0x2db,
        (Combiner::F90Complex, 16) => 0x2e3,
        (Combiner::F90Complex, 32) => 0x2eb,
        (Combiner::F90Integer, 1) => 0x2c1,
        (Combiner::F90Integer, 2) => 0x2c9,
        (Combiner::F90Integer, 4) => 0x2d1,
        (Combiner::F90Integer, 8) => 0x2d9,
        (Combiner::Named | Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer, _) => {
            let text =
                format!("a predefined datatype of {size} bytes has no counterpart in the standard ABI");
            return Err(Failure::new(ERR_TYPE, text));
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Calls the constructor of a recipe for these datatypes of the library.
pub(super) fn construct(recipe: &Recipe, olds: &[Handle]) -> Result<Handle, Box<Failure>> {
    let Recipe { combiner, numbers, counts } = recipe;
    let Some(first) = olds.first().copied() else {
        return if *combiner == Combiner::Struct { empty() } else { Err(incomplete()) };
    };
    let mut new = ours::DATATYPE_NULL;
    let (to, at) = (&raw mut new, counts.as_ptr());
    let count = counts.first().copied().unwrap_or(0);
    let len = count as usize;
    if counts.len() < counts_of(*combiner, len, numbers) {
        return Err(incomplete());
    }
    // SAFETY: there are as many counts as the constructor takes; arrays lie one behind the other.
    let code = unsafe {
        match combiner {
            Combiner::Dup => ours::type_dup(first, to),
            Combiner::Contiguous => ours::type_contiguous(count, first, to),
            Combiner::Vector => ours::type_vector(count, counts[1], counts[2], first, to),
            Combiner::Hvector => ours::type_create_hvector(count, counts[1], counts[2], first, to),
            Combiner::Indexed => ours::type_indexed(count, at.add(1), at.add(1 + len), first, to),
            Combiner::Hindexed => ours::type_create_hindexed(count, at.add(1), at.add(1 + len), first, to),
            Combiner::IndexedBlock => ours::type_create_indexed_block(count, counts[1], at.add(2), first, to),
            Combiner::HindexedBlock => {
                ours::type_create_hindexed_block(count, counts[1], at.add(2), first, to)
            }
            Combiner::Struct if olds.len() < len => return Err(incomplete()),
            Combiner::Struct => {
                ours::type_create_struct(count, at.add(1), at.add(1 + len), olds.as_ptr(), to)
            }
            Combiner::Subarray => {
                let (dims, order) = (numbers[0], order(numbers[1]));
                let (parts, starts) = (at.add(dims as usize), at.add(2 * dims as usize));
                ours::type_create_subarray(dims, at, parts, starts, order, first, to)
            }
            Combiner::Darray => return darray(numbers, counts, first),
            Combiner::Resized => ours::type_create_resized(first, counts[0], counts[1], to),
            Combiner::Named | Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer => {
                return Err(Failure::new(ERR_TYPE, "a predefined datatype has no constructor"));
            }
        }
    };
    if code == 0 { Ok(new) } else { Err(Failure::of_code(code)) }
}

/// How many counts a constructor takes whose first one is `len`; more than there are where its numbers are missing.
fn counts_of(combiner: Combiner, len: usize, numbers: &[c_int]) -> usize {
    let dims = |place: usize, more: usize| match numbers.get(place) {
        Some(dims) if numbers.len() >= more => *dims as usize,
        _ => usize::MAX / 4,
    };
    match combiner {
        Combiner::Named | Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer | Combiner::Dup => {
            0
        }
        Combiner::Contiguous => 1,
        Combiner::Vector | Combiner::Hvector => 3,
        Combiner::Indexed | Combiner::Hindexed | Combiner::Struct => 1 + 2 * len,
        Combiner::IndexedBlock | Combiner::HindexedBlock => 2 + len,
        Combiner::Subarray => 3 * dims(0, 2),
        Combiner::Darray => dims(2, 4 + 3 * numbers.get(2).map_or(0, |dims| *dims as usize)),
        Combiner::Resized => 2,
    }
}

fn incomplete() -> Box<Failure> {
    Failure::new(ERR_TYPE, "the contents of a datatype are not told")
}

/// A structure of nothing.
fn empty() -> Result<Handle, Box<Failure>> {
    let mut new = ours::DATATYPE_NULL;
    // SAFETY: a predefined datatype, and room for a handle.
    let code = unsafe { ours::type_contiguous(0, STANDARD.byte, &raw mut new) };
    if code == 0 { Ok(new) } else { Err(Failure::of_code(code)) }
}

fn darray(numbers: &[c_int], sizes: &[Count], old: Handle) -> Result<Handle, Box<Failure>> {
    let dims = numbers[2] as usize;
    let part = |index: usize| &numbers[3 + index * dims..][..dims];
    let constants = &host().constants;
    let distribution = |theirs: &c_int| {
        let index = constants.distributions[..3].iter().position(|known| known == theirs);
        index.map_or(*theirs, |index| STANDARD.distributions[index])
    };
    let argument = |theirs: &c_int| {
        if *theirs == constants.distributions[3] { STANDARD.distributions[3] } else { *theirs }
    };
    let distributions: Vec<c_int> = part(0).iter().map(distribution).collect();
    let arguments: Vec<c_int> = part(1).iter().map(argument).collect();
    let mut new = ours::DATATYPE_NULL;
    // SAFETY: each array has as many numbers as there are dimensions.
    let code = unsafe {
        ours::type_create_darray(
            numbers[0],
            numbers[1],
            numbers[2],
            sizes.as_ptr(),
            distributions.as_ptr(),
            arguments.as_ptr(),
            part(2).as_ptr(),
            order(numbers[3 + 3 * dims]),
            old,
            &raw mut new,
        )
    };
    if code == 0 { Ok(new) } else { Err(Failure::of_code(code)) }
}

fn order(theirs: c_int) -> c_int {
    let index = host().constants.orders.iter().position(|order| *order == theirs);
    index.map_or(theirs, |index| STANDARD.orders[index])
}
