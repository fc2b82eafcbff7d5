//! Buffers that a request has: vectors, which it owns, and memory that is borrowed for the whole scope.
//!
//! While the operation is under way no reference to a result exists, only its address: the engine writes there.

use super::values::ScopeValues;
use crate::elements::Element;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Elements that an operation with a request reads: a `Vec`, which [`Request::wait`](super::Request::wait) gives back, or a slice
/// or array that is borrowed for the scope.
///
/// # Safety
/// The elements may be read until `'scope` ends, also when the buffer that is kept is forgotten.
#[diagnostic::on_unimplemented(
    message = "a request cannot read from `{Self}`",
    note = "it reads from a `Vec`, which it gives back, or from a slice or array that lives longer than the epoch"
)]
pub unsafe trait OriginBuffer<'scope, T>: Buffer<T> {}

/// Elements that an operation with a request writes: a `Vec`, which [`Request::wait`](super::Request::wait) gives back, or a slice
/// or array that is mutably borrowed for the scope, and is given back too.
///
/// # Safety
/// The elements are the operation's alone until `'scope` ends, also when the buffer that is kept is forgotten.
#[diagnostic::on_unimplemented(
    message = "a request cannot write into `{Self}`",
    note = "it writes into a `Vec`, which it gives back, or a mutable slice or array that lives longer than the epoch"
)]
pub unsafe trait ResultBuffer<'scope, T>: Buffer<T> {}

/// What requests do with their buffers.
///
/// # Safety
/// The elements that [`Buffer::origin`] and [`Buffer::result`] name stay where they are, and untouched, until the buffer
/// is given back or left, whatever becomes of the value that keeps it.
pub unsafe trait Buffer<T>: Sized {
    /// The buffer while the operation is under way.
    #[doc(hidden)]
    type Kept: Send;
    #[doc(hidden)]
    fn keep(self) -> Self::Kept;
    /// Where the elements are, to be read.
    #[doc(hidden)]
    fn origin(kept: &Self::Kept) -> (*const T, usize);
    /// Where the elements are, to be written if the buffer is a result.
    #[doc(hidden)]
    fn result(kept: &mut Self::Kept) -> (*mut T, usize);
    /// # Safety
    /// The operation has ended.
    #[doc(hidden)]
    unsafe fn give_back(kept: Self::Kept) -> Self;
    /// Leaves it to the end of the scope, because the operation goes on.
    #[doc(hidden)]
    fn leave(kept: Self::Kept, to: &Leftovers<'_, T>);
}

/// Where buffers of dropped requests are kept.
#[doc(hidden)]
pub struct Leftovers<'a, T>(pub(super) &'a ScopeValues<T>);

/// A result that is borrowed for the scope, and that nothing but the operation touches.
#[doc(hidden)]
pub struct LentResult<T: ?Sized>(NonNull<T>, PhantomData<fn() -> T>);

// SAFETY: it stands for a mutable reference, which may be sent where the elements may be.
unsafe impl<T: ?Sized + Send> Send for LentResult<T> {}

impl<T: ?Sized> LentResult<T> {
    fn of(reference: &mut T) -> Self {
        Self(NonNull::from(reference), PhantomData)
    }
}

// SAFETY: a vector that is forgotten is not released.
unsafe impl<T: Element> OriginBuffer<'_, T> for Vec<T> {}
// SAFETY: as above; no other value has it.
unsafe impl<T: Element> ResultBuffer<'_, T> for Vec<T> {}

// SAFETY: a vector's elements do not move with it. It is dropped by `leave` alone, which keeps it to the end of the scope.
unsafe impl<T: Element> Buffer<T> for Vec<T> {
    type Kept = Self;

    fn keep(self) -> Self {
        self
    }

    fn origin(kept: &Self) -> (*const T, usize) {
        (kept.as_ptr(), kept.len())
    }

    fn result(kept: &mut Self) -> (*mut T, usize) {
        (kept.as_mut_ptr(), kept.len())
    }

    unsafe fn give_back(kept: Self) -> Self {
        kept
    }

