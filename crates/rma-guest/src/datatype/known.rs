//! Which datatype of the library stands for which of the host.

use super::build::build;
use crate::abi::{DATATYPES, Handle};
use crate::attribute::not_copied;
use crate::errors::Failure;
use crate::library::host;
use crate::memory::handle;
use crate::table::Table;
use crate::{ours, theirs};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// A program uses few at a time; the predefined ones are among them.
static KNOWN: Table<256> = Table::new();

/// The library's datatype.
#[inline(always)]
pub(crate) fn find(kind: Handle) -> Result<Handle, Box<Failure>> {
    let kind = handle(kind);
    match KNOWN.find(kind) {
        Some(own) => Ok(own),
        None => make(kind),
    }
}

/// Enters those that are there from the start.
pub(crate) fn enter_predefined() {
    for named in DATATYPES {
        let theirs = host().handle_of(named);
        if theirs != 0 {
            KNOWN.insert(theirs, named.standard);
        }
    }
}

/// Takes over one that was not seen before.
#[cold]
#[inline(never)]
fn make(kind: Handle) -> Result<Handle, Box<Failure>> {
    // SAFETY: a datatype that the program has handed over.
    let built = unsafe { build(kind, &|child| KNOWN.find(child)) }?;
    if !built.is_own {
        KNOWN.insert(kind, built.handle);
        return Ok(built.handle);
    }
    let mut own = built.handle;
    // SAFETY: the datatype that was made above, and one of the host that is no predefined one.
    unsafe {
        ours::type_commit(&raw mut own);
        KNOWN.insert(kind, own);
        if theirs::type_set_attr(kind, *key(), null_mut()) != 0 {
            KNOWN.remove(kind);
            ours::type_free(&raw mut own);
            return Err(Failure::new(crate::errors::ERR_TYPE, "the datatype takes no attribute"));
        }
    }
    Ok(own)
}

/// The key of the attribute.
fn key() -> &'static c_int {
    static KEY: OnceLock<c_int> = OnceLock::new();
    KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: functions of this file, and room for a key.
        unsafe { theirs::type_create_keyval(not_copied, on_free, &raw mut key, null_mut()) };
        key
    })
}

unsafe extern "C" fn on_free(kind: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    if let Some(mut own) = KNOWN.remove(handle(kind)) {
        // SAFETY: the datatype that was made for it, which no call uses any more.
        unsafe { ours::type_free(&raw mut own) };
    }
    0
}
