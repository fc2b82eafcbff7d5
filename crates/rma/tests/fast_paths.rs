//! The fast paths of calls: what can be done at once is done, and a call that needs more leaves everything as it is.

#![allow(missing_docs)]

use rma::{ErrorClass, ReduceOp, World};
use rma_core::datatype::BasicType;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{RunStep, Window, WindowSpec, WordStep};

/// What is nothing but a copy is done at once, and whatever is more leaves the memory as it is.
#[test]
fn a_copy_that_cannot_be_made_now_is_not_made() {
    World::run_threads(1, |world| {
        let spec = WindowSpec::Allocate { len: 64, unit: 8 };
        let window = world.engine().create_window(world.group(), spec)?;
        let (value, mut result) = ([7u64; 9], [0u64; 9]);
        // SAFETY: both variables outlive the epoch below, and nothing else uses them meanwhile.
        let spans = |elements: usize, result: &mut [u64; 9]| unsafe {
            let len = 8 * elements;
            (ReadSpan::new(value.as_ptr().cast(), len), WriteSpan::new(result.as_mut_ptr().cast(), len))
        };
        let (one, into) = spans(1, &mut result);
        let path = window.direct_path();
        assert!(!path.try_put(one, Rank(0), Disp(3)), "no epoch is open");
        window.lock(LockKind::Exclusive, Rank(0), Assert::NONE)?;
        assert!(path.try_get(into, Rank(0), Disp(3)) && result[0] == 0, "nothing was put");
        assert!(path.try_put(one, Rank(0), Disp(3)));
        assert!(path.try_get(into, Rank(0), Disp(3)) && result[0] == 7);
        assert!(!path.try_get(into, Rank(1), Disp(3)), "there is no such rank");
        for (elements, disp) in [(1, 8), (2, 7), (9, 0), (1, u64::MAX), (1, u64::MAX / 8), (1, 1 << 61)] {
            let (origin, into) = spans(elements, &mut result);
            assert!(!path.try_put(origin, Rank(0), Disp(disp)), "{elements} elements at {disp}");
            assert!(!path.try_get(into, Rank(0), Disp(disp)), "{elements} elements at {disp}");
        }
        let (none, into) = spans(0, &mut result);
        assert!(path.try_put(none, Rank(0), Disp(8)) && path.try_get(into, Rank(0), Disp(8)));
        window.unlock(Rank(0))?;
        assert!(!path.try_get(into, Rank(0), Disp(3)), "the epoch is over");
        window.free()
    })
    .unwrap();
}

