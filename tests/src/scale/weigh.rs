//! An allocator that knows for which part memory was asked. A program that weighs makes it its global
//! allocator.
//!
//! In front of every block stands the number of its owner, so that a block is taken off the right account wherever it is
//! freed. The owner is a property of the thread, set around calls by [`within`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The user of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Owner {
    /// The test itself.
    Test = 0,
    /// The engines of all ranks but the first.
    Engine = 1,
    /// The engine of the first rank, which all others send to.
    FirstEngine = 2,
    /// The simulated channels.
    Channel = 3,
    /// The simulated hosts, segments included.
    Host = 4,
}

const OWNERS: usize = 5;
const NUMBER_LEN: usize = size_of::<usize>();

static BYTES: [AtomicI64; OWNERS] = [const { AtomicI64::new(0) }; OWNERS];

thread_local! {
    static OWNER: Cell<Owner> = const { Cell::new(Owner::Test) };
}

/// Does something whose memory belongs to `owner`.
pub fn within<T>(owner: Owner, work: impl FnOnce() -> T) -> T {
    let before = OWNER.replace(owner);
    let value = work();
    OWNER.set(before);
    value
}

/// Whose memory is asked for now.
pub fn owner() -> Owner {
    OWNER.get()
}

/// Bytes that an owner has asked for and not given back.
pub fn bytes_of(owner: Owner) -> i64 {
    BYTES[owner as usize].load(Relaxed)
}

/// The system's allocator, with accounts.
#[derive(Debug)]
pub struct Weighing;

/// The block that is asked of the system, and where the caller's begins in it.
fn padded(layout: Layout) -> Option<(Layout, usize)> {
    let pad = layout.align().max(NUMBER_LEN);
    let size = layout.size().checked_add(pad)?;
    Some((Layout::from_size_align(size, pad).ok()?, pad))
}

// SAFETY: every block is one of the system's allocator, longer by `pad` at its front, which is a multiple of the alignment
// asked for; `dealloc` computes the same from the same layout.
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((outer, pad)) = padded(layout) else { return std::ptr::null_mut() };
        // SAFETY: the layout is not empty: it has the pad.
        let block = unsafe { System.alloc(outer) };
        if block.is_null() {
            return block;
        }
        let owner = OWNER.try_with(Cell::get).unwrap_or(Owner::Test) as usize;
        BYTES[owner].fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the pad has room for the number right in front of the caller's block, which is aligned for it, since the
        // pad is a multiple of its length.
        unsafe {
            let start = block.add(pad);
            start.sub(NUMBER_LEN).cast::<usize>().write(owner);
            start
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let Some((outer, pad)) = padded(layout) else { return };
        // SAFETY: `alloc` has given this block for this layout, and written the number.
        unsafe {
            let owner = start.sub(NUMBER_LEN).cast::<usize>().read();
            BYTES[owner % OWNERS].fetch_sub(layout.size() as i64, Relaxed);
            System.dealloc(start.sub(pad), outer);
        }
    }
}
