//! Buffers that a request has: vectors, which it owns, and memory that is borrowed for the whole scope.
//!
//! While the operation is under way no reference to a result exists, only its address: the engine writes there.

use super::element::Element;
use super::values::Values;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Elements that an operation with a request reads: a `Vec`, which [`Request::wait`](super::Request::wait) gives back, or a slice
/// or array that is borrowed for the scope.
#[diagnostic::on_unimplemented(
    message = "a request cannot read from `{Self}`",
    note = "it reads from a `Vec`, which it gives back, or from a slice or array that lives longer than the epoch"
)]
pub trait OriginBuffer<'scope, T>: Buffer<T> {}

/// Elements that an operation with a request writes: a `Vec`, which [`Request::wait`](super::Request::wait) gives back, or a slice
/// or array that is mutably borrowed for the scope, and is given back too.
#[diagnostic::on_unimplemented(
    message = "a request cannot write into `{Self}`",
    note = "it writes into a `Vec`, which it gives back, or a mutable slice or array that lives longer than the epoch"
)]
pub trait ResultBuffer<'scope, T>: Buffer<T> {}

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
pub struct Leftovers<'a, T>(pub(super) &'a Values<T>);

/// A result that is borrowed for the scope, and that nothing but the operation touches.
#[doc(hidden)]
pub struct Lent<T: ?Sized>(NonNull<T>, PhantomData<fn() -> T>);

// SAFETY: it stands for a mutable reference, which may be sent where the elements may be.
unsafe impl<T: ?Sized + Send> Send for Lent<T> {}

impl<T: ?Sized> Lent<T> {
    fn of(reference: &mut T) -> Self {
        Self(NonNull::from(reference), PhantomData)
    }
}

impl<T: Element> OriginBuffer<'_, T> for Vec<T> {}
impl<T: Element> ResultBuffer<'_, T> for Vec<T> {}

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
        impl<'scope, T: Element, $($const)*> OriginBuffer<'scope, T> for &'scope $memory {}
        impl<'scope, T: Element, $($const)*> ResultBuffer<'scope, T> for &'scope mut $memory {}

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
            type Kept = Lent<$memory>;

            fn keep(self) -> Lent<$memory> {
                Lent::of(self)
            }

            fn origin(kept: &Lent<$memory>) -> (*const T, usize) {
                let memory: NonNull<[T]> = kept.0;
                (memory.as_ptr().cast(), memory.len())
            }

            fn result(kept: &mut Lent<$memory>) -> (*mut T, usize) {
                let memory: NonNull<[T]> = kept.0;
                (memory.as_ptr().cast(), memory.len())
            }

            unsafe fn give_back(mut kept: Lent<$memory>) -> Self {
                // SAFETY: it was made from such a reference, whose borrow goes on, and the operation touches it no more.
                unsafe { kept.0.as_mut() }
            }

            fn leave(_: Lent<$memory>, _: &Leftovers<'_, T>) {}
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

impl<T: ?Sized> fmt::Debug for Lent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lent")
    }
}
