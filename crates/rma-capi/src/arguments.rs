//! Arguments as C passes them: pointers that are null or good for what the standard says of the argument.
//!
//! The types here have no constructor: values come only from C callers, through the parameters of entry
//! points. Calling one is `unsafe`, and its contract is the standard's: a pointer argument that is not null
//! points to as many elements as the call's description says, which nothing else changes during the call.
//! That contract is what the `unsafe` blocks of this file rest on; a null pointer is found out and named.

use crate::abi::MPI_IN_PLACE;
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::{Datatype, Gather, Layout, Scatter};
use rma_core::mem::{ReadSpan, WriteSpan};
use std::ffi::{CStr, c_char, c_int, c_void};

/// A pointer to one or many values that the call reads.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

/// A pointer to one or many values that the call writes, and may read first.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

// SAFETY: a number until it is followed, and what it is followed to is any thread's that MPI lets call.
unsafe impl<T: Send> Send for Out<T> {}

/// A zero-terminated text.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

/// Room for a zero-terminated text, whose size the standard fixes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct TextOut(*mut c_char);

/// No program has memory below this address.
const FIRST_PAGE: i64 = 4096;

/// Memory that operations read from or write to; never followed here.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Memory(*mut c_void);

// SAFETY: a number here: only those parts of the library that read or write there follow it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// A word of the program that the library keeps and hands back, and never looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Opaque(usize);

impl<T: Copy> In<T> {
    #[inline]
    pub(crate) fn one(self, name: &str) -> Result<T> {
        match self.0.is_null() {
            // SAFETY: not null, so it points to a value (module contract).
            false => Ok(unsafe { self.0.read_unaligned() }),
            true => Err(null(name)),
        }
    }

    /// The first `count` values; the pointer may be null when there are none.
    pub(crate) fn many(self, name: &str, count: usize) -> Result<Vec<T>> {
        self.each(name, count).map(Iterator::collect)
    }

    /// As [`In::many`], one after the other.
    pub(crate) fn each(self, name: &str, count: usize) -> Result<impl Iterator<Item = T>> {
        if count > 0 && self.0.is_null() {
            return Err(null(name));
        }
        // SAFETY: not null, so it points to `count` values (module contract).
        Ok((0..count).map(move |i| unsafe { self.0.add(i).read_unaligned() }))
    }
}

impl<T: Copy> Out<T> {
    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The place in an array of values; null when the array is.
    #[inline]
    pub(crate) fn at(self, place: usize) -> Self {
        if self.0.is_null() { self } else { Self(self.0.wrapping_add(place)) }
    }

    /// The value there is now; `None` when there is no place for one.
    #[inline(always)]
    pub(crate) fn value(self) -> Option<T> {
        // SAFETY: as in `In::one`.
        if self.0.is_null() { None } else { Some(unsafe { self.0.read_unaligned() }) }
    }

    /// The values there are now.
    #[inline]
    pub(crate) fn current(self) -> In<T> {
        In(self.0)
    }

    #[inline]
    pub(crate) fn set(self, name: &str, value: T) -> Result<()> {
        match self.0.is_null() {
            false => {
                // SAFETY: not null, so it points to room for a value (module contract).
                unsafe { self.0.write_unaligned(value) };
                Ok(())
            }
            true => Err(null(name)),
        }
    }

    /// Sets the value at a place of an array.
    #[inline]
    pub(crate) fn set_at(self, name: &str, place: usize, value: T) -> Result<()> {
        match self.0.is_null() {
            false => {
                // SAFETY: not null, so it points to an array that has this place (module contract).
                unsafe { self.0.add(place).write_unaligned(value) };
                Ok(())
            }
            true => Err(null(name)),
        }
    }

    pub(crate) fn set_all(self, name: &str, values: &[T]) -> Result<()> {
        values.iter().enumerate().try_for_each(|(place, value)| self.set_at(name, place, *value))
    }

