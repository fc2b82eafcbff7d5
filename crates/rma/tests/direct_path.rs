//! The direct path, and looking up few ranks of a group, allocate nothing: counted by an allocator of this test program's own.
//!
//! Only the calling thread's allocations count, so what other ranks do meanwhile does not matter.

#![allow(missing_docs)]

use rma::{ReduceOp, World};
use rma_core::datatype::BasicType;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::WindowSpec;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every request goes to the system's allocator unchanged. The counter is a plain cell of the thread, made without
// allocation and never destroyed.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as for `alloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Allocations of this thread during `work`, which is done once before, so that what is made at first use is there.
fn allocations(mut work: impl FnMut()) -> u64 {
    work();
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// More than the calls between two polls of the channels, so that polls are counted too.
const CALLS: usize = 100;

/// After it neither rank sends, and what has been sent has come.
fn settle(both: &std::sync::Barrier, world: &World) {
    both.wait();
    while world.engine().poll() {}
    both.wait();
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn few_ranks_of_a_group_are_looked_up_without_allocation() {
    let all = World::run_threads(20, |world| Ok(world.members())).unwrap().swap_remove(0);
    let sixteen: Vec<u32> = (0..16).collect();
    let uneven = all.incl(&[19, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]).unwrap();
    for (from, to, ranks) in [
        (&all, &all, &sixteen[..]),
        (&uneven, &all, &sixteen),
        (&all, &uneven, &sixteen),
        (&all, &uneven, &[0]),
    ] {
        let each = || {
            let translate = from.translator(to, ranks.len());
            ranks.iter().for_each(|rank| drop(std::hint::black_box(translate(*rank))));
        };
        assert_eq!(allocations(each), 0, "{from:?} to {to:?}");
    }
    // Only what the group keeps.
    assert_eq!(allocations(|| drop(all.incl(&[0, 5, 10]))), 0);
    assert_eq!(allocations(|| drop(all.excl(&sixteen))), 0);
}

#[test]
fn calls_of_the_engine_on_mapped_memory_allocate_nothing() {
    // As below: no rank sends while one counts.
    let both = std::sync::Barrier::new(2);
    World::run_threads(2, |world| {
        let settle = || settle(&both, world);
        let spec = WindowSpec::Allocate { len: 64, unit: 8 };
        let window = world.engine().create_window(world.group(), spec)?;
        let (value, mut result) = (3u64, 0u64);
        // SAFETY: both variables outlive the epochs below, which complete what uses them.
        let (origin, into) = unsafe {
            (ReadSpan::new((&raw const value).cast(), 8), WriteSpan::new((&raw mut result).cast(), 8))
        };
        let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).expect("defined on integers");
        let compare = CompareAndSwap::new(BasicType::U64).expect("defined on integers");
        let (target, at, bytes) = (Rank(1 - world.rank()), Disp(2), 1u64.to_ne_bytes());
        assert!(window.is_direct(target));
        let communicate = || {
            for _ in 0..CALLS {
                window.put(origin, target, at).unwrap();
                window.get(into, target, at).unwrap();
                window.accumulate(origin, sum, target, at).unwrap();
                window.fetch_and_op(&bytes, into, sum, target, at).unwrap();
                window.compare_and_swap(&bytes, &bytes, into, compare, target, at).unwrap();
            }
        };

        window.fence(Assert::NONE)?;
        settle();
        assert_eq!(allocations(communicate), 0, "in a fence epoch");
        both.wait();
        window.fence(Assert::NO_SUCCEED)?;

        window.lock(LockKind::Shared, target, Assert::NONE)?;
        settle();
        assert_eq!(allocations(communicate), 0, "in a lock epoch");
        let flush = || {
            for _ in 0..CALLS {
                window.flush(target).unwrap();
                window.flush_local(target).unwrap();
            }
        };
        assert_eq!(allocations(flush), 0, "flush");
        both.wait();
        window.unlock(target)?;
        world.barrier()?;
        window.free()
    })
    .unwrap();
}

#[test]
fn calls_of_typed_windows_on_mapped_memory_allocate_nothing() {
    // A flush polls now and then, and what it may find there (the other rank's messages) is not the call's
    // own: no rank sends while one counts.
    let both = std::sync::Barrier::new(2);
    World::run_threads(2, |world| {
        let settle = || settle(&both, world);
        let mut window = world.allocate::<u64>(8)?;
        let target = 1 - world.rank();
        let (values, mut before) = ([1, 2], 0);
        window.fence_epoch(|epoch| {
            settle();
            let count = allocations(|| {
                for _ in 0..CALLS {
                    epoch.put(&values, target, 0).unwrap();
                    epoch.accumulate(&values, ReduceOp::Max, target, 2).unwrap();
                }
            });
            both.wait();
            assert_eq!(count, 0, "in a fence epoch");
            Ok(())
        })?;
        window.shared(target, |locked| {
            settle();
            let count = allocations(|| {
                for _ in 0..CALLS {
                    locked.put(&values, 0).unwrap();
                    locked.store(4, 5).unwrap();
                    assert_eq!(locked.load(4).unwrap(), 5);
                    locked.fetch_add(5, 1).unwrap();
                    locked.compare_and_swap(6, 0, 1).unwrap();
                    locked.batch(|batch| batch.fetch_op(0, &mut before, ReduceOp::NoOp, 5)).unwrap();
                    locked.flush().unwrap();
                }
            });
            both.wait();
            assert_eq!(count, 0, "in a lock epoch");
            Ok(())
        })?;
        world.barrier()?;
        window.free()
    })
    .unwrap();
}
