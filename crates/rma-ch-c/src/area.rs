//! Memory in pieces as C sees it: the walk over a body that is sent, and over the place of one that arrives.
//!
//! An area is an allocation of its own, because C keeps its address: it is made here, lent, and freed by the
//! lender.

use crate::abi::Area;
use rma_core::datatype::{Gather, Scatter};
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

/// A walk over pieces.
pub(crate) trait Walk {
    fn left(&self) -> u64;
    fn piece(&self, limit: usize) -> Option<(*mut u8, usize)>;
    fn skip(&mut self, len: usize);
}

impl Walk for Gather {
    fn left(&self) -> u64 {
        self.remaining()
    }

    fn piece(&self, limit: usize) -> Option<(*mut u8, usize)> {
        self.peek(limit).map(|span| (span.as_ptr().cast_mut(), span.len()))
    }

    fn skip(&mut self, len: usize) {
        self.advance(len);
    }
}

impl Walk for Scatter {
    fn left(&self) -> u64 {
        self.remaining()
    }

    fn piece(&self, limit: usize) -> Option<(*mut u8, usize)> {
        self.peek(limit).map(|span| (span.as_mut_ptr(), span.len()))
    }

    fn skip(&mut self, len: usize) {
        self.advance(len);
    }
}

/// What C gets, and behind it the walk.
#[repr(C)]
struct LentArea<W> {
    head: Area,
    walk: W,
}

/// An area that is lent to C until this is dropped.
pub(crate) struct Loan<W>(NonNull<LentArea<W>>);

// SAFETY: the allocation is this value's own, and is used by one thread at a time: under the engine's lock, also by C.
unsafe impl<W: Send> Send for Loan<W> {}

impl<W: Walk> Loan<W> {
    pub(crate) fn new(walk: W) -> Self {
        let head = Area { remaining: remaining::<W>, peek: peek::<W>, advance: advance::<W> };
        Self(NonNull::from(Box::leak(Box::new(LentArea { head, walk }))))
    }

    pub(crate) fn as_ptr(&self) -> *mut Area {
        self.0.as_ptr().cast()
    }

    pub(crate) fn left(&self) -> u64 {
        // SAFETY: the allocation lives as long as this value, and C does not run now.
        unsafe { self.0.as_ref() }.walk.left()
    }
}

impl<W> Drop for Loan<W> {
    fn drop(&mut self) {
        // SAFETY: leaked from a box in `new`, and freed once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

unsafe extern "C" fn remaining<W: Walk>(area: *const Area) -> u64 {
    // SAFETY: C gives back the address that it was lent, of the first field of a `LentArea<W>`.
    unsafe { &*area.cast::<LentArea<W>>() }.walk.left()
}

unsafe extern "C" fn peek<W: Walk>(area: *const Area, limit: usize, len: *mut usize) -> *mut c_void {
    // SAFETY: as in `remaining`.
    let (start, piece) =
        unsafe { &*area.cast::<LentArea<W>>() }.walk.piece(limit).unwrap_or((std::ptr::null_mut(), 0));
    if !len.is_null() {
        // SAFETY: not null, and C's promise that it is a place for a length.
        unsafe { len.write(piece) };
    }
    start.cast()
}

unsafe extern "C" fn advance<W: Walk>(area: *mut Area, len: usize) {
    // SAFETY: as in `remaining`; nothing else uses the walk meanwhile.
    let walk = &mut unsafe { &mut *area.cast::<LentArea<W>>() }.walk;
    let left = usize::try_from(walk.left()).unwrap_or(usize::MAX);
    walk.skip(len.min(left));
}

impl<W> fmt::Debug for Loan<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loan")
    }
}
