//! The program's functions that are called when an attribute is copied with its object, or deleted.

use super::attached::AttributeOwner;
use crate::abi::{MPI_DUP_FN, MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN};
use crate::arguments::Opaque;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

type Copy = unsafe extern "C" fn(usize, c_int, Opaque, Opaque, *mut Opaque, *mut c_int) -> c_int;
type Delete = unsafe extern "C" fn(usize, c_int, Opaque, Opaque) -> c_int;

/// `MPI_Comm_copy_attr_function` and its twins for windows and datatypes, as C passes it: a function, or one of the
/// standard's two numbers for functions.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct CopyFunction(Option<Copy>);

/// `MPI_Comm_delete_attr_function` and its twins, as C passes it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct DeleteFunction(Option<Delete>);

const _: () = assert!(MPI_NULL_COPY_FN == 0 && MPI_DUP_FN == 1 && MPI_NULL_DELETE_FN == 0);

impl CopyFunction {
    /// The value that the copy of an object gets, if it gets one.
    ///
    /// # Errors
    /// The code that the program's function answers, unless it is success.
    pub(super) fn call(
        self,
        owner: AttributeOwner,
        keyval: c_int,
        extra_state: Opaque,
        value: Opaque,
    ) -> Result<Option<Opaque>> {
        let Some(function) = self.0 else { return Ok(None) };
        if function as usize == MPI_DUP_FN {
            return Ok(Some(value));
        }
        let (mut copy, mut flag) = (Opaque::NULL, 0);
        // SAFETY: the program has given the function for this purpose and keeps it callable until the key is freed and no
        // object has an attribute of it; the two pointers are good for the duration of the call.
        let code =
            unsafe { function(owner.handle, keyval, extra_state, value, &raw mut copy, &raw mut flag) };
        check("copy", keyval, code)?;
        Ok((flag != 0).then_some(copy))
    }
}

impl DeleteFunction {
    /// Tells the program that an attribute goes.
    ///
    /// # Errors
    /// The code that the program's function answers, unless it is success.
    pub(super) fn call(
        self,
        owner: AttributeOwner,
        keyval: c_int,
        value: Opaque,
        extra_state: Opaque,
    ) -> Result<()> {
        let Some(function) = self.0 else { return Ok(()) };
        // SAFETY: as for copying.
        check("delete", keyval, unsafe { function(owner.handle, keyval, value, extra_state) })
    }
}

fn check(which: &str, keyval: c_int, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let cause = format!("the {which} function of keyval {keyval} answers error code {code}");
    Err(Error::new(ErrorClass::Other, "", cause).with_code(code))
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    impl CopyFunction {
        pub(crate) const NONE: Self = Self(None);

        pub(crate) fn of(function: Copy) -> Self {
            Self(Some(function))
        }
    }

    impl DeleteFunction {
        pub(crate) const NONE: Self = Self(None);

        pub(crate) fn of(function: Delete) -> Self {
            Self(Some(function))
        }
    }
}