    /// Checks that a value can be set, for calls that must not fail after they have done something.
    #[inline]
    pub(crate) fn check(self, name: &str) -> Result<()> {
        if self.0.is_null() { Err(null(name)) } else { Ok(()) }
    }
}

impl Text {
    /// A text at an address that the call has been given.
    pub(crate) fn at(memory: Memory) -> Self {
        Self(memory.0.cast_const().cast())
    }

    /// The text, with what is not UTF-8 replaced; at most `limit` bytes of it.
    pub(crate) fn get(self, name: &str, limit: usize, class: ErrorClass) -> Result<String> {
        self.bytes(name, limit, class).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text as it is, at most `limit` bytes of it; a null pointer is of the same class as too long a text.
    pub(crate) fn bytes(self, name: &str, limit: usize, class: ErrorClass) -> Result<Vec<u8>> {
        let bytes = self.whole(name, class)?;
        if bytes.len() > limit {
            let cause = format!("{name} has {} bytes, more than {limit}", bytes.len());
            return Err(Error::new(class, "", cause));
        }
        Ok(bytes)
    }

    /// The first `limit` bytes of the text, or all.
    pub(crate) fn start(self, name: &str, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = self.whole(name, ErrorClass::Arg)?;
        bytes.truncate(limit);
        Ok(bytes)
    }

    fn whole(self, name: &str, class: ErrorClass) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Error::new(class, "", format!("{name} is a null pointer")));
        }
        // SAFETY: not null, so it is zero-terminated (module contract).
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes().to_vec())
    }
}

impl TextOut {
    /// Room at an address that the call has been given.
    pub(crate) fn at(memory: Memory) -> Self {
        Self(memory.0.cast())
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Stores the text and its end, cut to fit into `room` bytes, end included. Answers the length without the end.
    pub(crate) fn set(self, name: &str, text: &str, room: usize) -> Result<c_int> {
        let mut end = text.len().min(room.saturating_sub(1));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.set_bytes(name, &text.as_bytes()[..end], room)
    }

    /// As [`TextOut::set`], for a text in whatever code.
    pub(crate) fn set_bytes(self, name: &str, text: &[u8], room: usize) -> Result<c_int> {
        if self.0.is_null() {
            return Err(null(name));
        }
        let bytes = &text[..text.len().min(room.saturating_sub(1))];
        if room > 0 {
            // SAFETY: not null, so there is room for as many bytes as the standard says, which the caller gives as `room`
            // (module contract); the text and its end are no longer than that.
            unsafe {
                self.0.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                self.0.add(bytes.len()).write(0);
            }
        }
        Ok(bytes.len() as c_int)
    }
}

impl Memory {
    #[inline]
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// No memory.
    pub(crate) const NULL: Self = Self(std::ptr::null_mut());

    /// The address, for calls of the engine whose contract is that of this type.
    #[inline]
    pub(crate) fn as_ptr(self) -> *const u8 {
        self.0.cast()
    }

    /// As [`Memory::as_ptr`], for memory that is written.
    #[inline]
    pub(crate) fn as_mut_ptr(self) -> *mut u8 {
        self.0.cast()
    }

    /// Checks that there is an address.
    #[inline]
    pub(crate) fn check(self, name: &str) -> Result<()> {
        if self.is_no_place() { Err(self.no_place(name)) } else { Ok(()) }
    }

    /// Checks that there is an address, or a type that names some.
    pub(crate) fn check_elements(self, name: &str, count: u64, datatype: &Datatype) -> Result<()> {
        match self.is_no_place()
            && count > 0
            && datatype.size() > 0
            && datatype.true_lower_bound() < FIRST_PAGE
        {
            true => Err(self.no_place(name)),
            false => Ok(()),
        }
    }

