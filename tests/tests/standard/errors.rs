//! Erroneous programs: what is wrong is said with argument, value and limit; memory stays as it was; correct calls still
//! work afterwards. On every path and with the smallest pools.

use rma_core::datatype::BasicType;
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::{Error, ErrorClass, Result};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::window::{Window, WindowSpec};
use rma_tests::world::{Setup, TestRank, from, into, kernel, local, run, run_all, set_local};

/// Elements of the windows, and what each holds.
const ELEMENTS: u64 = 4;

fn initial(rank: u32, index: u64) -> u64 {
    7000 + u64::from(rank) * 10 + index
}

/// A window of known contents.
fn filled(rank: &TestRank) -> Window {
    let window = rank.allocate(ELEMENTS);
    fill(rank, &window, ELEMENTS);
    window
}

fn fill(rank: &TestRank, window: &Window, elements: u64) {
    (0..elements).for_each(|i| set_local(window, i as usize, initial(rank.me, i)));
    rank.barrier();
}

fn assert_untouched(rank: &TestRank, window: &Window, elements: u64) {
    rank.barrier();
    (0..elements).for_each(|i| assert_eq!(local(window, i as usize), initial(rank.me, i), "element {i}"));
    rank.barrier();
}

/// Correct calls still do what they should: every rank stores into its successor's memory, under fences and under locks.
fn assert_still_works(rank: &TestRank, window: &Window) {
    let next = Rank((rank.me + 1) % rank.size);
    let before = (rank.me + rank.size - 1) % rank.size;
    let (mine, theirs) = ([500 + u64::from(rank.me)], 500 + u64::from(before));
    window.fence(Assert::NO_PRECEDE).unwrap();
    window.put(from(&mine), next, Disp(0)).unwrap();
    window.fence(Assert::NO_SUCCEED).unwrap();
    assert_eq!(local(window, 0), theirs);
    rank.barrier();
    window.lock(Exclusive, next, Assert::NONE).unwrap();
    window.accumulate(from(&mine), kernel(ReduceOp::Sum), next, Disp(0)).unwrap();
    window.unlock(next).unwrap();
    rank.barrier();
    assert_eq!(local(window, 0), 2 * theirs);
    rank.barrier();
}

#[track_caller]
fn assert_says(error: &Error, class: ErrorClass, words: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.class(), class, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not said: {text}");
    }
}

#[track_caller]
fn refused(outcome: Result<()>, class: ErrorClass, words: &[&str]) {
    match outcome {
        Ok(()) => panic!("a wrong call went through; expected {class} with {words:?}"),
        Err(error) => assert_says(&error, class, words),
    }
}

/// Every communication call, with 8 bytes to or from displacement `disp`. The buffers live as long as the test.
fn calls(window: &Window, target: Rank, disp: Disp) -> Vec<(&'static str, Result<()>)> {
    let origin: &'static [u64] = &[u64::MAX];
    // Each call has a result of its own: a call that is wrongly carried out must not write to freed memory.
    let result = || into(Box::leak(Box::new([0])));
    let swap = CompareAndSwap::new(BasicType::U64).unwrap();
    let (one, zero) = (1u64.to_ne_bytes(), 0u64.to_ne_bytes());
    vec![
        ("put", window.put(from(origin), target, disp)),
        ("get", window.get(result(), target, disp)),
        ("accumulate", window.accumulate(from(origin), kernel(ReduceOp::Sum), target, disp)),
        ("fetch_and_op", window.fetch_and_op(&one, result(), kernel(ReduceOp::Sum), target, disp)),
        ("compare_and_swap", window.compare_and_swap(&one, &zero, result(), swap, target, disp)),
    ]
}

#[test]
fn ranks_that_are_not_in_the_group() {
    run_all(3, |rank| {
        let window = filled(rank);
        for outsider in [3, 4, u32::MAX - 1] {
            let target = Rank(outsider);
            let words = [&*format!("rank {outsider}"), "0 to 2"];
            refused(window.lock(Shared, target, Assert::NONE), ErrorClass::Rank, &words);
            refused(window.unlock(target), ErrorClass::Rank, &words);
            refused(window.flush(target), ErrorClass::Rank, &words);
            refused(window.flush_local(target), ErrorClass::Rank, &words);
            window.fence(Assert::NONE).unwrap();
            for (call, outcome) in calls(&window, target, Disp(0)) {
                refused(outcome, ErrorClass::Rank, &[words[0], words[1], call]);
            }
            window.fence(Assert::NO_SUCCEED).unwrap();
        }
        assert_untouched(rank, &window, ELEMENTS);
        assert_still_works(rank, &window);
        window.free().unwrap();
    });
}

