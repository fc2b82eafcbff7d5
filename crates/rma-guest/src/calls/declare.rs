//! How a function is declared: once, with the kind of each argument. One of the few files with `unsafe`.

/// A function of the host that is there by both names. In the body `host` and `own` call the host's and the library's.
macro_rules! entry {
    ($(
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?);
        |$host:ident, $own:ident| $body:block
    )*) => {$(
        $(#[$meta])*
        #[allow(non_snake_case, clippy::too_many_arguments)] // the standard's name, and its arguments
        mod $name {
            #[allow(unused_imports)] // a function of numbers needs none
            use super::*;

            type Function = unsafe extern "C-unwind" fn($($ty),*) -> std::ffi::c_int;

            const NAME: &std::ffi::CStr =
                match std::ffi::CStr::from_bytes_with_nul(concat!("P", stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };

            #[inline(always)]
            #[allow(dead_code)] // what is always the host's, or the library's
            unsafe fn host($($arg: $ty),*) -> std::ffi::c_int {
                static SYMBOL: $crate::library::Symbol = $crate::library::Symbol::of_host(NAME);
                let function =
                    // SAFETY: the host's function of this name has this type.
                    unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(SYMBOL.address()) };
                // SAFETY: with arguments of the host.
                unsafe { function($($arg),*) }
            }

            #[inline(always)]
            #[allow(dead_code)] // what is always the host's, or the library's
            unsafe fn own($($arg: $ty),*) -> std::ffi::c_int {
                static SYMBOL: $crate::library::Symbol = $crate::library::Symbol::of_own(NAME);
                let function =
                    // SAFETY: the library's function of this name has this type.
                    unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(SYMBOL.address()) };
                // SAFETY: with arguments of the library.
                unsafe { function($($arg),*) }
            }

            #[inline(always)]
            #[allow(unused_variables)] // as above
            pub(super) unsafe fn body($($arg: $ty),*) -> std::ffi::c_int {
                let ($host, $own): (unsafe fn($($ty),*) -> _, unsafe fn($($ty),*) -> _) = (host, own);
                // SAFETY: the program's arguments are as the standard has them for this function.
                unsafe { $body }
            }

            // SAFETY: the standard's name of this function, which is defined here once.
            #[unsafe(export_name = stringify!($name))]
            unsafe extern "C-unwind" fn of_program($($arg: $ty),*) -> std::ffi::c_int {
                // SAFETY: as the program promises.
                unsafe { body($($arg),*) }
            }

            // SAFETY: likewise, of its other name.
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C-unwind" fn of_tool($($arg: $ty),*) -> std::ffi::c_int {
                // SAFETY: as the tool promises.
                unsafe { body($($arg),*) }
            }
        }
    )*};
}

/// Functions that the library may do at once, which is tried first: what it answers is the program's code. The way of
/// [`on_window`] is a function apart, so that the first try keeps nothing for it.
macro_rules! first_at_once {
    ($(fn $name:ident($($arg:ident: $ty:ty),* ; $win:ident) $first:expr;)*) => {
        $crate::calls::entry! {$(
            fn $name($($arg: $ty,)* $win: $crate::arguments::Window); |host, own| {
                #[cold]
                #[inline(never)]
                unsafe extern "C-unwind" fn slow_path(
                    $($arg: $ty,)* $win: $crate::arguments::Window,
                ) -> std::ffi::c_int {
                    // SAFETY: the program's arguments, as the standard has them for this function.
                    unsafe { $crate::calls::translated!($win, self::host, self::own, $($arg),*) }
                }
                match $first {
                    Some(code) => code,
                    None => slow_path($($arg,)* $win),
                }
            }
        )*}
    };
}

/// A call on a window: the host's, or, with translated arguments, the library's.
macro_rules! translated {
    ($win:ident, $host:path, $own:path, $($arg:ident),*) => {
        match $crate::window::find($win.0) {
            None => $host($($arg,)* $win),
            Some(window) => {
                $(let $arg = match $crate::arguments::Argument::own($arg, window) {
                    Ok(argument) => argument,
                    Err(failure) => return failure.raise_at_window($win.0),
                };)*
                $crate::errors::settle($win.0, $own($($arg,)* $crate::arguments::Window(window)))
            }
        }
    };
}

/// Functions on a window, `win`, whose arguments the library gets translated.
macro_rules! on_window {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* ; $win:ident $(,)?);)*) => {
        $crate::calls::entry! {$(
            $(#[$meta])*
            fn $name($($arg: $ty,)* $win: $crate::arguments::Window); |host, own| {
                $crate::calls::translated!($win, self::host, self::own, $($arg),*)
            }
        )*}
    };
}

/// The same with a request behind the window. Those that the library may do at once are tried so first, as in [`first_at_once`].
macro_rules! with_request {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* ; $win:ident) $($first:expr)?;)*) => {
        $crate::calls::entry! {$(
            $(#[$meta])*
            fn $name($($arg: $ty,)* $win: $crate::arguments::Window, request: *mut c_void); |host, own| {
                #[cold]
                #[inline(never)]
                unsafe extern "C-unwind" fn slow_path(
                    $($arg: $ty,)*
                    $win: $crate::arguments::Window,
                    request: *mut c_void,
                ) -> std::ffi::c_int {
                    let Some(window) = $crate::window::find($win.0) else {
                        // SAFETY: the program's arguments, as the standard has them for this function.
                        return unsafe { self::host($($arg,)* $win, request) };
                    };
                    $(let $arg = match $crate::arguments::Argument::own($arg, window) {
                        Ok(argument) => argument,
                        Err(failure) => return failure.raise_at_window($win.0),
                    };)*
                    let mut new: $crate::abi::Handle = 0;
                    let room = if request.is_null() { request } else { (&raw mut new).cast() };
                    // SAFETY: as above, translated; room for a request, unless the program gives none.
                    unsafe {
                        match self::own($($arg,)* $crate::arguments::Window(window), room) {
                            0 => $crate::request::enter(new, $win.0, request),
                            code => $crate::errors::settle($win.0, code),
                        }
                    }
                }
                $(if !request.is_null() && $first == Some(1) {
                    return $crate::request::give_ended(request);
                })?
                slow_path($($arg,)* $win, request)
            }
        )*}
    };
}

pub(crate) use {entry, first_at_once, on_window, translated, with_request};
