//! Arguments of calls on windows: what each kind is for the library.

use crate::abi::{Aint, Count, Handle, STANDARD};
use crate::errors::Failure;
use crate::library::host;
use crate::{datatype, operation, ours};
use std::ffi::{c_int, c_void};

/// An argument as the program passes it, and as the library takes it: the same type, so that functions of host and library have one
/// signature.
pub(crate) trait Argument: Copy {
    /// What the library gets; `window` is its window.
    fn own(self, window: Handle) -> Result<Self, Box<Failure>>;
}

/// A datatype.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Type(pub(crate) Handle);

/// An operation.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Op(pub(crate) Handle);

/// A rank, or the null process.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Rank(pub(crate) c_int);

/// Assertions of a synchronization call.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Assert(pub(crate) c_int);

/// Shared or exclusive.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct LockType(pub(crate) c_int);

/// The window.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Window(pub(crate) Handle);

macro_rules! as_they_are {
    ($($ty:ty),*) => {$(
        impl Argument for $ty {
            #[inline(always)]
            fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
                Ok(self)
            }
        }
    )*};
}

as_they_are!(c_int, Aint, Count);

/// `MPI_IN_PLACE`, which stands for no memory in calls on windows: in MPICH's ABI the last address, in the others 1, as the library
/// knows it. `MPI_BOTTOM` is null in every ABI.
const IN_PLACE: [usize; 2] = [usize::MAX, 1];

macro_rules! addresses {
    ($($ty:ty: $without:path),*) => {$(
        impl Argument for $ty {
            #[inline(always)]
            fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
                Ok(if self.addr() == IN_PLACE[0] { $without(IN_PLACE[1]) } else { self })
            }
        }
    )*};
}

addresses!(*const c_void: std::ptr::without_provenance, *mut c_void: std::ptr::without_provenance_mut);

impl Argument for Type {
    #[inline(always)]
    fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
        datatype::find(self.0).map(Self)
    }
}

impl Argument for Op {
    #[inline(always)]
    fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
        operation::find(self.0).map(Self)
    }
}

impl Argument for Rank {
    #[inline(always)]
    fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
        if self.0 >= 0 { Ok(self) } else { Ok(self.special()) }
    }
}

impl Rank {
    /// A negative one: the null process, or an error that the library finds.
    #[cold]
    fn special(self) -> Self {
        match self.0 {
            rank if rank == host().constants.proc_null => Self(ours::PROC_NULL),
            ours::PROC_NULL => Self(c_int::MIN),
            _ => self,
        }
    }
}

impl Argument for Assert {
    #[inline(always)]
    fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
        if self.0 == 0 { Ok(self) } else { Ok(self.translated()) }
    }
}

impl Assert {
    #[cold]
    fn translated(self) -> Self {
        let pairs = host().constants.asserts.iter().zip(&STANDARD.asserts);
        let (known, own) = pairs.fold((0, 0), |(known, own), (bit, own_bit)| {
            (known | bit, if self.0 & bit != 0 { own | own_bit } else { own })
        });
        // What no bit stands for is an error there, too.
        Self(if self.0 & !known == 0 { own } else { -1 })
    }
}

impl Argument for LockType {
    #[inline(always)]
    fn own(self, _: Handle) -> Result<Self, Box<Failure>> {
        let index = host().constants.locks.iter().position(|lock| *lock == self.0);
        Ok(Self(index.map_or(-1, |index| STANDARD.locks[index])))
    }
}

impl Argument for Window {
    #[inline(always)]
    fn own(self, window: Handle) -> Result<Self, Box<Failure>> {
        Ok(Self(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_place_of_mpich_is_that_of_the_library() {
        let own = |address: usize| {
            let pointer = std::ptr::without_provenance::<c_void>(address);
            pointer
                .own(0)
                .map(<*const c_void>::addr)
                .unwrap_or_else(|_| unreachable!("an address is no error"))
        };
        assert_eq!([usize::MAX, 1, 0, 4096].map(own), [1, 1, 0, 4096]);
    }
}
