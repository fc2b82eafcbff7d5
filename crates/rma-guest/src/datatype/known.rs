//! Which datatype of the library stands for which of the host.

use super::build::build;
use crate::abi::{DATATYPES, Handle};
use crate::attribute::not_copied;
use crate::errors::Failure;
use crate::fixed::{FACTORS, Fixed};
use crate::library::host;
use crate::memory::handle;
use crate::table::Table;
use crate::{ours, theirs};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// A program uses few at a time; the predefined ones are among them.
static KNOWN: Table<256> = Table::new();

/// Those that the program has committed; the values mean nothing.
static COMMITTED: Table<64> = Table::new();

/// Of these the predefined ones; each value has the library's codes in its upper half, and the size in the lower.
static PREDEFINED: Fixed<4096, { FACTORS[1] }> = Fixed::new();

/// A predefined datatype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predefined(usize);

impl Predefined {
    /// The library's codes, from bit 32 on; of what is below only the aim of a call that has its rank apart may have something.
    #[inline(always)]
    pub(crate) fn codes(self) -> u64 {
        self.0 as u64
    }

    /// Bytes of an element, if elements lie without gaps.
    #[inline(always)]
    pub(crate) fn dense_size(self) -> Option<u64> {
        // As a signed number: see `at_once`.
        let size = self.0 as i32;
        if size > 0 { Some(size as u64) } else { None }
    }
}

/// The library's datatype, if it is a predefined one that is found at once: by the register as it is, which has nothing above a handle of
/// 32 bits in all programs of compilers at hand; else it is not found.
#[inline(always)]
pub(crate) fn find_predefined(kind: Handle) -> Option<Predefined> {
    PREDEFINED.find(kind).map(Predefined)
}

/// The library's datatype.
#[inline(always)]
pub(crate) fn find(kind: Handle) -> Result<Handle, Box<Failure>> {
    let kind = handle(kind);
    match KNOWN.find(kind) {
        Some(own) => Ok(own),
        None => make(kind),
    }
}

/// The program has committed one.
pub(crate) fn note_commit(kind: Handle) {
    let kind = handle(kind);
    if KNOWN.find(kind).is_none() && COMMITTED.find(kind).is_none() {
        COMMITTED.insert(kind, 1);
        if !watch(kind) {
            COMMITTED.remove(kind);
        }
    }
}

/// A duplicate is committed if the original is (MPI 5.0 §5.1.10).
pub(crate) fn note_duplicate(old: Handle, new: Handle) {
    // What is found is predefined, or was committed.
    if COMMITTED.find(handle(old)).is_some() || find(old).is_ok() {
        note_commit(new);
    }
}

/// Has [`on_free`] called when the host frees one; says whether it takes the attribute, which predefined ones may not.
fn watch(kind: Handle) -> bool {
    // SAFETY: a datatype that the program has handed over.
    unsafe { theirs::type_set_attr(kind, *key(), null_mut()) == 0 }
}

/// Enters those that are there from the start.
pub(crate) fn enter_predefined() {
    for named in DATATYPES {
        let theirs = host().handle_of(named);
        if theirs != 0 {
            KNOWN.insert(theirs, named.standard);
            PREDEFINED.insert(theirs, ours::codes_of_datatype(named.standard).rotate_left(32) as usize);
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
    // SAFETY: the datatype that was made above.
    unsafe {
        if COMMITTED.find(kind).is_none() {
            ours::type_free(&raw mut own);
            return Err(Failure::new(crate::errors::ERR_TYPE, "the datatype was not committed"));
        }
        ours::type_commit(&raw mut own);
    }
    // Its attribute is there since it was committed.
    KNOWN.insert(kind, own);
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
    COMMITTED.remove(handle(kind));
    if let Some(mut own) = KNOWN.remove(handle(kind)) {
        // SAFETY: the datatype that was made for it, which no call uses any more.
        unsafe { ours::type_free(&raw mut own) };
    }
    0
}
