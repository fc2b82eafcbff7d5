//! Functions of the two libraries, each looked up when it is first called.

use super::host::host;
use super::object::Object;
use super::own::own;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};

/// A function's name, and its address once it was asked for.
#[derive(Debug)]
pub(crate) struct Symbol {
    name: &'static CStr,
    is_host: bool,
    address: AtomicPtr<c_void>,
}

impl Symbol {
    pub(crate) const fn of_host(name: &'static CStr) -> Self {
        Self { name, is_host: true, address: AtomicPtr::new(null_mut()) }
    }

    pub(crate) const fn of_own(name: &'static CStr) -> Self {
        Self { name, is_host: false, address: AtomicPtr::new(null_mut()) }
    }

    /// The address. A program that calls what its MPI does not have ends here.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Acquire);
        if address.is_null() { self.look_up() } else { address }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> *mut c_void {
        let found = self.object().map_or(null_mut(), |object| object.find(self.name));
        if found.is_null() {
            let whose = if self.is_host { "the MPI of this program" } else { "libmpi_abi.so.1" };
            eprintln!("rma-guest: {whose} has no {}", self.name.to_string_lossy());
            std::process::abort();
        }
        self.address.store(found, Release);
        found
    }

    fn object(&self) -> Option<Object> {
        if self.is_host { Some(host().object) } else { own().ok().map(|own| own.object) }
    }
}

/// Declares functions of one of the libraries, `of_host` or `of_own`: each with its name there and its type.
macro_rules! declare {
    ($of:ident: $(fn $name:ident = $text:literal($($arg:ident: $ty:ty),* $(,)?);)*) => {$(
        /// # Safety
        /// As the standard has it for the function of that name.
        #[allow(clippy::too_many_arguments)] // as many as the standard has
        pub(crate) unsafe fn $name($($arg: $ty),*) -> std::ffi::c_int {
            static SYMBOL: $crate::library::Symbol = $crate::library::Symbol::$of($text);
            type Function = unsafe extern "C-unwind" fn($($ty),*) -> std::ffi::c_int;
            let function =
                // SAFETY: the library's function of this name has this type.
                unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(SYMBOL.address()) };
            // SAFETY: as the caller promises.
            unsafe { function($($arg),*) }
        }
    )*};
}

pub(crate) use declare;