#[test]
fn operations_without_an_epoch() {
    run_all(3, |rank| {
        let window = filled(rank);
        let other = Rank((rank.me + 1) % 3);
        for target in [Rank(rank.me), other] {
            for (call, outcome) in calls(&window, target, Disp(0)) {
                refused(outcome, ErrorClass::RmaSync, &[call, "no epoch is open", "fence or lock"]);
            }
        }
        // An epoch that is open to one rank is not open to another.
        window.lock(Shared, other, Assert::NONE).unwrap();
        for (call, outcome) in calls(&window, Rank(rank.me), Disp(0)) {
            refused(
                outcome,
                ErrorClass::RmaSync,
                &[call, &format!("rank {} is not locked", rank.me), "by lock"],
            );
        }
        window.unlock(other).unwrap();
        // The last fence has closed the epoch.
        window.fence(Assert::NO_PRECEDE).unwrap();
        window.fence(Assert::NO_SUCCEED).unwrap();
        for (call, outcome) in calls(&window, other, Disp(0)) {
            refused(outcome, ErrorClass::RmaSync, &[call, "no epoch is open"]);
        }
        assert_untouched(rank, &window, ELEMENTS);
        assert_still_works(rank, &window);
        window.free().unwrap();
    });
}

#[test]
fn synchronization_in_the_wrong_order() {
    run_all(3, |rank| {
        let window = filled(rank);
        let (me, other) = (Rank(rank.me), Rank((rank.me + 1) % 3));
        for target in [me, other] {
            let words = [&*format!("rank {target} is not locked"), "no epoch is open"];
            refused(window.unlock(target), ErrorClass::RmaSync, &words);
            refused(window.flush(target), ErrorClass::RmaSync, &words);
            refused(window.flush_local(target), ErrorClass::RmaSync, &words);
        }
        window.lock(Shared, other, Assert::NONE).unwrap();
        let locked = format!("rank {other} is locked");
        refused(window.lock(Shared, other, Assert::NONE), ErrorClass::RmaSync, &[&locked, "already"]);
        refused(window.lock(Exclusive, other, Assert::NONE), ErrorClass::RmaSync, &[&locked, "already"]);
        refused(
            window.fence(Assert::NONE),
            ErrorClass::RmaSync,
            &["fence", &locked, "unlock", "opened by lock"],
        );
        refused(window.clone().free(), ErrorClass::RmaSync, &["win_free", &locked, "unlock"]);
        refused(window.unlock(me), ErrorClass::RmaSync, &[&format!("rank {me} is not locked")]);
        window.unlock(other).unwrap();
        refused(window.unlock(other), ErrorClass::RmaSync, &["no epoch is open"]);
        window.fence(Assert::NO_PRECEDE).unwrap();
        refused(window.unlock(other), ErrorClass::RmaSync, &["opened by fence"]);
        refused(window.flush(other), ErrorClass::RmaSync, &["opened by fence"]);
        window.fence(Assert::NO_SUCCEED).unwrap();
        for (assert, bits) in [(Assert::NO_CHECK, "0x400"), (Assert::from_bits(1 << 30), "0x40000000")] {
            refused(window.fence(assert), ErrorClass::Assert, &["fence", bits, "0x7800"]);
        }
        refused(window.lock(Shared, other, Assert::NO_PUT), ErrorClass::Assert, &["lock", "0x1000", "0x400"]);
        assert_untouched(rank, &window, ELEMENTS);
        assert_still_works(rank, &window);
        window.free().unwrap();
    });
}

/// Displacements where 8 bytes do not lie in a window of [`ELEMENTS`], with what an error says of the first byte.
const OUTSIDE: [(u64, &str); 4] = [
    (ELEMENTS, "byte 32"),
    (1 << 40, "byte 8796093022208"),
    (u64::MAX / 8, "byte 18446744073709551608"),
    (u64::MAX, "byte past 2^64"),
];

