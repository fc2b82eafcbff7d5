//! Long blocks of the library's own memory, kept from one call for the next.
//!
//! A reduction of a mebibyte needs a few blocks as long, in each call. The C library gives such blocks back
//! to the system at once, or soon, and the next call gets pages that have to be made and zeroed one by one,
//! which costs more than the rest. So up to [`MOST_BYTES`] that were freed last are kept between `MPI_Init`
//! and `MPI_Finalize`, and reused for requests of just as many bytes: programs call again and again with the
//! same lengths.
//!
//! Invariants: a block is with one owner, or kept, never both; outside MPI nothing is kept; a thread that
//! finds the kept blocks locked goes to the system instead of waiting. Memory that programs ask for
//! (`MPI_Alloc_mem`) and what libraries in other languages use does not come by here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Where the library's memory comes from.
#[global_allocator]
static HEAP: Heap = Heap::new();

/// Shorter blocks are kept by the C library.
const SHORTEST: usize = 128 << 10;
/// Most bytes that are kept.
const MOST_BYTES: usize = 32 << 20;
/// How often the end tries to get to the blocks.
const CLOSE_TRIES: usize = 1000;
/// Most blocks that are kept.
const MOST_BLOCKS: usize = 16;

struct Heap {
    /// Whether blocks are kept.
    is_open: AtomicBool,
    /// Whether a thread is at the blocks.
    is_taken: AtomicBool,
    kept: UnsafeCell<FreedBlocks>,
}

/// The blocks, the one that was freed first in front.
struct FreedBlocks {
    blocks: [Block; MOST_BLOCKS],
    len: usize,
    bytes: usize,
}

#[derive(Clone, Copy)]
struct Block {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the blocks are touched only by the thread that has set `is_taken`; memory may be freed by any thread.
unsafe impl Sync for Heap {}

/// Blocks that are freed from now on are kept.
pub(crate) fn open() {
    HEAP.is_open.store(true, Relaxed);
}

/// Gives everything that is kept back to the system; blocks that are freed from now on go there.
pub(crate) fn close() {
    HEAP.close();
}

impl Heap {
    const fn new() -> Self {
        const NONE: Block = Block { start: null_mut(), layout: Layout::new::<u8>() };
        let kept = FreedBlocks { blocks: [NONE; MOST_BLOCKS], len: 0, bytes: 0 };
        Self {
            is_open: AtomicBool::new(false),
            is_taken: AtomicBool::new(false),
            kept: UnsafeCell::new(kept),
        }
    }

    /// What `go` makes of the blocks, unless another thread is there.
    fn with<T>(&self, go: impl FnOnce(&mut FreedBlocks) -> T) -> Option<T> {
        // SYNC POINT kept: what the thread before has done to the blocks is seen; theirs is the release below.
        self.is_taken.compare_exchange(false, true, Acquire, Relaxed).ok()?;
        // SAFETY: this thread alone has set `is_taken`; `go` neither panics nor comes back here, for it calls the system only.
        let end = go(unsafe { &mut *self.kept.get() });
        // SYNC POINT kept.
        self.is_taken.store(false, Release);
        Some(end)
    }

