//! Element atomics: naturally aligned words of window memory, read and changed in one step.
//!
//! An [`Element`] is a word of 1, 2, 4 or 8 bytes at an address that its span promises. What hardware can do in one
//! instruction is one instruction here; the rest is a compare-and-swap loop. An element that is not naturally aligned has
//! no such step, so [`WriteSpan::element`] answers `None` and the caller excludes others by a guard instead.
//!
//! All orderings are relaxed. The standard promises each element's update to be one step, and the order of one origin's
//! accumulates to one location, which is coherence; when other memory becomes visible is decided by synchronization calls
//! alone (MPI 3.1 §11.7), and those carry the acquire and release orderings of locks, counters and packets. An ordering
//! here would be paid by every element and used by none.
//!
//! Knows bits, not numbers: what an operation computes is decided in `kernel`.

use super::span::{ReadSpan, WriteSpan};
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// An unsigned integer as wide as an element: `u8`, `u16`, `u32` or `u64`.
pub trait Word: Copy + Eq + Default + fmt::Debug + Send + Sync + 'static + sealed::AtomicWord {
    /// Size in bytes, which is also the natural alignment.
    const SIZE: usize;

    /// The word whose bytes in memory start `bytes`.
    ///
    /// # Panics
    /// When there are fewer bytes than the word has.
    fn from_bytes(bytes: &[u8]) -> Self;

    /// Stores the word's bytes at the start of `bytes`.
    ///
    /// # Panics
    /// When there is less room than the word has bytes.
    fn to_bytes(self, bytes: &mut [u8]);
}

/// A naturally aligned word inside a [`WriteSpan`]; as long-lived as the span.
#[derive(Clone, Copy)]
pub struct Element<W> {
    at: *mut W,
}

/// Consecutive naturally aligned words that fill a [`WriteSpan`].
#[derive(Clone, Copy)]
pub struct Elements<W> {
    first: *mut W,
    len: usize,
}

/// Naturally aligned words at equal distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementsApart<W> {
    first: *mut W,
    /// Bytes from each to the next.
    stride: isize,
    len: usize,
}

// SAFETY: an element is a part of a `WriteSpan`, whose maker promised that any thread may access the memory; all access
// is atomic.
unsafe impl<W: Word> Send for Element<W> {}
// SAFETY: as for `Send`.
unsafe impl<W: Word> Sync for Element<W> {}
// SAFETY: as for `Element`.
unsafe impl<W: Word> Send for Elements<W> {}
// SAFETY: as for `Element`.
unsafe impl<W: Word> Sync for Elements<W> {}

impl WriteSpan {
    /// The element at byte `offset`; `None` when it is not naturally aligned.
    ///
    /// # Panics
    /// When the element does not lie within the span.
    #[inline]
    pub fn element<W: Word>(self, offset: usize) -> Option<Element<W>> {
        let at = self.part(offset, W::SIZE).as_mut_ptr().cast::<W>();
        is_aligned(at).then_some(Element { at })
    }

    /// The span as consecutive elements; `None` when they are not naturally aligned. Bytes after the last whole element
    /// are not part of any.
    #[inline]
    pub fn elements<W: Word>(self) -> Option<Elements<W>> {
        let first = self.as_mut_ptr().cast::<W>();
        is_aligned(first).then_some(Elements { first, len: self.len() / W::SIZE })
    }

    /// Stores a word at byte `offset`, at any alignment; one step only where it is naturally aligned.
    ///
    /// # Panics
    /// When the word does not lie within the span.
    #[inline]
    pub fn set_word<W: Word>(self, offset: usize, word: W) {
        if let Some(element) = self.element::<W>(offset) {
            return element.store(word);
        }
        self.set_word_unaligned(offset, word);
    }

    #[cold]
    fn set_word_unaligned<W: Word>(self, offset: usize, word: W) {
        let mut bytes = [0; size_of::<u64>()];
        word.to_bytes(&mut bytes);
        self.part(offset, W::SIZE).write(&bytes[..W::SIZE]);
    }
}

