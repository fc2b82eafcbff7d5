//! Which datatype of the library stands for which of the host.
//!
//! A datatype is known from its constructor on, or from its first use if that constructor was not seen; until the program frees it, by the
//! name that the guest has. Contents that the host hands out may be the very handles that they were made of, so each entry counts how many
//! times the program has its handle. One that is forgotten too early is asked about again, and answers the same.
//!
//! Only a datatype that is known not to be committed is refused.

use super::contents::number_of_kinds;
use super::made::Part;
use super::recipe::Call;
use crate::abi::{DATATYPES, Handle};
use crate::errors::{ERR_TYPE, Failure};
use crate::fixed::{FACTORS, Fixed};
use crate::library::host;
use crate::memory::{handle, read_handle};
use crate::ours;
use crate::table::Table;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// A program uses few at a time; the predefined ones are among them. A value is the handle of a predefined one of the library, or
/// the address of a [`KnownDatatype`].
static KNOWN: Table<256> = Table::new();

/// No address is as low, and no handle of a predefined datatype as high.
const LOWEST_ADDRESS: usize = 4096;

/// A datatype of the program.
#[derive(Debug)]
struct KnownDatatype {
    /// The library's, once it may be used in calls: it is committed, and made. Else 0.
    ready: AtomicUsize,
    part: OnceLock<Part>,
    is_committed: AtomicBool,
    /// How many times the program has the handle.
    handles: AtomicUsize,
}

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
        Some(own) if own < LOWEST_ADDRESS => Ok(own),
        Some(address) => {
            // SAFETY: the program uses the datatype, so it is not being freed.
            let entry = unsafe { entry_at(address) };
            match entry.ready.load(Acquire) {
                0 => entry.make(kind),
                own => Ok(own),
            }
        }
        None => enter(kind, KnownDatatype::new(None, true, 1)).make(kind),
    }
}

/// The program has made one. A duplicate is committed if the original is (MPI 5.0 §5.1.10).
pub(crate) fn note(call: &Call<'_>, kinds: &[Handle], new: Handle, is_duplicate: bool) {
    if let Some(part) = Part::of_call(call, kinds, |kind| part_of(handle(kind))) {
        let is_committed = is_duplicate && kinds.first().is_some_and(|old| is_committed(handle(*old)));
        enter(handle(new), KnownDatatype::new(Some(part), is_committed, 1));
    }
}

/// It has committed one.
pub(crate) fn note_commit(kind: Handle) {
    if let Some(entry) = entry_of(handle(kind)) {
        entry.is_committed.store(true, Relaxed);
        if let Some(own) = entry.part.get().and_then(Part::there) {
            entry.ready.store(own, Release);
        }
    }
}

/// The host has given it the contents of one.
///
/// # Safety
/// A datatype of the host, and as many handles as its envelope says.
pub(crate) unsafe fn note_contents(kind: Handle, given: *const c_void) {
    // SAFETY: as the caller promises.
    unsafe {
        for index in 0..number_of_kinds(kind) {
            note_given(handle(read_handle(given, index)));
        }
    }
}

/// The program has to free it, unless it is predefined.
fn note_given(kind: Handle) {
    match KNOWN.find(kind) {
        Some(address) if address >= LOWEST_ADDRESS => {
            // SAFETY: the program has the datatype, so it is not being freed.
            unsafe { entry_at(address) }.handles.fetch_add(1, Relaxed);
        }
        Some(_) => {}
        // Whether it is committed only the host knows.
        None => _ = enter(kind, KnownDatatype::new(None, true, 1)),
    }
}

/// What the program is about to free, for [`Freed::is_gone`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    kind: Handle,
    address: usize,
}

/// The program frees a handle.
pub(crate) fn about_to_free(kind: Handle) -> Option<Freed> {
    let kind = handle(kind);
    let address = KNOWN.find(kind).filter(|address| *address >= LOWEST_ADDRESS)?;
    Some(Freed { kind, address })
}

impl Freed {
    /// The host has freed it; another thread may have got the handle anew.
    pub(crate) fn is_gone(self) {
        // SAFETY: the program had the handle until now, and no call uses it any more.
        if unsafe { entry_at(self.address) }.handles.fetch_sub(1, AcqRel) == 1 {
            KNOWN.remove_if(self.kind, self.address);
            // SAFETY: `enter` has made it of a box, and it is in no table any more.
            drop(unsafe { Box::from_raw(self.address as *mut KnownDatatype) });
        }
    }
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

fn enter(kind: Handle, entry: KnownDatatype) -> &'static KnownDatatype {
    let entry: &'static KnownDatatype = Box::leak(Box::new(entry));
    KNOWN.insert(kind, std::ptr::from_ref(entry) as usize);
    entry
}

/// # Safety
/// A value of the table that is no handle, of a datatype that is not being freed meanwhile.
#[inline(always)]
unsafe fn entry_at<'a>(address: usize) -> &'a KnownDatatype {
    // SAFETY: as the caller promises; `enter` has stored it.
    unsafe { &*(address as *const KnownDatatype) }
}

fn entry_of(kind: Handle) -> Option<&'static KnownDatatype> {
    let address = KNOWN.find(kind).filter(|address| *address >= LOWEST_ADDRESS)?;
    // SAFETY: the program uses the datatype, so it is not being freed.
    Some(unsafe { entry_at(address) })
}

/// `None` for one that was not seen before, or that the host has not been asked about.
fn part_of(kind: Handle) -> Option<Part> {
    match KNOWN.find(kind)? {
        own if own < LOWEST_ADDRESS => Some(Part::Predefined(own)),
        // SAFETY: the program uses the datatype, so it is not being freed.
        address => unsafe { entry_at(address) }.part.get().cloned(),
    }
}

fn is_committed(kind: Handle) -> bool {
    entry_of(kind).is_none_or(|entry| entry.is_committed.load(Relaxed))
}

impl KnownDatatype {
    fn new(part: Option<Part>, is_committed: bool, handles: usize) -> Self {
        let ready = part.as_ref().filter(|_| is_committed).and_then(Part::there).unwrap_or(0);
        Self {
            ready: AtomicUsize::new(ready),
            part: part.map_or_else(OnceLock::new, OnceLock::from),
            is_committed: AtomicBool::new(is_committed),
            handles: AtomicUsize::new(handles),
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, kind: Handle) -> Result<Handle, Box<Failure>> {
        if !self.is_committed.load(Relaxed) {
            return Err(Failure::new(ERR_TYPE, "the datatype was not committed"));
        }
        let part = match self.part.get() {
            Some(part) => part,
            None => {
                let others = |other: Handle| if other == kind { None } else { part_of(other) };
                // SAFETY: a datatype that the program has handed over.
                let asked = unsafe { Part::asked(kind, &others) }?;
                self.part.get_or_init(|| asked)
            }
        };
        let own = part.own()?;
        self.ready.store(own, Release);
        Ok(own)
    }
}