#[test]
fn displacements_outside_windows_of_one_size() {
    // Size and unit are the same everywhere, so that every path finds the error in the call.
    run_all(3, |rank| {
        let window = filled(rank);
        for (disp, at) in OUTSIDE {
            for target in (0..3).map(Rank) {
                let owner = format!("rank {target}");
                let words = |call| [call, at, "8 bytes", &*owner, "32 bytes"].map(str::to_owned);
                window.fence(Assert::NO_PRECEDE).unwrap();
                for (call, outcome) in calls(&window, target, Disp(disp)) {
                    refused(outcome, ErrorClass::RmaRange, &words(call).each_ref().map(String::as_str));
                }
                window.fence(Assert::NO_SUCCEED).unwrap();
                window.lock(Shared, target, Assert::NONE).unwrap();
                for (call, outcome) in calls(&window, target, Disp(disp)) {
                    refused(outcome, ErrorClass::RmaRange, &words(call).each_ref().map(String::as_str));
                }
                window.unlock(target).unwrap();
            }
        }
        // Two elements at the last place: the first would fit.
        let two: &'static [u64] = &[1, 2];
        let other = Rank((rank.me + 1) % 3);
        window.lock(Shared, other, Assert::NONE).unwrap();
        refused(
            window.put(from(two), other, Disp(3)),
            ErrorClass::RmaRange,
            &["16 bytes", "byte 24", "32 bytes"],
        );
        window.unlock(other).unwrap();
        assert_untouched(rank, &window, ELEMENTS);
        assert_still_works(rank, &window);
        window.free().unwrap();
    });
}

/// The call says that the range is wrong, and nothing is left of it for the synchronization to say.
#[track_caller]
fn reported_by_the_call(call: Result<()>, sync: Result<()>, words: &[&str]) {
    refused(call, ErrorClass::RmaRange, words);
    sync.unwrap();
}

/// A window of one element more on each rank than on the one before.
fn of_different_sizes(rank: &TestRank) -> Window {
    let elements = u64::from(rank.me) + 1;
    let spec = WindowSpec::Allocate { len: elements * 8, unit: 8 };
    let window = rank.engine.create_window(rank.group(), spec).unwrap();
    fill(rank, &window, elements);
    window
}

#[test]
fn an_unknown_size_is_the_targets_to_check_and_the_next_synchronization_raises_the_error() {
    run_all(3, |rank| {
        let target = Rank((rank.me + 1) % 3);
        let size = u64::from(target.0) + 1;
        let [owner, limit, at] =
            [format!("rank {target}"), format!("{} bytes", size * 8), format!("byte {}", size * 8)];
        for (number, sync) in (0..5).flat_map(|number| (0..3).map(move |sync| (number, sync))) {
            let window = of_different_sizes(rank);
            let call = |window: &Window| one_call(window, number, target, Disp(size));
            let (call, sync) = match sync {
                0 => {
                    window.lock(Exclusive, target, Assert::NONE).unwrap();
                    (call(&window), window.unlock(target))
                }
                1 => {
                    window.lock(Shared, target, Assert::NONE).unwrap();
                    let outcome = (call(&window), window.flush(target));
                    window.flush(target).unwrap();
                    window.unlock(target).unwrap();
                    outcome
                }
                _ => {
                    window.fence(Assert::NO_PRECEDE).unwrap();
                    (call(&window), window.fence(Assert::NO_SUCCEED))
                }
            };
            let (reported, silent) = if window.is_direct(target) { (call, sync) } else { (sync, call) };
            silent.unwrap();
            refused(reported, ErrorClass::RmaRange, &[&owner, &limit, &at]);
            rank.barrier();
            assert_untouched(rank, &window, u64::from(rank.me) + 1);
            window.free().unwrap();
        }
    });
}