impl ReadSpan {
    /// The word at byte `offset`, at any alignment; one step only where it is naturally aligned.
    ///
    /// # Panics
    /// When the word does not lie within the span.
    #[inline]
    pub fn word<W: Word>(self, offset: usize) -> W {
        let part = self.part(offset, W::SIZE);
        let at = part.as_ptr().cast::<W>();
        if is_aligned(at) {
            // SAFETY: the part has the word's size, the span's maker promised that it is readable, and it is aligned.
            return W::load(unsafe { &*at.cast::<W::Atomic>() });
        }
        part.word_unaligned()
    }

    /// The words that the span is, in order, each in one step; `None` when they are not naturally aligned. Bytes after the last
    /// whole word are not part of any.
    #[inline]
    pub(crate) fn words<W: Word>(self) -> Option<impl ExactSizeIterator<Item = W>> {
        let first = self.as_ptr().cast::<W::Atomic>();
        // SAFETY: the words lie within the span, whose maker promised that it is readable, and are aligned.
        let load = move |index| W::load(unsafe { &*first.wrapping_add(index) });
        is_aligned(self.as_ptr().cast::<W>()).then(|| (0..self.len() / W::SIZE).map(load))
    }

    #[cold]
    fn word_unaligned<W: Word>(self) -> W {
        let mut bytes = [0; size_of::<u64>()];
        self.read(&mut bytes[..W::SIZE]);
        W::from_bytes(&bytes)
    }
}

impl<W: Word> Elements<W> {
    /// Number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The elements in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Element<W>> {
        (0..self.len).map(move |index| Element { at: self.first.wrapping_add(index) })
    }
}

impl<W: Word> ElementsApart<W> {
    /// `None` when they are not naturally aligned.
    ///
    /// # Safety
    /// Each of the `len` words must be what [`WriteSpan::new`] asks of the bytes of a span.
    #[inline]
    pub(crate) unsafe fn new(start: *mut u8, stride: isize, len: usize) -> Option<Self> {
        let first = start.cast::<W>();
        let is_right = is_aligned(first) && (len < 2 || stride % W::SIZE as isize == 0);
        is_right.then_some(Self { first, stride, len })
    }

    /// The elements in order.
    #[inline]
    pub(crate) fn iter(self) -> impl ExactSizeIterator<Item = Element<W>> {
        let mut next = self.first;
        (0..self.len).map(move |_| {
            let element = Element { at: next };
            next = next.wrapping_byte_offset(self.stride);
            element
        })
    }
}

impl<W: Word> Element<W> {
    /// Its bytes.
    #[inline]
    pub fn span(self) -> WriteSpan {
        // SAFETY: the element is a part of a span, whose maker's promise is for its parts too.
        unsafe { WriteSpan::new(self.at.cast(), W::SIZE) }
    }

    /// The value.
    #[inline]
    pub fn load(self) -> W {
        W::load(self.atomic())
    }

    /// Stores a value.
    #[inline]
    pub fn store(self, value: W) {
        W::store(self.atomic(), value);
    }

    /// Stores a value; answers the one before.
    #[inline]
    pub fn swap(self, value: W) -> W {
        W::swap(self.atomic(), value)
    }

    /// Stores `new` if the value is `current`; answers the value before, as `Ok` if it was stored.
    ///
    /// # Errors
    /// The value found, when it is another.
    #[inline]
    pub fn compare_exchange(self, current: W, new: W) -> Result<W, W> {
        W::compare_exchange(self.atomic(), current, new)
    }

    /// Adds, wrapping; answers the value before.
    #[inline]
    pub fn fetch_add(self, operand: W) -> W {
        W::fetch_add(self.atomic(), operand)
    }

    /// Bitwise "and"; answers the value before.
    #[inline]
    pub fn fetch_and(self, operand: W) -> W {
        W::fetch_and(self.atomic(), operand)
    }

    /// Bitwise "or"; answers the value before.
    #[inline]
    pub fn fetch_or(self, operand: W) -> W {
        W::fetch_or(self.atomic(), operand)
    }

    /// Bitwise exclusive "or"; answers the value before.
    #[inline]
    pub fn fetch_xor(self, operand: W) -> W {
        W::fetch_xor(self.atomic(), operand)
    }