    fn leave(kept: Self, to: &Leftovers<'_, T>) {
        to.0.keep_buffer(kept);
    }
}

macro_rules! borrowed {
    ($([$($const:tt)*] $memory:ty;)*) => {$(
        // SAFETY: it is borrowed for the scope.
        unsafe impl<'scope, T: Element, $($const)*> OriginBuffer<'scope, T> for &'scope $memory {}
        // SAFETY: it is borrowed for the scope, and by nothing else.
        unsafe impl<'scope, T: Element, $($const)*> ResultBuffer<'scope, T> for &'scope mut $memory {}

        // SAFETY: the elements are borrowed for longer than the value that keeps them lives.
        unsafe impl<T: Element, $($const)*> Buffer<T> for &$memory {
            type Kept = Self;

            fn keep(self) -> Self {
                self
            }

            fn origin(kept: &Self) -> (*const T, usize) {
                (kept.as_ptr(), kept.len())
            }

            fn result(kept: &mut Self) -> (*mut T, usize) {
                (kept.as_ptr().cast_mut(), kept.len())
            }

            unsafe fn give_back(kept: Self) -> Self {
                kept
            }

            fn leave(_: Self, _: &Leftovers<'_, T>) {}
        }

        // SAFETY: as above; no reference is made before the operation has ended.
        unsafe impl<T: Element, $($const)*> Buffer<T> for &mut $memory {
            type Kept = LentResult<$memory>;

            fn keep(self) -> LentResult<$memory> {
                LentResult::of(self)
            }

            fn origin(kept: &LentResult<$memory>) -> (*const T, usize) {
                let memory: NonNull<[T]> = kept.0;
                (memory.as_ptr().cast(), memory.len())
            }

            fn result(kept: &mut LentResult<$memory>) -> (*mut T, usize) {
                let memory: NonNull<[T]> = kept.0;
                (memory.as_ptr().cast(), memory.len())
            }

            unsafe fn give_back(mut kept: LentResult<$memory>) -> Self {
                // SAFETY: it was made from such a reference, whose borrow goes on, and the operation touches it no more.
                unsafe { kept.0.as_mut() }
            }

            fn leave(_: LentResult<$memory>, _: &Leftovers<'_, T>) {}
        }
    )*};
}

borrowed! {
    [] [T];
    [const N: usize] [T; N];
}

impl<T> fmt::Debug for Leftovers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Leftovers")
    }
}

impl<T: ?Sized> fmt::Debug for LentResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves what is kept, writes where the engine would, and gives the buffer back.
    fn filled<B: Buffer<u32>>(buffer: B) -> B {
        let mut kept = buffer.keep();
        let (first, len) = B::result(&mut kept);
        let moved = Box::new(kept);
        for at in 0..len {
            // SAFETY: the elements stay where they are while the buffer is kept, and nothing else touches them.
            unsafe { first.add(at).write(7 + at as u32) };
        }
        // SAFETY: nothing uses the address any more.
        unsafe { B::give_back(*moved) }
    }

    #[test]
    fn results_are_where_they_were_when_the_buffer_has_moved() {
        assert_eq!(filled(vec![0; 3]), [7, 8, 9]);
        let (mut array, mut list) = ([0; 2], vec![0; 4]);
        filled(&mut array)[0] += 1;
        assert_eq!(array, [8, 8]);
        filled(&mut list[1..3])[1] += 1;
        assert_eq!(list, [0, 7, 9, 0]);
    }

    #[test]
    fn a_buffer_that_is_left_stays_until_the_values_are_cleared() {
        let values = ScopeValues::new();
        let mut kept = vec![1u32, 2].keep();
        let (first, _) = Vec::result(&mut kept);
        Vec::leave(kept, &Leftovers(&values));
        // SAFETY: the values keep it.
        unsafe { first.write(5) };
        values.clear();
        let mut lent = [1, 2];
        let kept = Buffer::<u32>::keep(&mut lent);
        <&mut [u32; 2]>::leave(kept, &Leftovers(&values));
        assert_eq!(lent, [1, 2]);
    }
}
