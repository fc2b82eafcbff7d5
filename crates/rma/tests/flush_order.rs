//! What a flush of mapped ranks orders: stores that may lag behind later loads, whichever call has made them, and nothing that is in
//! order by itself.

#![allow(missing_docs)]

use rma::{ReduceOp, World};
use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{Destination, DirectPath, Origin, RunStep, TargetArea, Window, WindowSpec, WordStep};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

const LONG: BasicType = BasicType::U64;

/// Whether loads and atomic steps are in order by themselves here.
const HAS_ORDER: bool = cfg!(target_arch = "x86_64");

/// A call that is tried again when it is time for a poll.
type Call<'a> = (&'static str, bool, &'a dyn Fn() -> rma::Result<bool>);

#[test]
fn a_flush_orders_after_each_call_that_may_store_and_after_no_other() {
    for has_one_caller in [true, false] {
        World::run_threads(1, move |world| {
            if has_one_caller {
                world.engine().promise_one_caller();
            }
            let window =
                world.engine().create_window(world.group(), WindowSpec::Allocate { len: 4096, unit: 8 })?;
            window.lock(LockKind::Exclusive, Rank(0), Assert::NONE)?;
            look_at_all_calls(&window, has_one_caller)?;
            window.unlock(Rank(0))?;
            window.free()
        })
        .unwrap();
    }
}

/// Makes each call behind each kind of flush.
fn look_at_all_calls(window: &Window, has_one_caller: bool) -> rma::Result<()> {
    let (me, path) = (window.rank(), window.direct_path());
    let may_clear = HAS_ORDER && has_one_caller;
    let flushes: [&dyn Fn() -> rma::Result<bool>; 4] = [
        &|| window.flush(me).map(|()| true),
        &|| window.flush_all().map(|()| true),
        &|| Ok(path.try_flush(me)),
        &|| Ok(path.try_flush_all()),
    ];
    let look = |(name, stores, call): &Call<'_>| -> rma::Result<()> {
        for flush in flushes {
            // The fast paths are refused when it is time for a poll.
            while !flush()? {
                window.flush(me)?;
            }
            assert_eq!(window.needs_store_fence(), !may_clear, "before {name}");
            assert!(call()?, "{name}");
            assert_eq!(window.needs_store_fence(), *stores || !may_clear, "after {name}");
        }
        Ok(())
    };
    look_at_slow_paths(window, &look)?;
    look_at_fast_paths(path, me, &look)
}