    /// Replaces the value by what `update` makes of it, and answers the value before. `None` leaves the value as it was
    /// found, which then took one atomic load.
    #[inline]
    pub fn fetch_update(self, mut update: impl FnMut(W) -> Option<W>) -> W {
        let mut current = self.load();
        while let Some(new) = update(current) {
            match W::compare_exchange_weak(self.atomic(), current, new) {
                Ok(before) => return before,
                Err(found) => current = found,
            }
        }
        current
    }

    #[inline]
    fn atomic(&self) -> &W::Atomic {
        // SAFETY: the constructors have checked that the word lies in a span and is aligned; the span's maker promised
        // that it may be accessed for as long as parts of the span are used, and that no reference to plain memory is
        // formed over it. An atomic has the size and, as the word is naturally aligned, the alignment of its word.
        unsafe { &*self.at.cast::<W::Atomic>() }
    }
}

impl<W> fmt::Debug for Element<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Element {:p}+{}", self.at, size_of::<W>())
    }
}

impl<W> fmt::Debug for Elements<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elements {:p}+{}*{}", self.first, self.len, size_of::<W>())
    }
}

/// Natural alignment: a multiple of the size, also on targets that align 8-byte integers to 4.
#[inline]
fn is_aligned<W>(at: *const W) -> bool {
    at.addr().is_multiple_of(size_of::<W>())
}

mod sealed {
    /// The atomic of a word; keeps [`super::Word`] to the four widths that every supported processor has.
    pub trait AtomicWord: Sized {
        type Atomic;
        fn load(atomic: &Self::Atomic) -> Self;
        fn store(atomic: &Self::Atomic, value: Self);
        fn swap(atomic: &Self::Atomic, value: Self) -> Self;
        fn compare_exchange(atomic: &Self::Atomic, current: Self, new: Self) -> Result<Self, Self>;
        fn compare_exchange_weak(atomic: &Self::Atomic, current: Self, new: Self) -> Result<Self, Self>;
        fn fetch_add(atomic: &Self::Atomic, operand: Self) -> Self;
        fn fetch_and(atomic: &Self::Atomic, operand: Self) -> Self;
        fn fetch_or(atomic: &Self::Atomic, operand: Self) -> Self;
        fn fetch_xor(atomic: &Self::Atomic, operand: Self) -> Self;
    }
}

macro_rules! words {
    ($($word:ty, $atomic:ty;)*) => {$(
        impl Word for $word {
            const SIZE: usize = size_of::<$word>();

            #[inline]
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; Self::SIZE];
                own.copy_from_slice(&bytes[..Self::SIZE]);
                Self::from_ne_bytes(own)
            }

            #[inline]
            fn to_bytes(self, bytes: &mut [u8]) {
                bytes[..Self::SIZE].copy_from_slice(&self.to_ne_bytes());
            }
        }

        impl sealed::AtomicWord for $word {
            type Atomic = $atomic;

            #[inline]
            fn load(atomic: &$atomic) -> Self {
                atomic.load(Relaxed)
            }

            #[inline]
            fn store(atomic: &$atomic, value: Self) {
                atomic.store(value, Relaxed);
            }

            #[inline]
            fn swap(atomic: &$atomic, value: Self) -> Self {
                atomic.swap(value, Relaxed)
            }

            #[inline]
            fn compare_exchange(atomic: &$atomic, current: Self, new: Self) -> Result<Self, Self> {
                atomic.compare_exchange(current, new, Relaxed, Relaxed)
            }

            #[inline]
            fn compare_exchange_weak(atomic: &$atomic, current: Self, new: Self) -> Result<Self, Self> {
                atomic.compare_exchange_weak(current, new, Relaxed, Relaxed)
            }

            #[inline]
            fn fetch_add(atomic: &$atomic, operand: Self) -> Self {
                atomic.fetch_add(operand, Relaxed)
            }

            #[inline]
            fn fetch_and(atomic: &$atomic, operand: Self) -> Self {
                atomic.fetch_and(operand, Relaxed)
            }

            #[inline]
            fn fetch_or(atomic: &$atomic, operand: Self) -> Self {
                atomic.fetch_or(operand, Relaxed)
            }

            #[inline]
            fn fetch_xor(atomic: &$atomic, operand: Self) -> Self {
                atomic.fetch_xor(operand, Relaxed)
            }
        }
    )*};
}

words! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::testing::memory;

    fn check_width<W: Word + From<u8>>() {
        let span = memory(64);
        for offset in 0..=64 - W::SIZE {
            let element = span.element::<W>(offset);
            assert_eq!(element.is_some(), offset % W::SIZE == 0, "width {} offset {offset}", W::SIZE);
            let Some(element) = element else { continue };
            element.store(12.into());
            assert_eq!(element.swap(6.into()), 12.into());
            assert_eq!(element.fetch_add(250.into()), 6.into());
            element.store(6.into());
            assert_eq!(element.fetch_and(3.into()), 6.into());
            assert_eq!(element.fetch_or(8.into()), 2.into());
            assert_eq!(element.fetch_xor(2.into()), 10.into());
            assert_eq!(element.compare_exchange(9.into(), 1.into()), Err(8.into()));
            assert_eq!(element.compare_exchange(8.into(), 1.into()), Ok(8.into()));
            assert_eq!(element.fetch_update(|_| None), 1.into());
            assert_eq!(element.fetch_update(|_| Some(77.into())), 1.into());
            assert_eq!(span.as_read().word::<W>(offset), 77.into());
        }
        for len in [0, W::SIZE - 1, 3 * W::SIZE, 4 * W::SIZE - 1] {
            let part = span.part(W::SIZE, len).as_read();
            let words: Vec<W> = (0..len / W::SIZE).map(|at| part.word(at * W::SIZE)).collect();
            assert_eq!(part.words::<W>().map(Iterator::collect), Some(words));
            let shifted = span.part(W::SIZE + 1, len).as_read();
            assert_eq!(shifted.words::<W>().is_some(), W::SIZE == 1, "width {}", W::SIZE);
        }
        for outside in [64 - W::SIZE + 1, 64, usize::MAX] {
            assert!(std::panic::catch_unwind(|| span.element::<W>(outside)).is_err(), "offset {outside}");
            assert!(std::panic::catch_unwind(|| span.as_read().word::<W>(outside)).is_err());
            assert!(std::panic::catch_unwind(|| span.set_word::<W>(outside, W::default())).is_err());
        }
        assert_eq!(span.elements::<W>().map(Elements::len), Some(64 / W::SIZE));
        assert_eq!(span.part(1, 63).elements::<W>().is_some(), W::SIZE == 1);
    }

    #[test]
    fn every_width_has_every_step_where_it_is_aligned() {
        check_width::<u8>();
        check_width::<u16>();
        check_width::<u32>();
        check_width::<u64>();
    }

    #[test]
    fn words_are_stored_and_read_at_any_alignment() {
        let span = memory(64);
        for offset in 0..=56 {
            span.clear();
            span.set_word(offset, 0x0102_0304_0506_0708_u64);
            assert_eq!(span.as_read().word::<u64>(offset), 0x0102_0304_0506_0708, "offset {offset}");
            let mut bytes = [0; 64];
            span.as_read().read(&mut bytes);
            assert_eq!(bytes.iter().filter(|b| **b != 0).count(), 8, "offset {offset}");
        }
    }

    #[test]
    fn concurrent_steps_are_not_lost() {
        const STEPS: u16 = 20_000;
        let span = memory(64);
        let (counter, looped) = (span.element::<u16>(2).unwrap(), span.element::<u16>(4).unwrap());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..STEPS {
                        counter.fetch_add(1);
                        looped.fetch_update(|v| Some(v.wrapping_add(1)));
                    }
                });
            }
        });
        assert_eq!((counter.load(), looped.load()), (2 * STEPS, 2 * STEPS));
        assert_eq!(
            (span.as_read().word::<u16>(0), span.as_read().word::<u16>(6)),
            (0, 0),
            "neighbours are untouched"
        );
    }
}
