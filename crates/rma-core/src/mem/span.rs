//! Spans: raw memory with a length, and the checked copies in and out of it.
//!
//! Knows nothing of windows, layouts or packets.

use super::combine::FoldLoop;
use super::copy::{copy_at_once, copy_block_at_once, copy_bytes, copy_in_line};
use std::fmt;
use std::marker::PhantomData;

/// Memory that may be read, and that others may write at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ReadSpan {
    start: *const u8,
    len: usize,
}

/// Bytes that are lent for a time, as a span of others is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent<'a> {
    span: ReadSpan,
    lender: PhantomData<&'a [u8]>,
}

/// Memory that may be written (and read), and that others may access at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WriteSpan {
    start: *mut u8,
    len: usize,
}

/// What processors do with many words at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Sums; of integers in two's complement, whatever their sign.
    Add(LaneType),
    /// Products, likewise.
    Multiply(LaneType),
    /// Of two numbers the lesser. As everywhere a number wins over a NaN, of two NaN the one that was there, and -0 is below +0.
    Minimum(LaneType),
    /// Of two numbers the greater, likewise.
    Maximum(LaneType),
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// How this processor carries out a [`Fold`].
#[derive(Clone, Copy, Debug)]
pub struct Folding(FoldLoop);

impl Fold {
    /// How this processor carries it out; `None` if it does not.
    #[inline(always)] // into callers that know the fold
    pub(crate) fn here(self) -> Option<Folding> {
        FoldLoop::here(self).map(Folding)
    }
}

/// The numbers that words hold, where a [`Fold`] depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneType {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

// SAFETY: a span is an address and a length; the constructor's caller promised that the memory may be accessed from any
// thread for as long as a copy of the span is used.
unsafe impl Send for ReadSpan {}
// SAFETY: as for `Send`; all access is by relaxed atomics or inline assembly, so sharing it races without being undefined.
unsafe impl Sync for ReadSpan {}
// SAFETY: as for `ReadSpan`.
unsafe impl Send for WriteSpan {}
// SAFETY: as for `ReadSpan`.
unsafe impl Sync for WriteSpan {}

impl<'a> From<&'a [u8]> for Lent<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        // SAFETY: the bytes are readable, and nothing writes them, for as long as the reference, which this outlives not.
        Self::from(unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) })
    }
}

impl From<ReadSpan> for Lent<'_> {
    #[inline]
    fn from(span: ReadSpan) -> Self {
        Self { span, lender: PhantomData }
    }
}

impl Lent<'_> {
    /// The bytes, as long as they are lent.
    #[inline]
    pub(crate) fn span(&self) -> ReadSpan {
        self.span
    }

    /// The first `len` bytes, and the rest.
    ///
    /// # Panics
    /// When there are fewer.
    #[inline]
    pub(crate) fn split_at(self, len: usize) -> (Self, Self) {
        let (front, rest) = (self.span.part(0, len), self.span.part(len, self.span.len - len));
        (Self::from(front), Self::from(rest))
    }
}

impl ReadSpan {
    /// A span of no bytes.
    pub const EMPTY: Self = Self { start: std::ptr::null(), len: 0 };

    /// Names `len` bytes from `start` as readable.
    ///
    /// # Safety
    /// The bytes must stay mapped and readable for as long as this span, a copy or a part of it is used. They may be
    /// written by others at any time, but no Rust `&mut` reference to them may be used meanwhile.
    #[inline]
    pub const unsafe fn new(start: *const u8, len: usize) -> Self {
        Self { start, len }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the span has no bytes.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Address of the first byte, for system calls that take raw memory.
    #[inline]
    pub fn as_ptr(self) -> *const u8 {
        self.start
    }

    /// The part `offset .. offset + len`.
    ///
    /// # Panics
    /// When the part does not lie within the span.
    #[inline]
    #[must_use]
    pub fn part(self, offset: usize, len: usize) -> Self {
        check_part(offset, len, self.len);
        Self { start: self.start.wrapping_add(offset), len }
    }

    /// Copies the first `into.len()` bytes out.
    ///
    /// # Panics
    /// When the span is shorter than `into`.
    #[inline]
    pub fn read(self, into: &mut [u8]) {
        check_part(0, into.len(), self.len);
        // SAFETY: the source has at least `into.len()` readable bytes by the constructor's promise and the check above;
        // the destination is an exclusive slice, so the two cannot overlap.
        unsafe { copy_bytes(into.as_mut_ptr(), self.start, into.len()) }
    }
}

impl WriteSpan {
    /// A span of no bytes.
    pub const EMPTY: Self = Self { start: std::ptr::null_mut(), len: 0 };

