//! What crosses between Rust and C: texts, structures with a size, and the mark that C's functions run.

use rma_core::{Error, ErrorClass, Result};
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// The version of `rma.h`.
pub const VERSION: u32 = 1;

thread_local! {
    /// How many functions of tables this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Calls a function of a table.
pub fn outside<T>(function: impl FnOnce() -> T) -> T {
    struct Back;
    impl Drop for Back {
        fn drop(&mut self) {
            let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
        }
    }
    let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
    let _back = Back;
    function()
}

/// Whether this thread is in a function of a table.
pub fn is_outside() -> bool {
    DEPTH.try_with(Cell::get).unwrap_or(0) > 0
}

/// An argument that is not what it should be.
#[cold]
pub fn bad(cause: impl Into<String>) -> Error {
    Error::new(ErrorClass::Arg, "rma", cause)
}

/// The text of a C string; `None` for null.
///
/// # Safety
/// Null, or a string that ends.
pub unsafe fn text_of(pointer: *const c_char) -> Option<String> {
    // SAFETY: not null, and the caller's promise.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// The text of a string that a channel in C gave.
pub(crate) fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: what `rma.h` has channels promise.
    unsafe { text_of(pointer) }
}

/// A structure that begins with its size.
///
/// # Safety
/// All bytes zero is a value of the type, any bytes that C stores in its fields are, and its first field is a `usize`.
pub unsafe trait Versioned: Copy {
    /// Bytes that it had when it was first published: fields behind them are zero where C does not have them.
    const LEAST: usize = size_of::<Self>();
}

/// Reads a structure of any version: what an earlier one lacks is zero, and what a later one adds must be.
///
/// # Errors
/// `MPI_ERR_ARG` for null, for a size that cannot be, and for what this version does not have.
///
/// # Safety
/// Null, or a structure of as many bytes as its first field says.
pub unsafe fn sized<T: Versioned>(pointer: *const T, name: &str) -> Result<T> {
    if pointer.is_null() {
        return Err(bad(format!("{name} is null")));
    }
    let ours = size_of::<T>();
    // SAFETY: not null, and the caller's promise that the first field is there.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    if size < T::LEAST || size > 1 << 16 {
        return Err(bad(format!("{name} has size {size}, but {ours} is expected: set it with sizeof")));
    }
    let bytes = pointer.cast::<u8>();
    // SAFETY: the caller's promise that so many bytes are there.
    if (ours..size).any(|at| unsafe { bytes.add(at).read() } != 0) {
        return Err(bad(format!("{name} asks for what version {VERSION} of this library does not have")));
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the structure has as many bytes, and the trait's promise about them and about zero.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes, value.as_mut_ptr().cast(), ours.min(size));
        Ok(value.assume_init())
    }
}

/// Stores a structure where C has one of any version, whose size [`sized`] has checked: as much of it as there is room for.
///
/// # Safety
/// A structure of as many bytes as its first field says, which is its size.
pub unsafe fn store_sized<T: Versioned>(pointer: *mut T, value: &T) {
    // SAFETY: the caller's promise.
    unsafe {
        let size = pointer.cast::<usize>().read_unaligned();
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(value).cast::<u8>(),
            pointer.cast::<u8>(),
            size.min(size_of::<T>()),
        );
    }
}

/// Stores a text where C has room for one of `len` bytes, a zero at the end: as much of it as there is room for.
///
/// # Safety
/// Null, or room for so many bytes.
pub unsafe fn store_text(to: *mut c_char, len: usize, text: &str) {
    if to.is_null() || len == 0 {
        return;
    }
    let room = text.len().min(len - 1);
    let kept = (0..=room).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
    // SAFETY: the caller's promise, and `kept` bytes and a zero are no more than `len`.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), kept);
        to.add(kept).write(0);
    }
}