    /// A kept block of this layout, or null.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() < SHORTEST || !self.is_open.load(Relaxed) {
            return null_mut();
        }
        self.with(|kept| kept.take(layout)).unwrap_or(null_mut())
    }

    /// Keeps a block; `false` when it is to go to the system.
    fn keep(&self, block: Block) -> bool {
        let size = block.layout.size();
        if !(SHORTEST..=MOST_BYTES).contains(&size) || !self.is_open.load(Relaxed) {
            return false;
        }
        // Looked at again under the lock of the blocks: after the end nothing is kept.
        let keep = |kept: &mut FreedBlocks| {
            let is_open = self.is_open.load(Relaxed);
            if is_open {
                kept.keep(block);
            }
            is_open
        };
        self.with(keep).unwrap_or(false)
    }

    fn close(&self) {
        self.is_open.store(false, Relaxed);
        // A thread is there for a few instructions. One that never gets to run leaves no more than what is kept.
        for _ in 0..CLOSE_TRIES {
            if self.with(FreedBlocks::clear).is_some() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

impl FreedBlocks {
    /// The block of this layout that was freed last.
    fn take(&mut self, layout: Layout) -> *mut u8 {
        match self.blocks[..self.len].iter().rposition(|block| block.layout == layout) {
            Some(at) => self.remove(at).start,
            None => null_mut(),
        }
    }

    fn keep(&mut self, block: Block) {
        while self.len == MOST_BLOCKS || self.bytes + block.layout.size() > MOST_BYTES {
            self.free_first();
        }
        self.blocks[self.len] = block;
        self.len += 1;
        self.bytes += block.layout.size();
    }

    fn clear(&mut self) {
        while self.len > 0 {
            self.free_first();
        }
    }

    fn free_first(&mut self) {
        let Block { start, layout } = self.remove(0);
        // SAFETY: the block came from the system with this layout, and has no owner any more.
        unsafe { System.dealloc(start, layout) }
    }

    fn remove(&mut self, at: usize) -> Block {
        let block = self.blocks[at];
        self.blocks.copy_within(at + 1..self.len, at);
        self.len -= 1;
        self.bytes -= block.layout.size();
        block
    }
}

// SAFETY: all blocks come from the system's allocator with the layout that was asked for, and go back there with it; between
// the two each has one owner, because a block that is kept was freed by its owner, and one that is taken is kept no more.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            // SAFETY: the caller's promise is the same.
            start if start.is_null() => unsafe { System.alloc(layout) },
            start => start,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let start = self.take(layout);
        if start.is_null() {
            // SAFETY: the caller's promise is the same.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the block has this size and no other owner.
        unsafe { start.write_bytes(0, layout.size()) };
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if !self.keep(Block { start, layout }) {
            // SAFETY: the caller's promise is the same, and all blocks come from the system.
            unsafe { System.dealloc(start, layout) }
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(len: usize) -> Layout {
        Layout::array::<u8>(len).unwrap()
    }

    /// Bytes and blocks that are kept.
    fn kept(heap: &Heap) -> (usize, usize) {
        heap.with(|kept| (kept.bytes, kept.len)).unwrap()
    }

    #[test]
    fn a_long_block_comes_back_and_is_zero_when_it_has_to_be() {
        let heap = Heap::new();
        heap.is_open.store(true, Relaxed);
        let one = layout(SHORTEST);
        // SAFETY: every block is used within its layout and freed once, with that.
        unsafe {
            let first = heap.alloc(one);
            first.write_bytes(7, one.size());
            heap.dealloc(first, one);
            assert_eq!(kept(&heap), (SHORTEST, 1));
            let other = heap.alloc(layout(SHORTEST + 1));
            assert!(other != first && kept(&heap).1 == 1, "another length is another block");
            let again = heap.alloc_zeroed(one);
            assert!(again == first && kept(&heap) == (0, 0));
            assert!(std::slice::from_raw_parts(again, one.size()).iter().all(|byte| *byte == 0));
            heap.dealloc(again, one);
            heap.dealloc(other, layout(SHORTEST + 1));
            let short = heap.alloc(layout(SHORTEST - 1));
            heap.dealloc(short, layout(SHORTEST - 1));
            assert_eq!(kept(&heap), (2 * SHORTEST + 1, 2));
        }
        heap.close();
        assert_eq!(kept(&heap), (0, 0));
    }

    #[test]
    fn what_is_kept_is_bounded_and_nothing_is_outside_mpi() {
        let heap = Heap::new();
        let free = |len: usize| {
            let layout = layout(len);
            // SAFETY: the block is freed once, with its layout.
            unsafe { heap.dealloc(System.alloc(layout), layout) }
            let (bytes, blocks) = kept(&heap);
            assert!(bytes <= MOST_BYTES && blocks <= MOST_BLOCKS);
            (bytes, blocks)
        };
        assert_eq!(free(SHORTEST), (0, 0), "before the start");
        heap.is_open.store(true, Relaxed);
        for i in 1..=MOST_BLOCKS + 3 {
            assert_eq!(free(SHORTEST).1, i.min(MOST_BLOCKS));
        }
        assert_eq!(free(MOST_BYTES - SHORTEST), (MOST_BYTES, 2), "the first make room");
        assert_eq!(free(MOST_BYTES + 1), (MOST_BYTES, 2), "too long to be kept");
        assert_eq!(free(MOST_BYTES), (MOST_BYTES, 1));
        heap.close();
        assert_eq!(free(SHORTEST), (0, 0), "after the end");
    }

    #[test]
    fn threads_do_not_get_the_same_block() {
        let heap = Heap::new();
        heap.is_open.store(true, Relaxed);
        std::thread::scope(|scope| {
            for mark in 1..=4u8 {
                let heap = &heap;
                scope.spawn(move || {
                    for _ in 0..300 {
                        let layout = layout(SHORTEST);
                        // SAFETY: the block is used within its layout and freed once, with that.
                        unsafe {
                            let start = heap.alloc(layout);
                            start.write_bytes(mark, 4096);
                            std::thread::yield_now();
                            assert!((0..4096).all(|i| start.add(i).read() == mark));
                            heap.dealloc(start, layout);
                        }
                    }
                });
            }
        });
        heap.close();
        assert_eq!(kept(&heap), (0, 0));
    }
}