    /// Names `len` bytes from `start` as writable.
    ///
    /// # Safety
    /// The bytes must stay mapped, readable and writable for as long as this span, a copy or a part of it is used. They
    /// may be accessed by others at any time, but no Rust reference to them may be used meanwhile.
    #[inline]
    pub const unsafe fn new(start: *mut u8, len: usize) -> Self {
        Self { start, len }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the span has no bytes.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Address of the first byte, for system calls that take raw memory.
    #[inline]
    pub fn as_mut_ptr(self) -> *mut u8 {
        self.start
    }

    /// The same bytes for reading.
    #[inline]
    pub fn as_read(self) -> ReadSpan {
        ReadSpan { start: self.start, len: self.len }
    }

    /// The part `offset .. offset + len`.
    ///
    /// # Panics
    /// When the part does not lie within the span.
    #[inline]
    #[must_use]
    pub fn part(self, offset: usize, len: usize) -> Self {
        check_part(offset, len, self.len);
        Self { start: self.start.wrapping_add(offset), len }
    }

    /// The part `offset .. offset + len`, if it lies within the span.
    #[inline(always)] // two comparisons in calls of which each instruction counts
    #[must_use]
    pub(crate) fn part_within(self, offset: usize, len: usize) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (end <= self.len).then(|| Self { start: self.start.wrapping_add(offset), len })
    }

    /// This span and one that begins where it ends, as one span.
    #[must_use]
    pub fn join(self, next: Self) -> Option<Self> {
        // Both are to be reached through the result, so it gets its address from what both have exposed.
        let (start, follower) = (self.start.expose_provenance(), next.start.expose_provenance());
        let start_ptr = std::ptr::with_exposed_provenance_mut(start);
        (start.checked_add(self.len) == Some(follower))
            .then(|| Self { start: start_ptr, len: self.len + next.len })
    }

    /// Copies all of `from` to the start of the span.
    ///
    /// # Panics
    /// When the span is shorter than `from`.
    #[inline]
    pub fn write(self, from: &[u8]) {
        check_part(0, from.len(), self.len);
        // SAFETY: the destination has at least `from.len()` writable bytes by the constructor's promise and the check
        // above; no reference to them is in use, so they cannot overlap the slice.
        unsafe { copy_bytes(self.start, from.as_ptr(), from.len()) }
    }

    /// Copies all of `from` to the start of the span; the two may overlap.
    ///
    /// # Panics
    /// When the span is shorter than `from`.
    #[inline]
    pub fn write_from(self, from: ReadSpan) {
        check_part(0, from.len, self.len);
        // SAFETY: both sides are long enough by the constructors' promises and the check above; `copy_bytes` allows
        // overlap.
        unsafe { copy_bytes(self.start, from.start, from.len) }
    }

    /// [`WriteSpan::write_from`], in line where it is short.
    ///
    /// # Panics
    /// As [`WriteSpan::write_from`].
    #[inline(always)]
    pub(crate) fn write_in_line(self, from: ReadSpan) {
        check_part(0, from.len, self.len);
        // SAFETY: as for `write_from`.
        unsafe { copy_in_line(self.start, from.start, from.len) }
    }