    /// Whether it is one of the standard's numbers for addresses: `MPI_BOTTOM`, which is 0, or `MPI_IN_PLACE`, which is 1.
    #[inline(always)]
    pub(crate) fn is_no_place(self) -> bool {
        const { assert!(MPI_IN_PLACE == 1, "one comparison finds both") };
        self.address() <= MPI_IN_PLACE
    }

    #[cold]
    fn no_place(self, name: &str) -> Error {
        match self.0.is_null() {
            true => bottom(name),
            false => {
                let cause = format!("{name} is MPI_IN_PLACE, which this argument of this rank cannot be");
                Error::new(ErrorClass::Buffer, "", cause)
            }
        }
    }

    /// A value there, for the call to read.
    pub(crate) fn value<T>(self) -> In<T> {
        In(self.0.cast())
    }

    /// Room there for a value, for the call to write.
    pub(crate) fn place<T>(self) -> Out<T> {
        Out(self.0.cast())
    }

    /// The memory so many bytes further on.
    pub(crate) fn offset(self, bytes: i64) -> Self {
        Self(self.0.wrapping_byte_offset(bytes as isize))
    }

    /// The first `len` bytes, for the library to read until the operation is complete at the origin.
    #[inline]
    pub(crate) fn readable(self, name: &str, len: u64) -> Result<ReadSpan> {
        self.readable_at_all(len).ok_or_else(|| self.no_place(name))
    }

    /// As [`Memory::readable`]; `None` for an address that is none, to some bytes.
    #[inline(always)]
    pub(crate) fn readable_at_all(self, len: u64) -> Option<ReadSpan> {
        // SAFETY: the memory is good for `len` bytes until the operation is complete (module contract).
        (!self.is_no_place() || len == 0).then(|| unsafe { ReadSpan::new(self.0.cast(), len as usize) })
    }

    /// As [`Memory::readable_at_all`], and `None` for an address that is none whatever the length: one look for fast paths.
    #[inline(always)]
    pub(crate) fn readable_place(self, len: u64) -> Option<ReadSpan> {
        // SAFETY: as for `readable_at_all`.
        (!self.is_no_place()).then(|| unsafe { ReadSpan::new(self.0.cast(), len as usize) })
    }

    /// As [`Memory::writable_at_all`], likewise.
    #[inline(always)]
    pub(crate) fn writable_place(self, len: u64) -> Option<WriteSpan> {
        // SAFETY: as for `readable_at_all`.
        (!self.is_no_place()).then(|| unsafe { WriteSpan::new(self.0.cast(), len as usize) })
    }

    /// The first `len` bytes, for the library to write until the operation is complete at the origin.
    #[inline]
    pub(crate) fn writable(self, name: &str, len: u64) -> Result<WriteSpan> {
        self.writable_at_all(len).ok_or_else(|| self.no_place(name))
    }

    /// The first `len` bytes, for a window to expose: an argument of its own, without a datatype that could have addresses (MPI 5.0
    /// §12.6.2 names the class).
    pub(crate) fn exposed(self, name: &str, len: u64) -> Result<WriteSpan> {
        self.writable_at_all(len).ok_or_else(|| {
            let what = if self.0.is_null() { "a null pointer (MPI_BOTTOM)" } else { "MPI_IN_PLACE" };
            let cause = format!("{name} is {what}, where no memory is, but size is {len}");
            Error::new(ErrorClass::Base, "", cause)
        })
    }

    /// As [`Memory::writable`]; `None` for an address that is none, to some bytes.
    #[inline(always)]
    pub(crate) fn writable_at_all(self, len: u64) -> Option<WriteSpan> {
        // SAFETY: as for `readable_at_all`.
        (!self.is_no_place() || len == 0).then(|| unsafe { WriteSpan::new(self.0.cast(), len as usize) })
    }

