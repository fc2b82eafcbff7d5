//! A datatype of the library with the same constructor, and the same numbers, as one of the host.

use super::contents::Contents;
use crate::abi::{Combiner, Handle, STANDARD};
use crate::errors::{ERR_TYPE, Failure};
use crate::library::host;
use crate::memory::write_handle;
use crate::{ours, theirs};
use std::ffi::c_int;

/// A datatype of the library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built {
    pub(super) handle: Handle,
    /// Whether it was made, and is to be freed.
    pub(super) is_own: bool,
}

impl Built {
    fn free(mut self) {
        if self.is_own {
            // SAFETY: it was made here; what was made of it stays.
            unsafe { ours::type_free(&raw mut self.handle) };
        }
    }
}

/// Builds one, and all that it is made of. `known` answers for those that are there.
///
/// # Safety
/// A datatype of the host.
pub(super) unsafe fn build(
    kind: Handle,
    known: &dyn Fn(Handle) -> Option<Handle>,
) -> Result<Built, Box<Failure>> {
    if let Some(handle) = known(kind) {
        return Ok(Built { handle, is_own: false });
    }
    // SAFETY: as the caller promises.
    let contents = unsafe { Contents::of(kind) }?;
    if let Some(handle) = predefined(kind, contents.combiner)? {
        return Ok(Built { handle, is_own: false });
    }
    let mut children = Vec::with_capacity(contents.kinds.len());
    for child in &contents.kinds {
        // SAFETY: a datatype that the host has given.
        children.push(unsafe { build(*child, known) });
    }
    for child in &contents.kinds {
        // SAFETY: as above, and given to be freed unless it is predefined.
        unsafe { give_back(*child) };
    }
    let (built, failed): (Vec<_>, Vec<_>) = children.into_iter().partition(Result::is_ok);
    let built: Vec<Built> = built.into_iter().flatten().collect();
    let made = match failed.into_iter().find_map(Result::err) {
        Some(failure) => Err(failure),
        None => construct(&contents, &built),
    };
    built.into_iter().for_each(Built::free);
    made.map(|handle| Built { handle, is_own: true })
}

/// One that is there from the start: named, or found by its size.
fn predefined(kind: Handle, combiner: Combiner) -> Result<Option<Handle>, Box<Failure>> {
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

/// # Safety
/// A datatype that the host has given with contents.
unsafe fn give_back(kind: Handle) {
    let [mut n, mut a, mut k, mut combiner] = [0; 4];
    let mut room = [0usize; 1];
    // SAFETY: as the caller promises; room for four numbers and a handle.
    unsafe {
        theirs::type_get_envelope(kind, &raw mut n, &raw mut a, &raw mut k, &raw mut combiner);
        let is_made = !matches!(
            Combiner::of(host().family, combiner),
            None | Some(Combiner::Named | Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer)
        );
        if is_made {
            write_handle(room.as_mut_ptr().cast(), kind);
            theirs::type_free(room.as_mut_ptr().cast());
        }
    }
}

/// Calls the constructor: numbers, addresses and datatypes stand as MPI 5.0 table 5.1 lists them.
fn construct(contents: &Contents, built: &[Built]) -> Result<Handle, Box<Failure>> {
    let Contents { combiner, numbers, addresses, .. } = contents;
    let is_whole = !numbers.is_empty() || matches!(combiner, Combiner::Dup | Combiner::Resized);
    let (Some(first), true) = (built.first().map(|built| built.handle), is_whole) else {
        if *combiner == Combiner::Struct {
            return empty();
        }
        return Err(Failure::new(ERR_TYPE, "the contents of a datatype are not told"));
    };
    let mut new = ours::DATATYPE_NULL;
    let (to, n, i, a) = (&raw mut new, numbers, numbers.as_ptr(), addresses.as_ptr());
    let count = n.first().copied().unwrap_or(0);
    let len = count as usize;
    // SAFETY: arrays are as long as the constructor's count says, because that is how the host has stored them.
    let code = unsafe {
        match combiner {
            Combiner::Dup => ours::type_dup(first, to),
            Combiner::Contiguous => ours::type_contiguous(count, first, to),
            Combiner::Vector => ours::type_vector(count, n[1], n[2], first, to),
            Combiner::Hvector => ours::type_create_hvector(count, n[1], addresses[0], first, to),
            Combiner::Indexed => ours::type_indexed(count, i.add(1), i.add(1 + len), first, to),
            Combiner::Hindexed => ours::type_create_hindexed(count, i.add(1), a, first, to),
            Combiner::IndexedBlock => ours::type_create_indexed_block(count, n[1], i.add(2), first, to),
            Combiner::HindexedBlock => ours::type_create_hindexed_block(count, n[1], a, first, to),
            Combiner::Struct => {
                let olds: Vec<Handle> = built.iter().map(|built| built.handle).collect();
                ours::type_create_struct(count, i.add(1), a, olds.as_ptr(), to)
            }
            Combiner::Subarray => {
                let order = order(n[1 + 3 * len]);
                ours::type_create_subarray(
                    count,
                    i.add(1),
                    i.add(1 + len),
                    i.add(1 + 2 * len),
                    order,
                    first,
                    to,
                )
            }
            Combiner::Darray => return darray(numbers, first),
            Combiner::Resized => ours::type_create_resized(first, addresses[0], addresses[1], to),
            Combiner::Named | Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer => {
                return Err(Failure::new(ERR_TYPE, "a predefined datatype has no constructor"));
            }
        }
    };
    if code == 0 { Ok(new) } else { Err(Failure::of_code(code)) }
}

/// A structure of nothing.
fn empty() -> Result<Handle, Box<Failure>> {
    let mut new = ours::DATATYPE_NULL;
    // SAFETY: a predefined datatype, and room for a handle.
    let code = unsafe { ours::type_contiguous(0, STANDARD.byte, &raw mut new) };
    if code == 0 { Ok(new) } else { Err(Failure::of_code(code)) }
}

fn darray(numbers: &[c_int], old: Handle) -> Result<Handle, Box<Failure>> {
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
    let distributions: Vec<c_int> = part(1).iter().map(distribution).collect();
    let arguments: Vec<c_int> = part(2).iter().map(argument).collect();
    let mut new = ours::DATATYPE_NULL;
    // SAFETY: each array has as many numbers as there are dimensions.
    let code = unsafe {
        ours::type_create_darray(
            numbers[0],
            numbers[1],
            numbers[2],
            part(0).as_ptr(),
            distributions.as_ptr(),
            arguments.as_ptr(),
            part(3).as_ptr(),
            order(numbers[3 + 4 * dims]),
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