    /// [`WriteSpan::write_from`], if it is one store of the processor; says whether it was, and stores nothing otherwise.
    ///
    /// # Panics
    /// As [`WriteSpan::write_from`].
    #[inline(always)]
    pub(crate) fn write_at_once(self, from: ReadSpan) -> bool {
        check_part(0, from.len, self.len);
        // SAFETY: as for `write_from`.
        unsafe { copy_at_once(self.start, from.start, from.len) }
    }

    /// [`WriteSpan::write_at_once`] for what is no word.
    ///
    /// # Panics
    /// As [`WriteSpan::write_from`].
    #[inline(always)]
    pub(crate) fn write_block_at_once(self, from: ReadSpan) -> bool {
        check_part(0, from.len, self.len);
        // SAFETY: as for `write_from`.
        unsafe { copy_block_at_once(self.start, from.start, from.len) }
    }

    /// Combines the words from the start of the span with those of `operand`, as far as the processor does many at once, and
    /// stores in `before` what they were; answers for how many bytes it has. The words, which are whole and aligned, are not changed in atomic steps.
    ///
    /// # Panics
    /// When the span or `before` is shorter than `operand`.
    #[inline(always)] // into callers that know the loop
    pub(crate) fn combine(self, Folding(with): Folding, operand: ReadSpan, before: Option<Self>) -> usize {
        check_part(0, operand.len, self.len);
        let before = before.map_or(std::ptr::null_mut(), |before| {
            check_part(0, operand.len, before.len);
            before.start
        });
        // SAFETY: all sides are long enough by the constructors' promises and the checks above.
        unsafe { with.run(self.start, operand.start, before, operand.len) }
    }

    /// [`WriteSpan::combine`] with operands in private memory.
    ///
    /// # Panics
    /// As [`WriteSpan::combine`].
    pub(crate) fn combine_with(self, folding: Folding, operand: &[u8], before: Option<Self>) -> usize {
        // SAFETY: the bytes are borrowed until the call is over, which only reads them.
        self.combine(folding, unsafe { ReadSpan::new(operand.as_ptr(), operand.len()) }, before)
    }

    /// Sets every byte to zero.
    pub fn clear(self) {
        const ZEROS: [u8; 256] = [0; 256];
        let mut offset = 0;
        while offset < self.len {
            let step = ZEROS.len().min(self.len - offset);
            self.part(offset, step).write(&ZEROS[..step]);
            offset += step;
        }
    }
}

#[inline]
fn check_part(offset: usize, len: usize, limit: usize) {
    if offset > limit || len > limit - offset {
        outside(offset, len, limit);
    }
}

#[cold]
fn outside(offset: usize, len: usize, limit: usize) -> ! {
    panic!("bytes {offset}..+{len} do not lie within a span of {limit}");
}

impl fmt::Debug for ReadSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadSpan {:p}+{}", self.start, self.len)
    }
}

impl fmt::Debug for WriteSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteSpan {:p}+{}", self.start, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_checked() {
        let mut bytes = [0u8; 8];
        // SAFETY: `bytes` outlives the span and is not used through a reference meanwhile.
        let span = unsafe { WriteSpan::new(bytes.as_mut_ptr(), 8) };
        span.part(2, 3).write(&[1, 2, 3]);
        let mut out = [9u8; 8];
        span.as_read().read(&mut out);
        assert_eq!(out, [0, 0, 1, 2, 3, 0, 0, 0]);
        span.clear();
        span.as_read().read(&mut out);
        assert_eq!(out, [0; 8]);
        for (offset, len) in [(0, 9), (9, 0), (8, 1), (usize::MAX, 2), (2, usize::MAX)] {
            assert!(std::panic::catch_unwind(|| span.part(offset, len)).is_err(), "{offset}+{len}");
            assert!(span.part_within(offset, len).is_none(), "{offset}+{len}");
        }
        assert!(span.part(8, 0).is_empty() && span.part_within(2, 6).is_some_and(|part| part.len() == 6));
    }
}
