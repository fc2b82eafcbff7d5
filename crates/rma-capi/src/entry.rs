//! The frame of every entry point: what happens around the body of a call, and the twin with the profiling name.
//!
//! An entry point checks that MPI is running, runs its body with cancellation of the thread put off, keeps panics from crossing into C, and hands an error to the
//! handler of the communicator or window that the call belongs to. Bodies are safe code: the types of their arguments
//! ([`crate::arguments`]) carry what a C caller promises.
//!
//! `MPI_X` and `PMPI_X` are two functions with one body. A tool may define `MPI_X` itself and call `PMPI_X`; nothing in
//! this library calls either.

use crate::cancel::Uncancelled;
use crate::errors::{Failure, Raiser, raise};
use crate::noted;
use crate::runtime::{Process, enter, not_running};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Declares entry points that need MPI to be running and return an error code.
///
/// ```text
/// entry! {
///     /// What it is, and where the standard says so.
///     fn MPI_Comm_rank(comm: MPI_Comm, rank: Out<c_int>) raises Raiser::Comm(comm); |process| { … Ok(()) }
/// }
/// ```
///
/// `raises …, first EXPRESSION;` makes the call end well when the expression is true, with no frame around it: for the
/// shortest way, which cannot panic, and has done nothing when it answers `false`. `, then EXPRESSION` after that is a second
/// such way, which is tried out of line: what it calls would have the first one keep the arguments.
macro_rules! entry {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) raises $raiser:expr $(, first $first:expr $(, then $then:expr)?)?; |$process:pat_param| $body:block)*) => {$(
        $crate::entry::plain! {
            $(#[$meta])*
            fn $name($($arg: $ty),*) -> std::ffi::c_int {
                $(
                    /// The ordinary way: apart, so that the short one keeps nothing for it, and a C function too, which it can jump to
                    /// with the arguments where they are.
                    #[doc = concat!("Unless ", stringify!($first))]
                    $(#[doc = concat!("or ", stringify!($then))])?
                    #[cold]
                    #[inline(never)]
                )?
                extern "C" fn ordinary($($arg: $ty),*) -> std::ffi::c_int {
                    $($(if $then {
                        return 0;
                    })?)?
                    $crate::entry::call(
                        stringify!($name),
                        move || -> $crate::errors::Raiser { $raiser },
                        move |$process: &'static $crate::runtime::Process| -> rma::Result<()> { $body },
                    )
                }
                $(if $first {
                    return 0;
                })?
                ordinary($($arg),*)
            }
        }
    )*};
}

/// Declares entry points whose errors belong to what they find, not to one of their arguments: the body answers the object
/// whose handler gets the error with the error ([`crate::errors::Failure`]). `first` is as with [`entry`].
macro_rules! entry_of_any {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(, first $first:expr)?; |$process:pat_param| $body:block)*) => {$(
        $crate::entry::plain! {
            $(#[$meta])*
            fn $name($($arg: $ty),*) -> std::ffi::c_int {
                $(if $first {
                    return 0;
                })?
                $crate::entry::call_of_any(
                    stringify!($name),
                    move |$process: &'static $crate::runtime::Process| -> std::result::Result<(), $crate::errors::Failure> { $body },
                )
            }
        }
    )*};
}

