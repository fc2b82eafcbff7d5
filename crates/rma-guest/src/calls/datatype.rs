//! Datatypes that the program makes, commits and frees. How one was made is noted as the program says it: to ask the host takes longer than
//! most transfers, and a program may make a datatype for each. One of the few files with `unsafe`.

use super::entry;
use crate::abi::{Aint, Combiner, Count, Handle};
use crate::datatype::{self, Call, Counts, Freed};
use crate::memory::read_handle;
use crate::world::is_running;
use std::ffi::{c_int, c_void};
use std::slice::from_raw_parts;

/// An argument that is a count in a recipe.
trait Counted: Copy + Into<Count> {
    fn all(counts: &[Self]) -> Counts<'_>;
}

impl Counted for c_int {
    fn all(counts: &[Self]) -> Counts<'_> {
        Counts::Narrow(counts)
    }
}

impl Counted for Count {
    fn all(counts: &[Self]) -> Counts<'_> {
        Counts::Wide(counts)
    }
}

fn one(count: impl Into<Count>) -> Counts<'static> {
    Counts::One(count.into())
}

/// # Safety
/// An array of that length, which may be nowhere if it has none.
unsafe fn array<'a, T>(from: *const T, len: impl Into<Count>) -> &'a [T] {
    let len = len.into();
    // SAFETY: as the caller promises.
    if from.is_null() || len <= 0 { &[] } else { unsafe { from_raw_parts(from, len as usize) } }
}

/// # Safety
/// As above.
unsafe fn many<'a, T: Counted + 'a>(from: *const T, len: impl Into<Count>) -> Counts<'a> {
    // SAFETY: as the caller promises.
    T::all(unsafe { array(from, len) })
}