/// Runs of elements without holes, likewise.
#[test]
fn a_run_that_cannot_be_changed_now_is_not_changed() {
    World::run_threads(1, |world| {
        let spec = WindowSpec::Allocate { len: 64 * 8, unit: 8 };
        let window = world.engine().create_window(world.group(), spec)?;
        let (threes, mut result) = ([3u64; 65], [9u64; 65]);
        // SAFETY: the variables outlive the epochs below, and nothing else uses them meanwhile.
        let from = |len: usize| unsafe { ReadSpan::new(threes.as_ptr().cast(), len) };
        let old_at = result.as_mut_ptr();
        // SAFETY: as above.
        let old = |len: usize| unsafe { WriteSpan::new(old_at.cast(), len) };
        let kernel = |op, ty| Kernel::new(op, ty).unwrap();
        let (sum, target) = (kernel(ReduceOp::Sum, BasicType::U64), Rank(0));
        let path = window.direct_path();
        let accumulate =
            |len, kernel, rank, disp| path.try_accumulate_run(from(len), kernel, rank, Disp(disp));
        let fetch = |len, kernel, rank, disp| {
            path.try_get_accumulate_run(from(len), old(len), kernel, rank, Disp(disp))
        };
        assert!(!accumulate(16, sum, target, 0) && !fetch(16, sum, target, 0), "no epoch is open");
        window.lock(LockKind::Exclusive, target, Assert::NONE)?;
        let words = RunStep::of(ReduceOp::Sum, BasicType::U64);
        let by_words = |len, rank, disp| {
            path.try_accumulate_words(from(len), words, rank, Disp(disp))
                || path.try_get_accumulate_words(from(len), old(len), words, rank, Disp(disp))
        };
        for (len, rank, disp) in
            [(16, target, 63), (65 * 8, target, 0), (8, target, u64::MAX), (12, target, 0), (16, Rank(1), 0)]
        {
            assert!(!by_words(len, rank, disp), "{len} bytes at {disp} of {rank}");
        }
        assert!(!path.try_get_accumulate_words(from(16), old(8), words, target, Disp(0)), "other lengths");
        let pair = kernel(ReduceOp::MinLoc, BasicType::ShortInt);
        for (len, kernel, rank, disp) in [
            (16, sum, target, 63),
            (65 * 8, sum, target, 0),
            (8, sum, target, u64::MAX),
            (8, sum, target, 1 << 61),
            (12, sum, target, 0),
            (16, sum, Rank(1), 0),
            (12, pair, target, 0),
        ] {
            assert!(!accumulate(len, kernel, rank, disp), "{len} bytes of {kernel:?} at {disp}");
            assert!(!fetch(len, kernel, rank, disp), "{len} bytes of {kernel:?} at {disp}");
        }
        assert!(
            !accumulate(16, kernel(ReduceOp::NoOp, BasicType::U64), target, 0),
            "which only fetches have"
        );
        assert!(!path.try_get_accumulate_run(from(16), old(8), sum, target, Disp(0)), "other lengths");
        assert!(accumulate(0, sum, target, 64) && fetch(0, sum, target, 64));
        assert_eq!(result, [9; 65]);
        // The bits of the least floats are sums as the floats are.
        let complex = kernel(ReduceOp::Sum, BasicType::ComplexF32);
        assert!(accumulate(16, complex, target, 0) && fetch(24, complex, target, 0), "without holes");
        assert_eq!(result[..4], [3, 3, 0, 9]);
        // One element, a few, and as many as plain code is made for, twice each.
        for len in [1, 3, 64] {
            assert!(fetch(64 * 8, kernel(ReduceOp::NoOp, BasicType::U64), target, 0));
            let before = result;
            assert!(accumulate(8 * len, sum, target, 0) && fetch(8 * len, sum, target, 0));
            assert!((0..len).all(|at| result[at] == before[at] + 3), "{len} elements: {result:?}");
            window.get(old(64 * 8), target, Disp(0))?;
            let expected = |at: usize| before[at] + if at < len { 6 } else { 0 };
            assert!((0..64).all(|at| result[at] == expected(at)), "{len} elements: {result:?}");
        }
        assert_eq!(result[64], 9, "nothing lies behind what was fetched");
        window.unlock(target)?;
        assert!(!accumulate(16, sum, target, 0) && !fetch(16, sum, target, 0), "the epoch is over");
        window.free()
    })
    .unwrap();
}

/// Locks and single words that others might use meanwhile, likewise, with any number of callers and with one at a time.
#[test]
fn a_step_that_cannot_be_made_now_is_not_made() {
    for has_one_caller in [false, true] {
        World::run_threads(1, move |world| {
            if has_one_caller {
                world.engine().promise_one_caller();
            }
            let window =
                world.engine().create_window(world.group(), WindowSpec::Allocate { len: 64, unit: 8 })?;
            make_steps(&window)?;
            window.free()
        })
        .unwrap();
    }
}

