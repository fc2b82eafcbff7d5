//! Names of Fortran's bindings that do not come to a function of C: predefined attributes of windows, and that others are attached. All others
//! call a name that the guest has, in both libraries, whichever module the program uses. One of the few files with `unsafe`.

use crate::abi::{Aint, Family, Handle};
use crate::attributes::predefined;
use crate::host_window;
use crate::library::{host, next_of};
use crate::theirs;
use crate::window::find;
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;

/// `MPI_WIN_GET_ATTR`: window, key, value, flag, error.
type OfFortran = unsafe extern "C-unwind" fn(*const c_int, *const c_int, *mut Aint, *mut c_int, *mut c_int);

/// MPICH's own function below its bindings, which has the kind of the value last.
type OfMpich = unsafe extern "C-unwind" fn(Handle, c_int, *mut c_void, *mut c_int, c_int) -> c_int;

/// The value as a number; `None` when the window is the host's, or the key no predefined one of Fortran's.
///
/// # Safety
/// A window of the program.
unsafe fn number(win: Handle, key: c_int) -> Option<Aint> {
    let window = find(win)?;
    // MPICH has a key of its own for each language.
    let key = if host().family == Family::Mpich { key - 1 } else { key };
    let index = host().constants.window_keys.iter().position(|known| *known == key)?;
    // SAFETY: the library's window; each attribute is what the standard says, the base an address and the others numbers.
    unsafe {
        let value = predefined(win, window, index, &mut 0).ok()?;
        Some(match index {
            0 => value as Aint,
            1 => value.cast::<Aint>().read(),
            _ => value.cast::<c_int>().read() as Aint,
        })
    }
}

/// # Safety
/// A window as Fortran has it.
unsafe fn window_of(win: *const c_int) -> Handle {
    // SAFETY: as the caller promises.
    unsafe {
        match host().family {
            Family::OpenMpi => theirs::win_f2c(*win),
            Family::Mpich | Family::Standard => *win as u32 as Handle,
        }
    }
}

/// # Safety
/// What Fortran passes.
unsafe fn get_attr(
    name: &CStr,
    win: *const c_int,
    key: *const c_int,
    value: *mut Aint,
    flag: *mut c_int,
    error: *mut c_int,
) {
    // SAFETY: as the caller promises; the host's function of this name has this type.
    unsafe {
        match number(window_of(win), *key) {
            Some(number) => {
                value.write(number);
                flag.write(1);
                error.write(0);
            }
            None => transmute::<*const c_void, OfFortran>(next_of(name))(win, key, value, flag, error),
        }
    }
}

// SAFETY: the binding's name of this function, which is defined here once.
#[unsafe(export_name = "mpi_win_get_attr_")]
unsafe extern "C-unwind" fn of_program(
    win: *const c_int,
    key: *const c_int,
    value: *mut Aint,
    flag: *mut c_int,
    error: *mut c_int,
) {
    // SAFETY: as Fortran promises.
    unsafe { get_attr(c"mpi_win_get_attr_", win, key, value, flag, error) }
}

// SAFETY: likewise, of its other name.
#[unsafe(export_name = "pmpi_win_get_attr_")]
unsafe extern "C-unwind" fn of_tool(
    win: *const c_int,
    key: *const c_int,
    value: *mut Aint,
    flag: *mut c_int,
    error: *mut c_int,
) {
    // SAFETY: as Fortran promises.
    unsafe { get_attr(c"pmpi_win_get_attr_", win, key, value, flag, error) }
}

// SAFETY: MPICH's name of this function, which is defined here once.
#[unsafe(export_name = "MPII_Win_get_attr")]
unsafe extern "C-unwind" fn of_module(
    win: Handle,
    key: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    kind: c_int,
) -> c_int {
    // SAFETY: as MPICH's bindings promise; its function of this name has this type.
    unsafe {
        match number(win, key) {
            Some(number) => {
                value.cast::<Aint>().write(number);
                flag.write(1);
                0
            }
            None => transmute::<*const c_void, OfMpich>(next_of(c"MPII_Win_get_attr"))(
                win, key, value, flag, kind,
            ),
        }
    }
}

/// `MPI_WIN_SET_ATTR`: window, key, value, error.
type SetsOfFortran = unsafe extern "C-unwind" fn(*const c_int, *const c_int, *const Aint, *mut c_int);

/// MPICH's own function below its bindings, which has the kind of the value last.
type SetsOfMpich = unsafe extern "C-unwind" fn(Handle, c_int, *mut c_void, c_int) -> c_int;

/// Names of `MPI_WIN_SET_ATTR`: as compilers make them, and those that Open MPI's module calls.
macro_rules! set_attr {
    ($($function:ident = $name:literal;)*) => {$(
        // SAFETY: the binding's name of this function, which is defined here once.
        #[unsafe(export_name = $name)]
        unsafe extern "C-unwind" fn $function(
            win: *const c_int,
            key: *const c_int,
            value: *const Aint,
            error: *mut c_int,
        ) {
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            };
            // SAFETY: as Fortran promises; the host's function of this name has this type.
            unsafe {
                transmute::<*const c_void, SetsOfFortran>(next_of(NAME))(win, key, value, error);
                if *error == 0 {
                    host_window::note_attribute(window_of(win), *key);
                }
            }
        }
    )*};
}

set_attr! {
    sets_bare = "mpi_win_set_attr";
    sets_one = "mpi_win_set_attr_";
    sets_two = "mpi_win_set_attr__";
    sets_capital = "MPI_WIN_SET_ATTR";
    tool_sets_bare = "pmpi_win_set_attr";
    tool_sets_one = "pmpi_win_set_attr_";
    tool_sets_two = "pmpi_win_set_attr__";
    tool_sets_capital = "PMPI_WIN_SET_ATTR";
    module_sets = "ompi_win_set_attr_f";
}

// SAFETY: MPICH's name of this function, which is defined here once.
#[unsafe(export_name = "MPII_Win_set_attr")]
unsafe extern "C-unwind" fn sets_of_mpich(win: Handle, key: c_int, value: *mut c_void, kind: c_int) -> c_int {
    // SAFETY: as MPICH's bindings promise; its function of this name has this type.
    unsafe {
        let next = next_of(c"MPII_Win_set_attr");
        let code = transmute::<*const c_void, SetsOfMpich>(next)(win, key, value, kind);
        if code == 0 {
            host_window::note_attribute(win, key);
        }
        code
    }
}
