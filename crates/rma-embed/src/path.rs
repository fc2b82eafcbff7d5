//! Fast paths: calls on a window's mapped memory without a handle to look up, for libraries where each instruction counts. One of
//! the few files with `unsafe`.
//!
//! They have no frame against panics, since they do not panic, and check nothing that is the embedder's promise: the path itself,
//! which is valid until the freeing of its window begins.

use crate::datatype::code;
use crate::errors::AGAIN;
use parking_lot::Mutex;
use rma_core::Result;
use rma_core::datatype::BasicType;
use rma_core::epoch::LockKind;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{DirectPath, RunStep, Window, WordStep};
use std::collections::HashMap;
use std::ffi::c_int;

/// A window's fast paths, as C holds them by address.
pub(crate) struct Path {
    /// Of the window below, which outlives it: it is dropped first, and never leaves this value.
    path: DirectPath<'static>,
    window: Box<Window>,
}

/// By the window's handle.
static PATHS: Mutex<Option<HashMap<u64, Box<Path>>>> = Mutex::new(None);

impl Path {
    fn new(window: Window) -> Box<Self> {
        let window = Box::new(window);
        // SAFETY: the window stays where it is, in its box, and is dropped after the path.
        let borrowed = unsafe { &*std::ptr::from_ref(&*window) };
        Box::new(Self { path: borrowed.direct_path(), window })
    }
}

/// The paths of the window with this handle, which is still to be found.
pub(crate) fn of(handle: u64, find: impl FnOnce() -> Result<Window>) -> Result<*const Path> {
    let mut paths = PATHS.lock();
    // Under this lock: a window whose freeing begins meanwhile is either none by now, or is forgotten afterwards.
    let window = find()?;
    let path = paths.get_or_insert_default().entry(handle).or_insert_with(|| Path::new(window));
    Ok(std::ptr::from_ref(&**path))
}

/// The freeing of a window has begun.
pub(crate) fn forget(window: u64) {
    PATHS.lock().as_mut().map(|paths| paths.remove(&window));
}

/// Declares entry points that do a call at once, or answer `RMA_AGAIN` and have done nothing.
macro_rules! at_once {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) |$path:ident| $body:expr;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// A path that is valid, and what `rma.h` says of buffers.
        // SAFETY: the name is this library's to define, once.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const Path, $($arg: $ty),*) -> c_int {
            // SAFETY: the embedder's promise.
            let $path = unsafe { &*path };
            let first = || -> Option<bool> { Some($body) };
            if first() == Some(true) { 0 } else { AGAIN }
        }
    )*};
}

at_once! {
    /// `rma_path_put`.
    fn rma_path_put(origin: *const u8, len: usize, target: u32, disp: u64) |it| {
        let (from, rank, disp) = (read(origin, len), Rank(target), Disp(disp));
        let coalesces = || it.window.has_pack() && it.window.put_coalesces(from, rank, disp, false);
        it.path.try_put(from, rank, disp) || coalesces()
    };
    /// `rma_path_get`.
    fn rma_path_get(result: *mut u8, len: usize, target: u32, disp: u64) |it| {
        it.path.try_get(write(result, len), Rank(target), Disp(disp))
    };
    /// `rma_path_accumulate`.
    fn rma_path_accumulate(origin: *const u8, count: usize, ty: u64, op: c_int, target: u32, disp: u64) |it| {
        let ((op, ty), rank, disp) = (step(op, ty)?, Rank(target), Disp(disp));
        if count == 1 {
            it.path.try_accumulate(
                |len| Some(read(origin, len)),
                WordStep::accumulate(op, ty),
                op,
                rank,
                disp,
            )
        } else {
            let len = count.checked_mul(ty.size())?;
            it.path.try_accumulate_words(read(origin, len), RunStep::of(op, ty), rank, disp)
        }
    };
    /// `rma_path_fetch_and_op`.
    fn rma_path_fetch_and_op(
        origin: *const u8, result: *mut u8, ty: u64, op: c_int, target: u32, disp: u64,
    ) |it| {
        let (op, ty) = step(op, ty)?;
        // What reads no operand has no step.
        if origin.is_null() {
            return None;
        }
        let buffers = |len| Some((read(origin, len), write(result, len)));
        it.path.try_fetch_and_op(buffers, WordStep::fetch(op, ty), Rank(target), Disp(disp))
    };
    /// `rma_path_compare_and_swap`.
    fn rma_path_compare_and_swap(
        origin: *const u8, compare: *const u8, result: *mut u8, ty: u64, target: u32, disp: u64,
    ) |it| {
        let ty = code(ty)?;
        let (kernel, len) = (CompareAndSwap::new(ty)?, ty.size());
        let (origin, compare, result) = (read(origin, len), read(compare, len), write(result, len));
        it.path.try_compare_and_swap(origin, compare, result, kernel, Rank(target), Disp(disp))
    };
    /// `rma_path_lock`.
    fn rma_path_lock(kind: c_int, target: u32) |it| {
        let kind = match kind {
            1 => LockKind::Exclusive,
            2 => LockKind::Shared,
            _ => return None,
        };
        it.path.try_lock(kind, Rank(target))
    };
    /// `rma_path_unlock`.
    fn rma_path_unlock(target: u32) |it| it.path.try_unlock(Rank(target));
    /// `rma_path_flush`.
    fn rma_path_flush(target: u32) |it| it.path.try_flush(Rank(target));
    /// `rma_path_flush_all`.
    fn rma_path_flush_all() |it| it.path.try_flush_all();
    /// `rma_path_sync`.
    fn rma_path_sync() |it| it.path.try_sync();
}

#[inline(always)]
fn read(start: *const u8, len: usize) -> ReadSpan {
    // SAFETY: the embedder's promise: so many bytes, which stay until the operation is complete.
    unsafe { ReadSpan::new(start, len) }
}

#[inline(always)]
fn write(start: *mut u8, len: usize) -> WriteSpan {
    // SAFETY: as above.
    unsafe { WriteSpan::new(start, len) }
}

#[inline(always)]
fn step(op: c_int, ty: u64) -> Option<(ReduceOp, BasicType)> {
    Some((ReduceOp::from_code(u8::try_from(op).ok()?)?, code(ty)?))
}