/// # Safety
/// Room in which the host has stored a handle, and arguments that it has taken.
unsafe fn note(
    combiner: Combiner,
    numbers: &[&[c_int]],
    counts: &[Counts<'_>],
    olds: &[Handle],
    new: *mut c_void,
) {
    // SAFETY: as the caller promises.
    let new = unsafe { read_handle(new, 0) };
    datatype::note(&Call { combiner, numbers, counts }, olds, new, combiner == Combiner::Dup);
}

/// Constructors of one datatype in their two forms, with the numbers and counts of a recipe. An address is as long as a count.
macro_rules! constructors {
    ($(
        fn $narrow:ident | $wide:ident($($arg:ident: $ty:ty),* $(,)?) $combiner:ident $numbers:tt $counts:tt;
    )*) => {
        constructors! { @form narrow, c_int; $(fn $narrow($($arg: $ty),*) $combiner $numbers $counts;)* }
        constructors! { @form wide, Count; $(fn $wide($($arg: $ty),*) $combiner $numbers $counts;)* }
    };
    (
        @form $form:ident, $number:ty;
        $(fn $name:ident($($arg:ident: $ty:ty),*) $combiner:ident $numbers:tt $counts:tt;)*
    ) => {
        mod $form {
            use super::*;

            type Number = $number;

            entry! {$(
                fn $name($($arg: $ty,)* old: Handle, new: *mut c_void); |host, own| {
                    let code = host($($arg,)* old, new);
                    if code == 0 && is_running() {
                        note(Combiner::$combiner, &$numbers, &$counts, &[old], new);
                    }
                    code
                }
            )*}
        }
    };
}

constructors! {
    fn MPI_Type_contiguous | MPI_Type_contiguous_c(n: Number) Contiguous [] [one(n)];
    fn MPI_Type_vector | MPI_Type_vector_c(n: Number, len: Number, stride: Number)
        Vector [] [one(n), one(len), one(stride)];
    fn MPI_Type_create_hvector | MPI_Type_create_hvector_c(n: Number, len: Number, stride: Count)
        Hvector [] [one(n), one(len), one(stride)];
    fn MPI_Type_indexed | MPI_Type_indexed_c(n: Number, lens: *const Number, at: *const Number)
        Indexed [] [one(n), many(lens, n), many(at, n)];
    fn MPI_Type_create_hindexed | MPI_Type_create_hindexed_c(n: Number, lens: *const Number, at: *const Count)
        Hindexed [] [one(n), many(lens, n), many(at, n)];
    fn MPI_Type_create_indexed_block | MPI_Type_create_indexed_block_c(
        n: Number, len: Number, at: *const Number,
    )
        IndexedBlock [] [one(n), one(len), many(at, n)];
    fn MPI_Type_create_hindexed_block | MPI_Type_create_hindexed_block_c(
        n: Number, len: Number, at: *const Count,
    )
        HindexedBlock [] [one(n), one(len), many(at, n)];
    fn MPI_Type_create_subarray | MPI_Type_create_subarray_c(
        dims: c_int, sizes: *const Number, parts: *const Number, starts: *const Number, order: c_int,
    )
        Subarray [&[dims, order]] [many(sizes, dims), many(parts, dims), many(starts, dims)];
    fn MPI_Type_create_darray | MPI_Type_create_darray_c(
        size: c_int, rank: c_int, dims: c_int, sizes: *const Number, distributions: *const c_int,
        arguments: *const c_int, processes: *const c_int, order: c_int,
    )
        Darray [
            &[size, rank, dims], array(distributions, dims), array(arguments, dims), array(processes, dims),
            &[order],
        ]
        [many(sizes, dims)];
}

/// Structures in their two forms.
macro_rules! structures {
    ($($form:ident: fn $name:ident, $number:ty;)*) => {$(
        mod $form {
            use super::*;

            entry! {
                fn $name(
                    n: $number, lens: *const $number, at: *const Count, olds: *const c_void, new: *mut c_void,
                ); |host, own| {
                    let code = host(n, lens, at, olds, new);
                    if code == 0 && is_running() {
                        let len = usize::try_from(n).unwrap_or_default();
                        let olds: Vec<Handle> = (0..len).map(|index| read_handle(olds, index)).collect();
                        note(Combiner::Struct, &[], &[one(n), many(lens, n), many(at, n)], &olds, new);
                    }
                    code
                }
            }
        }
    )*};
}

structures! {
    narrow_structure: fn MPI_Type_create_struct, c_int;
    wide_structure: fn MPI_Type_create_struct_c, Count;
}

/// Other sizes in their two forms, which have the datatype in front.
macro_rules! resized {
    ($($form:ident: fn $name:ident;)*) => {$(
        mod $form {
            use super::*;

            entry! {
                fn $name(old: Handle, low: Count, extent: Count, new: *mut c_void); |host, own| {
                    let code = host(old, low, extent, new);
                    if code == 0 && is_running() {
                        note(Combiner::Resized, &[], &[one(low), one(extent)], &[old], new);
                    }
                    code
                }
            }
        }
    )*};
}

resized! {
    narrow_resized: fn MPI_Type_create_resized;
    wide_resized: fn MPI_Type_create_resized_c;
}

entry! {
    /// `MPI_Type_dup`.
    fn MPI_Type_dup(old: Handle, new: *mut c_void); |host, own| {
        let code = host(old, new);
        if code == 0 && is_running() {
            note(Combiner::Dup, &[], &[], &[old], new);
        }
        code
    }

    /// `MPI_Type_commit`.
    fn MPI_Type_commit(datatype: *mut c_void); |host, own| {
        let code = host(datatype);
        if code == 0 && is_running() {
            datatype::note_commit(read_handle(datatype, 0));
        }
        code
    }

    /// `MPI_Type_free`.
    fn MPI_Type_free(datatype: *mut c_void); |host, own| {
        let kind = if datatype.is_null() { None } else { datatype::about_to_free(read_handle(datatype, 0)) };
        let code = host(datatype);
        if code == 0 {
            kind.into_iter().for_each(Freed::is_gone);
        }
        code
    }

    /// `MPI_Type_get_contents`.
    fn MPI_Type_get_contents(
        kind: Handle, numbers: c_int, addresses: c_int, kinds: c_int, n: *mut c_int, a: *mut Aint,
        k: *mut c_void,
    ); |host, own| {
        let code = host(kind, numbers, addresses, kinds, n, a, k);
        if code == 0 && is_running() {
            datatype::note_contents(kind, k);
        }
        code
    }

    /// `MPI_Type_get_contents_c`.
    fn MPI_Type_get_contents_c(
        kind: Handle, numbers: Count, addresses: Count, counts: Count, kinds: Count, n: *mut c_int,
        a: *mut Aint, c: *mut Count, k: *mut c_void,
    ); |host, own| {
        let code = host(kind, numbers, addresses, counts, kinds, n, a, c, k);
        if code == 0 && is_running() {
            datatype::note_contents(kind, k);
        }
        code
    }
}