/// Declares the two forms of entry points: that with `int`, and that with large counts. Three types differ: `Number`, of
/// counts, is `c_int` and `MPI_Count`; `Place`, of displacements in elements or units, `c_int` and `MPI_Aint`; `Offset`, of
/// displacements in bytes, `MPI_Aint` and `MPI_Count`. `cargo xtask abi` knows these names too, and holds both forms against
/// the table of the ABI.
macro_rules! forms {
    ($($(#[$meta:meta])* fn $name:ident | $wide:ident $args:tt raises $raiser:expr $(, first $first:expr $(, then $then:expr)?)?; |$process:pat_param| $body:block)*) => {
        mod narrow {
            #![allow(unused_imports, dead_code)] // not every group of calls needs all types
            use super::*;
            type Number = std::ffi::c_int;
            type Place = std::ffi::c_int;
            type Offset = $crate::abi::MPI_Aint;
            $crate::entry::entry! { $($(#[$meta])* fn $name $args raises $raiser $(, first $first $(, then $then)?)?; |$process| $body)* }
        }
        mod wide {
            #![allow(unused_imports, dead_code)] // as above
            use super::*;
            type Number = $crate::abi::MPI_Count;
            type Place = $crate::abi::MPI_Aint;
            type Offset = $crate::abi::MPI_Count;
            $crate::entry::entry! { $(#[doc = concat!("`", stringify!($wide), "`: as `", stringify!($name), "`.")] fn $wide $args raises $raiser $(, first $first $(, then $then)?)?; |$process| $body)* }
        }
    };
}

/// Declares entry points that may be called at any time, with any result. The body must not panic.
macro_rules! plain {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $result:ty $body:block)*) => {$(
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)] // a function without arguments needs none of them
            use super::*;

            #[inline(always)]
            pub(super) fn body($($arg: $ty),*) -> $result $body

            // SAFETY: the name is this library's to define, once: it is the standard's name of this function.
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C" fn twin($($arg: $ty),*) -> $result {
                body($($arg),*)
            }
        }

        $(#[$meta])*
        #[allow(non_snake_case)]
        // SAFETY: as for the twin.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $result {
            $name::body($($arg),*)
        }
    )*};
}

pub(crate) use {entry, entry_of_any, forms, plain};

/// Runs the body of a call that needs MPI to be running.
#[inline(always)]
pub(crate) fn call(
    name: &'static str,
    raiser: impl FnOnce() -> Raiser,
    body: impl FnOnce(&'static Process) -> Result<()>,
) -> c_int {
    let _uncancelled = Uncancelled::begin();
    let Some(process) = enter(name) else { return raise(not_running(name), Raiser::Nobody) };
    // Asked for before the body, which may put another handle in the place of the one that the call was made with.
    let raiser = raiser();
    // State that a panic leaves half changed is found again by the checks of later calls, which do not trust it.
    match catch_unwind(AssertUnwindSafe(|| body(process))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => raise(error.in_call(name), raiser),
        Err(_) => raise(panicked(name), raiser),
    }
}

/// Runs the body of a call that needs MPI to be running, and whose errors say themselves where they belong.
#[inline(always)]
pub(crate) fn call_of_any(
    name: &'static str,
    body: impl FnOnce(&'static Process) -> std::result::Result<(), Failure>,
) -> c_int {
    let _uncancelled = Uncancelled::begin();
    let Some(process) = enter(name) else { return raise(not_running(name), Raiser::Nobody) };
    // As in `call`.
    match catch_unwind(AssertUnwindSafe(|| body(process))) {
        Ok(Ok(())) => 0,
        Ok(Err(Failure { error, raiser })) => raise(error.in_call(name), raiser),
        Err(_) => raise(panicked(name), Raiser::Nobody),
    }
}

/// Runs the body of a call that is legal at any time; its errors are raised where no object is known.
pub(crate) fn call_any_time(name: &'static str, body: impl FnOnce() -> Result<()>) -> c_int {
    call_for(name, Raiser::Nobody, body)
}

/// As [`call_any_time`], with errors that belong to this object.
pub(crate) fn call_for(name: &'static str, raiser: Raiser, body: impl FnOnce() -> Result<()>) -> c_int {
    let _uncancelled = Uncancelled::begin();
    noted::note(name);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => raise(error.in_call(name), raiser),
        Err(_) => raise(panicked(name), raiser),
    }
}

#[cold]
fn panicked(name: &'static str) -> Error {
    Error::new(
        ErrorClass::Intern,
        name,
        "the library has met a state it holds for impossible; see the message above",
    )
}
