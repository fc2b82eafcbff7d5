//! What such a function does, and how it is declared.

use crate::entry::raise;
use crate::errors::Raiser;
use rma::{Error, ErrorClass};
use std::ffi::c_int;

/// Declares the functions; arguments are left where the caller has put them.
macro_rules! unsupported {
    (
        error { $($error:ident)* } code { $($code:ident)* } success { $($success:ident)* }
        number { $($number:ident)* }
    ) => {
        $crate::entry::plain! {
            $(
                #[doc = concat!("`", stringify!($error), "`: not supported.")]
                fn $error() -> c_int { refuse(stringify!($error)) }
            )*
            $(
                #[doc = concat!("`", stringify!($code), "`: not supported.")]
                fn $code() -> c_int { $crate::abi::MPI_T_ERR_NOT_SUPPORTED }
            )*
            $(
                #[doc = concat!("`", stringify!($success), "`: nothing to do.")]
                fn $success() -> c_int { $crate::abi::MPI_SUCCESS }
            )*
            $(
                #[doc = concat!("`", stringify!($number), "`: a predefined handle is its own number, and there are no others.")]
                fn $number(word: usize) -> usize { word & c_int::MAX as usize }
            )*
        }
    };
}

pub(super) use unsupported;

#[cold]
pub(super) fn refuse(call: &'static str) -> c_int {
    let cause = "this library does not have the function; the program was built with another one";
    raise(Error::new(ErrorClass::UnsupportedOperation, call, cause), Raiser::None)
}