type Look<'a> = &'a dyn Fn(&Call<'_>) -> rma::Result<()>;

fn look_at_slow_paths(window: &Window, look: Look<'_>) -> rma::Result<()> {
    let (ones, mut room) = ([1u64; 128], [0u64; 128]);
    // SAFETY: both variables outlive the operations, which are complete as they return; nothing else uses them.
    let (from, into) = unsafe { spans(&ones, &mut room) };
    let (me, at, one) = (window.rank(), Disp(0), 1u64.to_ne_bytes());
    let (sum, swap) = (Kernel::new(ReduceOp::Sum, LONG).unwrap(), CompareAndSwap::new(LONG).unwrap());
    let replace = Kernel::new(ReduceOp::Replace, LONG).unwrap();
    let long = Datatype::basic(LONG);
    let origin = Origin { base: from.as_ptr(), count: 2, ty: &long };
    let area = TargetArea { disp: at, count: 2, ty: &long };
    let result = Destination { base: into.as_mut_ptr(), count: 2, ty: &long };
    let calls: [Call<'_>; 10] = [
        ("put", true, &|| window.put(from.part(0, 8), me, at).map(|()| true)),
        ("put of a type", true, &|| {
            // SAFETY: as above.
            unsafe { window.put_typed(origin, me, area) }.map(|()| true)
        }),
        ("accumulate", true, &|| window.accumulate(from.part(0, 16), sum, me, at).map(|()| true)),
        ("accumulate of one that replaces", true, &|| {
            window.accumulate(from.part(0, 8), replace, me, at).map(|()| true)
        }),
        ("accumulate of a type", true, &|| {
            // SAFETY: as above.
            unsafe { window.accumulate_typed(origin, ReduceOp::Sum, me, area) }.map(|()| true)
        }),
        ("get_accumulate", true, &|| {
            // SAFETY: as above.
            unsafe { window.get_accumulate(origin, result, ReduceOp::Sum, me, area) }.map(|()| true)
        }),
        ("get_accumulate of elements", true, &|| {
            window.get_accumulate_elements(from, into, sum, me, at).map(|()| true)
        }),
        ("fetch_and_op", true, &|| window.fetch_and_op(&one, into.part(0, 8), sum, me, at).map(|()| true)),
        ("compare_and_swap", true, &|| {
            window.compare_and_swap(&one, &one, into.part(0, 8), swap, me, at).map(|()| true)
        }),
        ("get", false, &|| window.get(into.part(0, 8), me, at).map(|()| true)),
    ];
    calls.iter().try_for_each(look)
}

fn look_at_fast_paths(path: DirectPath<'_>, me: Rank, look: Look<'_>) -> rma::Result<()> {
    let (ones, mut room) = ([1u64; 128], [0u64; 128]);
    // SAFETY: as above.
    let (run, old_run) = unsafe { spans(&ones, &mut room) };
    let (from, into, at) = (run.part(0, 8), old_run.part(0, 8), Disp(0));
    let (kernel, swap) = (Kernel::new(ReduceOp::Sum, LONG).unwrap(), CompareAndSwap::new(LONG).unwrap());
    let words = RunStep::of(ReduceOp::Sum, LONG);
    let change = |op| path.try_accumulate(|_| Some(from), WordStep::accumulate(op, LONG), op, me, at);
    let fetch = |op| path.try_fetch_and_op(|_| Some((from, into)), WordStep::fetch(op, LONG), me, at);
    let calls: [Call<'_>; 11] = [
        ("short put", true, &|| Ok(path.try_put(from, me, at))),
        ("short accumulate of a run", true, &|| Ok(path.try_accumulate_run(run, kernel, me, at))),
        ("short get_accumulate of a run", true, &|| {
            Ok(path.try_get_accumulate_run(run, old_run, kernel, me, at))
        }),
        ("short accumulate of words", true, &|| Ok(path.try_accumulate_words(run, words, me, at))),
        ("short get_accumulate of words", true, &|| {
            Ok(path.try_get_accumulate_words(run, old_run, words, me, at))
        }),
        ("short accumulate that replaces", true, &|| Ok(change(ReduceOp::Replace))),
        ("short accumulate", false, &|| Ok(change(ReduceOp::Sum))),
        ("short fetch", false, &|| Ok(fetch(ReduceOp::Sum))),
        ("short fetch that replaces", false, &|| Ok(fetch(ReduceOp::Replace))),
        ("short compare_and_swap", false, &|| Ok(path.try_compare_and_swap(from, from, into, swap, me, at))),
        ("short get", false, &|| Ok(path.try_get(into, me, at))),
    ];
    calls.iter().try_for_each(look)
}

/// # Safety
/// Both outlive what is made of them, and nothing else uses them meanwhile.
unsafe fn spans(ones: &[u64; 128], room: &mut [u64; 128]) -> (ReadSpan, WriteSpan) {
    // SAFETY: the caller's promise.
    unsafe { (ReadSpan::new(ones.as_ptr().cast(), 1024), WriteSpan::new(room.as_mut_ptr().cast(), 1024)) }
}

/// Two ranks that each store, flush and look at the other's word: one of them sees the other's store. Before that each has made calls
/// after which a flush is only a look.
#[test]
fn of_two_ranks_that_store_and_flush_one_sees_the_other() {
    const ROUNDS: u64 = 200_000;
    let turns = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let seen = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    World::run_threads(2, move |world| {
        world.engine().promise_one_caller();
        let window =
            world.engine().create_window(world.group(), WindowSpec::Allocate { len: 4096, unit: 8 })?;
        let (me, other) = (world.rank() as usize, Rank(1 - world.rank()));
        window.lock_all(Assert::NONE)?;
        let end = Instant::now() + Duration::from_secs(60);
        for round in 1..=ROUNDS {
            meet(&turns, me, 2 * round - 1, end);
            seen[me].store(store_and_look(&window, other, round)?, Relaxed);
            meet(&turns, me, 2 * round, end);
            let both = [0, 1].map(|rank: usize| seen[rank].load(Relaxed));
            assert!(both.contains(&round), "round {round}: they saw {both:?}");
        }
        window.unlock_all()?;
        window.free()
    })
    .unwrap();
}

/// Waits for the other thread; a wait that is too long panics.
fn meet(turns: &[AtomicU64; 2], me: usize, turn: u64, end: Instant) {
    turns[me].store(turn, Release);
    let mut looks = 0u32;
    while turns[1 - me].load(Acquire) < turn {
        looks += 1;
        if looks.is_multiple_of(1 << 10) {
            std::thread::yield_now();
            assert!(Instant::now() < end, "rank {me} waited for the other in turn {turn}");
        }
        std::hint::spin_loop();
    }
}

/// Stores the round in the other's word by one of the calls that store, in turns, flushes, and answers the own word, which the other one
/// stores to.
fn store_and_look(window: &Window, other: Rank, round: u64) -> rma::Result<u64> {
    let (words, mut found) = ([round; 2], 0u64);
    let path = window.direct_path();
    // SAFETY: the variables outlive the operations, which are complete as they return.
    let (word, both, into) = unsafe {
        let both = ReadSpan::new(words.as_ptr().cast(), 16);
        (both.part(0, 8), both, WriteSpan::new((&raw mut found).cast(), 8))
    };
    let me = window.rank();
    // Leaves nothing to be ordered.
    window.flush(other)?;
    window.get(into, me, Disp(8))?;
    match round % 4 {
        0 => window.put(word, other, Disp(0))?,
        1 if path.try_put(both, other, Disp(0)) => {}
        2 => {
            let op = ReduceOp::Replace;
            let step = WordStep::accumulate(op, LONG);
            if !path.try_accumulate(|_| Some(word), step, op, other, Disp(0)) {
                window.put(word, other, Disp(0))?;
            }
        }
        _ => window.accumulate(both, Kernel::new(ReduceOp::Replace, LONG).unwrap(), other, Disp(0))?,
    }
    if !path.try_flush(other) {
        window.flush(other)?;
    }
    // Through the window, as another rank's program would look.
    window.get(into, me, Disp(0))?;
    Ok(found)
}
