//! Predefined attributes of windows (MPI 3.1 §11.2.6): those of the library's window, as the host has them. One of the few files with `unsafe`.
//!
//! While the host frees a window it calls the functions of the program's attributes, which may ask for these; the library's window is gone
//! by then. So what they were is kept from before its end until the host's window is gone, too.

use crate::abi::{Aint, Handle, STANDARD};
use crate::library::host;
use crate::memory::handle;
use crate::ours;
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::ptr::{from_ref, null_mut};

/// Of windows that are being freed, by the program's handle and the library's: another thread may get the same handle of the host as soon
/// as it is free.
static KEPT: Mutex<Vec<(Handle, Handle, Box<Kept>)>> = Mutex::new(Vec::new());

/// The attributes of a window; addresses as numbers.
#[derive(Debug)]
struct Kept {
    base: usize,
    size: Aint,
    unit: c_int,
    flavor: usize,
    model: usize,
}

impl Kept {
    fn value(&self, index: usize) -> *mut c_void {
        match index {
            0 => self.base as *mut c_void,
            1 => from_ref(&self.size).cast_mut().cast(),
            2 => from_ref(&self.unit).cast_mut().cast(),
            3 => self.flavor as *mut c_void,
            _ => self.model as *mut c_void,
        }
    }
}

/// The attribute that stands at `index` of the keys, of the window `own` of the library, or the library's code.
///
/// # Safety
/// A window of the library that the program knows by `win`, and room for a flag or null.
pub(crate) unsafe fn predefined(
    win: Handle,
    own: Handle,
    index: usize,
    flag: *mut c_int,
) -> Result<*mut c_void, c_int> {
    let win = handle(win);
    if let Some((_, _, kept)) = KEPT.lock().iter().find(|(of, known, _)| (*of, *known) == (win, own)) {
        return Ok(kept.value(index));
    }
    let mut found: *mut c_void = null_mut();
    // SAFETY: as the caller promises; room for an address.
    unsafe {
        let code = ours::win_get_attr(own, STANDARD.window_keys[index], (&raw mut found).cast(), flag);
        if code == 0 { Ok(as_host_has_it(index, found)) } else { Err(code) }
    }
}

/// The window is about to be freed.
pub(crate) fn keep(win: Handle, own: Handle) {
    let mut flag = 0;
    // SAFETY: a window of the library, and room for a flag; each attribute is what the standard says, the base an address and the others
    // addresses of numbers.
    let kept = unsafe {
        let mut value = |index| predefined(win, own, index, &raw mut flag);
        let (Ok(base), Ok(size), Ok(unit), Ok(flavor), Ok(model)) =
            (value(0), value(1), value(2), value(3), value(4))
        else {
            return;
        };
        Kept {
            base: base as usize,
            size: size.cast::<Aint>().read(),
            unit: unit.cast::<c_int>().read(),
            flavor: flavor as usize,
            model: model as usize,
        }
    };
    KEPT.lock().push((handle(win), own, Box::new(kept)));
}

/// It is gone, or stays.
pub(crate) fn forget(win: Handle, own: Handle) {
    KEPT.lock().retain(|(of, known, _)| (*of, *known) != (win, own));
}

/// The address of an attribute's value; flavor and model have other numbers in other ABIs.
///
/// # Safety
/// The value of the predefined attribute that stands at `index` of the keys.
unsafe fn as_host_has_it(index: usize, value: *mut c_void) -> *mut c_void {
    let constants = &host().constants;
    let (own, theirs): (&[c_int], &'static [c_int]) = match index {
        3 => (&STANDARD.flavors, &constants.flavors),
        4 => (&STANDARD.models, &constants.models),
        _ => return value,
    };
    // SAFETY: these attributes are addresses of numbers.
    let number = unsafe { value.cast::<c_int>().read() };
    match own.iter().position(|known| *known == number) {
        Some(index) => from_ref(&theirs[index]).cast_mut().cast(),
        None => value,
    }
}