    /// `count` elements of a datatype, for the library to read until the operation is complete at the origin. The address
    /// may be `MPI_BOTTOM` when the type has the addresses.
    pub(crate) fn gather(self, name: &str, count: u64, datatype: &Datatype) -> Result<Gather> {
        if let Some(len) = datatype.dense_len(count) {
            return self.readable(name, len).map(Gather::span);
        }
        let layout = datatype.layout(count)?;
        self.check_bottom(name, &layout)?;
        // SAFETY: the bytes that the type names are good until the operation is complete (module contract).
        Ok(unsafe { Gather::new(self.0.cast(), layout) })
    }

    /// As [`Memory::gather`], for the library to write.
    pub(crate) fn scatter(self, name: &str, count: u64, datatype: &Datatype) -> Result<Scatter> {
        if let Some(len) = datatype.dense_len(count) {
            return self.writable(name, len).map(Scatter::span);
        }
        let layout = datatype.layout(count)?;
        self.check_bottom(name, &layout)?;
        // SAFETY: as for `gather`.
        Ok(unsafe { Scatter::new(self.0.cast(), layout) })
    }

    fn check_bottom(self, name: &str, layout: &Layout) -> Result<()> {
        if self.is_no_place() && layout.size() > 0 && layout.bounds().0 < FIRST_PAGE {
            return Err(self.no_place(name));
        }
        Ok(())
    }
}

/// The integers that arguments are: `int`, `MPI_Aint`, `MPI_Count`.
pub(crate) trait Wide: Copy {
    /// Whether the type has 64 bits.
    const IS_WIDE: bool = true;

    /// The value in the form that the library has it in.
    fn wide(self) -> i64;

    /// The value as this type, if it fits.
    fn narrow(value: i64) -> Option<Self>;
}

impl Wide for c_int {
    const IS_WIDE: bool = false;

    #[inline]
    fn wide(self) -> i64 {
        self.into()
    }

    #[inline]
    fn narrow(value: i64) -> Option<Self> {
        Self::try_from(value).ok()
    }
}

impl Wide for i64 {
    #[inline]
    fn wide(self) -> i64 {
        self
    }

    #[inline]
    fn narrow(value: i64) -> Option<Self> {
        Some(value)
    }
}

impl Wide for isize {
    #[inline]
    fn wide(self) -> i64 {
        self as i64
    }

    #[inline]
    fn narrow(value: i64) -> Option<Self> {
        Self::try_from(value).ok()
    }
}

impl Opaque {
    pub(crate) const NULL: Self = Self(0);

    pub(crate) fn of(bits: usize) -> Self {
        Self(bits)
    }

    /// The address of a value of the library, for the program to read.
    pub(crate) fn address_of<T: Sync>(value: &'static T) -> Self {
        Self((&raw const *value).expose_provenance())
    }

    #[cfg(test)]
    pub(crate) fn bits(self) -> usize {
        self.0
    }
}

/// A count as the library has it: 64 bits, not negative.
#[inline]
pub(crate) fn count(name: &str, value: impl Wide) -> Result<u64> {
    let value = value.wide();
    u64::try_from(value).map_err(|_| negative(ErrorClass::Count, name, value))
}

/// A size in bytes: not negative.
pub(crate) fn size(name: &str, value: isize) -> Result<u64> {
    u64::try_from(value).map_err(|_| negative(ErrorClass::Size, name, value as i64))
}

/// An array's length: not negative.
pub(crate) fn len(name: &str, value: impl Wide) -> Result<usize> {
    usize::try_from(value.wide()).map_err(|_| negative(ErrorClass::Count, name, value.wide()))
}

#[cold]
pub(crate) fn negative(class: ErrorClass, name: &str, value: i64) -> Error {
    Error::new(class, "", format!("{name} is {value}, but must not be negative"))
}

#[cold]
fn bottom(name: &str) -> Error {
    let cause = format!("{name} is a null pointer, which is MPI_BOTTOM, but the datatype names no addresses");
    Error::new(ErrorClass::Buffer, "", cause)
}

#[cold]
fn null(name: &str) -> Error {
    Error::new(ErrorClass::Arg, "", format!("{name} is a null pointer"))
}