fn make_steps(window: &Window) -> rma::Result<()> {
    let (value, fives, mut result) = ([5u64, 6], [0u64, 5], [9u64; 2]);
    // SAFETY: the variables outlive this function's epochs, and nothing else uses them meanwhile.
    let span = |of: *const u64, len: usize| unsafe { ReadSpan::new(of.cast(), len) };
    let (from, wide, target) = (span(&raw const value[0], 8), span(value.as_ptr(), 16), Rank(0));
    // SAFETY: as above.
    let old = unsafe { WriteSpan::new(result.as_mut_ptr().cast(), 8) };
    let (sum, swap) = (ReduceOp::Sum, CompareAndSwap::new(BasicType::U64).unwrap());
    let path = window.direct_path();
    let accumulate = |from: ReadSpan, disp| {
        path.try_accumulate(
            |_| Some(from),
            WordStep::accumulate(sum, BasicType::U64),
            sum,
            target,
            Disp(disp),
        )
    };
    let fetch_and_op = |from: ReadSpan, disp| {
        let step = WordStep::fetch(sum, BasicType::U64);
        path.try_fetch_and_op(|_| Some((from, old)), step, target, Disp(disp))
    };
    let steps: [(&str, &dyn Fn(u64) -> bool); 3] = [
        ("accumulate", &|disp| accumulate(from, disp)),
        ("fetch_and_op", &|disp| fetch_and_op(from, disp)),
        ("compare_and_swap", &|disp| {
            path.try_compare_and_swap(from, span(&raw const fives[1], 8), old, swap, target, Disp(disp))
        }),
    ];
    let lock_slowly = || {
        window.lock(LockKind::Shared, target, Assert::NONE)?;
        window.unlock(target)
    };
    let flush = || window.flush(target);
    let outside = [8, u64::MAX, u64::MAX / 8, 1 << 61];
    let refused = |why: &str| steps.iter().for_each(|(name, step)| assert!(!step(1), "{name}: {why}"));
    refused("no epoch is open");
    assert!(!path.try_unlock(target), "nothing is locked");
    for kind in [LockKind::Exclusive, LockKind::Shared] {
        until(|| path.try_lock(kind, target), &lock_slowly);
        assert!(!path.try_lock(kind, target) && !path.try_lock(kind, Rank(1)) && !path.try_unlock(Rank(1)));
        for (name, step) in steps {
            assert!(outside.iter().all(|disp| !step(*disp)), "{name} outside of the window");
        }
        let before = if kind == LockKind::Exclusive { 0 } else { 5 };
        assert!(fetch_and_op(from, 1) && read(old) == before);
        assert!(accumulate(from, 2));
        assert!(!accumulate(wide, 2), "two words");
        assert!(!fetch_and_op(wide, 2), "two words");
        assert!(!path.try_compare_and_swap(wide, from, old, swap, target, Disp(2)), "two words");
        assert!(path.try_compare_and_swap(from, span(&raw const fives[0], 8), old, swap, target, Disp(3)));
        assert_eq!(read(old), if kind == LockKind::Exclusive { 0 } else { 5 }, "stored the first time");
        until(|| path.try_unlock(target), &flush);
        assert!(!path.try_unlock(target));
        refused("the epoch is over");
    }
    // What single locks count keeps other epochs away, and one that is open keeps single locks away.
    until(|| path.try_lock(LockKind::Shared, target), &lock_slowly);
    assert_eq!(window.fence(Assert::NONE).unwrap_err().class(), ErrorClass::RmaSync);
    window.unlock(target)?;
    window.lock(LockKind::Shared, target, Assert::NONE)?;
    until(|| path.try_unlock(target), &flush);
    window.lock(LockKind::Shared, target, Assert::NO_CHECK)?;
    assert!(!path.try_unlock(target), "no lock was taken");
    window.unlock(target)?;
    assert!(!path.try_flush_all() && !path.try_sync(), "nothing is locked");
    window.lock_all(Assert::NONE)?;
    assert!(!path.try_lock(LockKind::Shared, target) && !path.try_unlock(target));
    until(|| path.try_flush_all(), &flush);
    until(|| path.try_sync(), &flush);
    window.unlock_all()?;
    assert!(!path.try_flush_all() && !path.try_sync(), "the epoch is over");
    window.lock(LockKind::Exclusive, target, Assert::NONE)?;
    // SAFETY: as above.
    window.get(unsafe { WriteSpan::new(result.as_mut_ptr().cast(), 16) }, target, Disp(1))?;
    window.unlock(target)?;
    assert_eq!(result, [10, 10]);
    Ok(())
}

fn read(span: WriteSpan) -> u64 {
    span.as_read().word(0)
}

/// A fast path is refused when it is time for a poll, which the slow path then makes.
fn until(mut call: impl FnMut() -> bool, slow_path: &dyn Fn() -> rma::Result<()>) {
    for _ in 0..3 {
        if call() {
            return;
        }
        slow_path().unwrap();
    }
    panic!("refused again and again");
}