#[test]
fn a_size_that_an_answer_has_brought_is_checked_by_the_call() {
    run_all(3, |rank| {
        let window = of_different_sizes(rank);
        let target = Rank((rank.me + 1) % 3);
        let size = u64::from(target.0) + 1;
        let (owner, limit) = (format!("rank {target}"), format!("{} bytes", size * 8));
        let places = [(size, format!("byte {}", size * 8)), (u64::MAX, "byte past 2^64".to_owned())];
        let words = places.each_ref().map(|(_, at)| [&*owner, &*limit, &**at]);
        // What is acknowledged or granted says it.
        window.lock(Shared, target, Assert::NONE).unwrap();
        window.put(from(&[initial(target.0, size - 1)]), target, Disp(size - 1)).unwrap();
        window.unlock(target).unwrap();
        for ((disp, _), words) in places.iter().zip(&words) {
            for number in 0..5 {
                let one = |window: &Window| one_call(window, number, target, Disp(*disp));
                window.lock(Exclusive, target, Assert::NONE).unwrap();
                let call = one(&window);
                reported_by_the_call(call, window.unlock(target), words);

                window.lock(Shared, target, Assert::NONE).unwrap();
                let call = one(&window);
                reported_by_the_call(call, window.flush(target), words);
                window.flush(target).unwrap();
                window.unlock(target).unwrap();
            }
            rank.barrier();
            for number in 0..5 {
                window.fence(Assert::NO_PRECEDE).unwrap();
                let call = one_call(&window, number, target, Disp(*disp));
                reported_by_the_call(call, window.fence(Assert::NO_SUCCEED), words);
            }
        }
        // Correct operations between errors are carried out.
        let many: &'static [u64] = &[9; 6];
        window.lock(Exclusive, target, Assert::NONE).unwrap();
        for i in 0..20 {
            refused(window.put(from(many), target, Disp(i)), ErrorClass::RmaRange, &[&*owner, &*limit]);
            let mut got = [0];
            window.get(into(&mut got), target, Disp(size - 1)).unwrap();
            window.flush(target).unwrap();
            assert_eq!(got, [initial(target.0, size - 1)], "a get between errors is carried out");
        }
        window.unlock(target).unwrap();
        assert_untouched(rank, &window, u64::from(rank.me) + 1);
        assert_still_works(rank, &window);
        window.free().unwrap();
    });
}

fn one_call(window: &Window, number: usize, target: Rank, disp: Disp) -> Result<()> {
    let origin: &'static [u64] = &[u64::MAX];
    let result = into(Box::leak(Box::new([0])));
    let swap = CompareAndSwap::new(BasicType::U64).unwrap();
    let (one, zero) = (1u64.to_ne_bytes(), 0u64.to_ne_bytes());
    match number {
        0 => window.put(from(origin), target, disp),
        1 => window.get(result, target, disp),
        2 => window.accumulate(from(origin), kernel(ReduceOp::Sum), target, disp),
        3 => window.fetch_and_op(&one, result, kernel(ReduceOp::Sum), target, disp),
        _ => window.compare_and_swap(&one, &zero, result, swap, target, disp),
    }
}

#[test]
fn what_is_empty_is_legal_and_does_nothing() {
    run_all(3, |rank| {
        let window = filled(rank);
        let before = rank.packets();
        rank.barrier();
        for target in (0..3).map(Rank) {
            window.lock(Shared, target, Assert::NONE).unwrap();
            // Up to the end, which is a place where nothing fits.
            for disp in [0, 1, ELEMENTS] {
                window.put(from(&[]), target, Disp(disp)).unwrap();
                window.get(into(&mut []), target, Disp(disp)).unwrap();
                window.accumulate(from(&[]), kernel(ReduceOp::Sum), target, Disp(disp)).unwrap();
            }
            window.flush(target).unwrap();
            window.unlock(target).unwrap();
        }
        rank.barrier();
        assert_eq!(rank.packets(), before, "what is empty sends nothing");
        assert_untouched(rank, &window, ELEMENTS);
        window.free().unwrap();
        // A window of nothing, too.
        let nothing = rank.allocate(0);
        nothing.fence(Assert::NO_PRECEDE).unwrap();
        nothing.put(from(&[]), Rank(1), Disp(0)).unwrap();
        refused(nothing.put(from(&[1]), Rank(1), Disp(0)), ErrorClass::RmaRange, &["has 0 bytes"]);
        nothing.fence(Assert::NO_SUCCEED).unwrap();
        nothing.free().unwrap();
    });
}

