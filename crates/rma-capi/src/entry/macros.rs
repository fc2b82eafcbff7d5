//! The macros that declare entry points: `MPI_X` and its twin `PMPI_X`, around one body.
//!
//! A call raises its error when nothing is locked and its body is over. So an error handler of the program may leave by an exception, which
//! passes the entry point; a panic of the body does not get there.

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
/// fast path, which cannot panic, and has done nothing when it answers `false`. An expression that is an `Option` of a code ends the call
/// with that code. `, then EXPRESSION` after that is a second fast path, which is tried out of line: what it calls would have the first one
/// keep the arguments. Both may name the entry point by the type `EntryPoint`.
macro_rules! entry {
    ($(
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?)
        raises $raiser:expr $(, first $first:expr $(, then $then:expr)?)?; |$process:pat_param| $body:block
    )*) => {$(
        $crate::entry::plain! {
            $(#[$meta])*
            fn $name($($arg: $ty),*) -> std::ffi::c_int {
                #[allow(dead_code)] // most calls have no use for it
                enum EntryPoint {}
                impl $crate::entry::Named for EntryPoint {
                    const NAME: &'static str = stringify!($name);
                }
                $(
                    /// The slow path: apart, so that the fast one keeps nothing for it, and a C function too, which it can jump to
                    /// with the arguments where they are.
                    #[doc = concat!("Unless ", stringify!($first))]
                    $(#[doc = concat!("or ", stringify!($then))])?
                    #[cold]
                    #[inline(never)]
                )?
                extern "C-unwind" fn slow_path($($arg: $ty),*) -> std::ffi::c_int {
                    $($(if let Some(code) = $crate::entry::Early::code($then) {
                        return code;
                    })?)?
                    $crate::entry::call(
                        stringify!($name),
                        move || -> $crate::errors::Raiser { $raiser },
                        move |$process: &'static $crate::process::Process| -> rma::Result<()> { $body },
                    )
                }
                $(if let Some(code) = $crate::entry::Early::code($first) {
                    return code;
                })?
                slow_path($($arg),*)
            }
        }
    )*};
}

/// Declares entry points whose errors belong to what they find, not to one of their arguments: the body answers the object
/// whose handler gets the error with the error ([`crate::errors::Failure`]). `first` is as with [`entry`].
macro_rules! entry_of_any {
    ($(
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?)
        $(, first $first:expr)?; |$process:pat_param| $body:block
    )*) => {$(
        $crate::entry::plain! {
            $(#[$meta])*
            fn $name($($arg: $ty),*) -> std::ffi::c_int {
                $(if $first {
                    return 0;
                })?
                $crate::entry::call_of_any(
                    stringify!($name),
                    move |
                        $process: &'static $crate::process::Process,
                    | -> std::result::Result<(), $crate::errors::Failure> { $body },
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
    ($(
        $(#[$meta:meta])* fn $name:ident | $wide:ident $args:tt
        raises $raiser:expr $(, first $first:expr $(, then $then:expr)?)?; |$process:pat_param| $body:block
    )*) => {
        pub(super) mod narrow {
            #![allow(unused_imports, dead_code)] // not every group of calls needs all types
            use super::*;
            type Number = std::ffi::c_int;
            type Place = std::ffi::c_int;
            type Offset = $crate::abi::MPI_Aint;
            $crate::entry::entry! {$(
                $(#[$meta])* fn $name $args
                raises $raiser $(, first $first $(, then $then)?)?; |$process| $body
            )*}
        }
        pub(super) mod wide {
            #![allow(unused_imports, dead_code)] // as above
            use super::*;
            type Number = $crate::abi::MPI_Count;
            type Place = $crate::abi::MPI_Aint;
            type Offset = $crate::abi::MPI_Count;
            $crate::entry::entry! {$(
                #[doc = concat!("`", stringify!($wide), "`: as `", stringify!($name), "`.")]
                fn $wide $args
                raises $raiser $(, first $first $(, then $then)?)?; |$process| $body
            )*}
        }
    };
}

/// Declares entry points that may be called at any time, with any result. The body must not panic.
macro_rules! plain {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $result:ty $body:block)*) => {$(
        #[allow(non_snake_case)]
        pub(crate) mod $name {
            #[allow(unused_imports)] // a function without arguments needs none of them
            use super::*;

            #[inline(always)]
            pub(crate) fn body($($arg: $ty),*) -> $result $body

            // SAFETY: the name is this library's to define, once: it is the standard's name of this function.
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C-unwind" fn twin($($arg: $ty),*) -> $result {
                body($($arg),*)
            }
        }

        $(#[$meta])*
        #[allow(non_snake_case)]
        // SAFETY: as for the twin.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($arg: $ty),*) -> $result {
            $name::body($($arg),*)
        }
    )*};
}

pub(crate) use {entry, entry_of_any, forms, plain};