#[test]
fn operations_on_types_they_are_not_defined_on() {
    for ty in [BasicType::F32, BasicType::F64] {
        for op in [ReduceOp::BitAnd, ReduceOp::BitOr, ReduceOp::LogicalXor] {
            assert!(Kernel::new(op, ty).is_none(), "{op} on {ty}");
        }
        assert!(CompareAndSwap::new(ty).is_none(), "compare-and-swap on {ty}");
    }
    run_all(3, |rank| {
        let window = filled(rank);
        let target = Rank((rank.me + 1) % 3);
        let words: &'static [u64] = &[1, 2];
        let result = into(Box::leak(Box::new([0, 0])));
        let sum = kernel(ReduceOp::Sum);
        let swap = CompareAndSwap::new(BasicType::U64).unwrap();
        let eight = 1u64.to_ne_bytes();
        window.fence(Assert::NO_PRECEDE).unwrap();
        refused(
            window.accumulate(from(words), kernel(ReduceOp::NoOp), target, Disp(0)),
            ErrorClass::Op,
            &["accumulate", "MPI_NO_OP"],
        );
        refused(
            window.accumulate(from(words).part(0, 9), sum, target, Disp(0)),
            ErrorClass::Count,
            &["accumulate", "9 bytes", "8 bytes"],
        );
        refused(
            window.fetch_and_op(&eight[..4], result.part(0, 8), sum, target, Disp(0)),
            ErrorClass::Count,
            &["fetch_and_op", "[4, 8]", "8"],
        );
        refused(
            window.fetch_and_op(&eight, result, sum, target, Disp(0)),
            ErrorClass::Count,
            &["fetch_and_op", "[8, 16]"],
        );
        refused(
            window.compare_and_swap(&eight, &eight[..0], result.part(0, 8), swap, target, Disp(0)),
            ErrorClass::Count,
            &["compare_and_swap", "[8, 0, 8]"],
        );
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert_untouched(rank, &window, ELEMENTS);
        assert_still_works(rank, &window);
        window.free().unwrap();
    });
}

#[test]
fn windows_that_cannot_be() {
    for setup in [Setup::packets(3), Setup::direct(3), Setup::mixed(3)] {
        run(&setup, |rank| {
            let create = |len, unit| {
                let spec = WindowSpec::Allocate { len, unit };
                rank.engine.create_window(rank.group(), spec).map(|window| window.free().unwrap())
            };
            // One rank's argument is bad: it learns why, the others that there is no window.
            for (len, unit, class, words) in [
                (u64::MAX, 1, ErrorClass::Size, ["18446744073709551615", "9223372036854775807"]),
                (1 << 63, 1, ErrorClass::Size, ["9223372036854775808", "9223372036854775807"]),
                (8, 0, ErrorClass::Disp, ["unit 0", "1 to 9"]),
                (8, u64::MAX, ErrorClass::Disp, ["18446744073709551615", "1 to 9"]),
            ] {
                if rank.me == 1 {
                    refused(create(len, unit), class, &words);
                } else {
                    refused(create(8, 8), ErrorClass::Other, &["rank 1 gave a bad argument", class.name()]);
                }
            }
            // More than there is, for all or for one.
            refused(create(1 << 62, 1), ErrorClass::NoMem, &["bytes"]);
            for _ in 0..3 {
                // Simulated memory is made in one place, so that all ranks learn the same.
                let len = if rank.me == 1 { 1 << 62 } else { 8 };
                refused(create(len, 1), ErrorClass::NoMem, &["bytes"]);
            }
            let window = filled(rank);
            assert_still_works(rank, &window);
            window.free().unwrap();
        });
    }
}

#[test]
fn a_fence_epoch_with_operations_is_closed_by_a_fence_whatever_their_way() {
    run_all(2, |rank| {
        let window = rank.allocate(2);
        let (other, mine) = (Rank(1 - rank.me), [9]);
        let groups = [other];
        window.fence(Assert::NO_PRECEDE).unwrap();
        window.put(from(&mine), other, Disp(1)).unwrap();
        let words = ["opened by fence", "call fence first"];
        refused(window.lock(Exclusive, other, Assert::NONE), ErrorClass::RmaSync, &words);
        refused(window.lock_all(Assert::NONE), ErrorClass::RmaSync, &words);
        refused(window.start(&groups, Assert::NO_CHECK), ErrorClass::RmaSync, &words);
        window.fence(Assert::NONE).unwrap();
        assert_eq!(local(&window, 1), 9);
        // The epoch that this fence has opened is without operations, so another one may replace it.
        window.lock(Exclusive, other, Assert::NONE).unwrap();
        window.unlock(other).unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}
