//! Packs: from `RMA_PACK_FROM` waiting operations on, small stores to a target share packets; and mean what they meant.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::WindowSpec;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, kernel, local, run};

/// Longest pack, and what an entry needs besides its data; `crates/rma-core/wire.md` has both.
const PACK: u64 = 8192;
const ENTRY: u64 = 12;

fn setup() -> Setup {
    let mut setup = Setup::packets(2);
    setup.sim.max_packet = 16384;
    setup
}

/// What `n` puts of one element cost, each `step` elements from the one before, in one epoch of an exclusive lock.
fn cost_of_puts(n: u64, step: u64, budget: u64) {
    run(&setup(), |rank| {
        let window = rank.allocate(n * step);
        let values = (1..=n).collect::<Vec<u64>>();
        rank.barrier();
        let before = rank.packets();
        rank.barrier();
        if rank.me == 0 {
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            for i in 0..n {
                window.put(from(&values[i as usize..][..1]), Rank(1), Disp(i * step)).unwrap();
            }
            window.unlock(Rank(1)).unwrap();
            assert_eq!(rank.packets() - before, budget, "{n} puts, {step} apart");
        }
        rank.barrier();
        if rank.me == 1 {
            for i in 0..n {
                assert_eq!(local(&window, (i * step) as usize), i + 1);
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_stream_of_small_puts_is_few_packets() {
    let from = setup().engine.pack_from;
    cost_of_puts(from - 1, 2, from - 1 + 2);
    // Lock and grant, the packs, the acknowledgement.
    cost_of_puts(from, 2, 2 + 1 + 1);
    let most = PACK / (ENTRY + 8);
    cost_of_puts(most, 2, 2 + 1 + 1);
    cost_of_puts(most + 1, 2, 2 + 2 + 1);
    cost_of_puts(1000, 2, 2 + 1000_u64.div_ceil(most) + 1);
}

#[test]
fn neighbours_share_an_entry() {
    let most = (PACK - ENTRY) / 8;
    cost_of_puts(most, 1, 2 + 1 + 1);
    cost_of_puts(most + 1, 1, 2 + 2 + 1);
}

#[test]
fn accumulates_stay_in_order_among_each_other_and_with_those_that_are_not_packed() {
    for pack_from in [1, 2, 5, 64] {
        let mut setup = setup();
        setup.engine.pack_from = pack_from;
        run(&setup, |rank| {
            let window = rank.allocate(4);
            let values = (0..1000).collect::<Vec<u64>>();
            if rank.me == 0 {
                window.lock(Shared, Rank(1), Assert::NONE).unwrap();
                let mut expected = 0;
                let mut seen = vec![(0, 0); 20];
                for i in 0..1000 {
                    let op = if i % 7 == 0 { ReduceOp::Replace } else { ReduceOp::Sum };
                    expected = if i % 7 == 0 { i } else { expected + i };
                    window
                        .accumulate(from(&values[i as usize..][..1]), kernel(op), Rank(1), Disp(i % 3))
                        .unwrap();
                    window
                        .accumulate(from(&values[i as usize..][..1]), kernel(op), Rank(1), Disp(3))
                        .unwrap();
                    if i % 50 == 49 {
                        let slot = &mut seen[(i / 50) as usize];
                        slot.1 = expected;
                        let result = into(std::slice::from_mut(&mut slot.0));
                        window
                            .fetch_and_op(
                                &0u64.to_ne_bytes(),
                                result,
                                kernel(ReduceOp::NoOp),
                                Rank(1),
                                Disp(3),
                            )
                            .unwrap();
                    }
                }
                window.flush(Rank(1)).unwrap();
                assert!(seen.iter().all(|(old, expected)| old == expected), "from {pack_from}: {seen:?}");
                window.unlock(Rank(1)).unwrap();
            }
            rank.barrier();
            window.free().unwrap();
        });
    }
}

#[test]
fn an_entry_outside_the_window_is_an_error_and_holds_back_no_other() {
    run(&setup(), |rank| {
        // Sizes differ, so only the target can tell, until it has answered.
        let spec = WindowSpec::Allocate { len: if rank.me == 1 { 800 } else { 1600 }, unit: 8 };
        let window = rank.engine.create_window(rank.group(), spec).expect("window creation");
        let values = (1..=200).collect::<Vec<u64>>();
        if rank.me == 0 {
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            for i in (0..200).rev() {
                window.put(from(&values[i..=i]), Rank(1), Disp(i as u64)).unwrap();
            }
            let error = window.flush(Rank(1)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            window.flush(Rank(1)).expect("an error is raised once");
            window.unlock(Rank(1)).unwrap();
        }
        rank.barrier();
        if rank.me == 1 {
            for i in 0..100 {
                assert_eq!(local(&window, i), i as u64 + 1);
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_store_outside_that_waits_when_the_size_becomes_known_is_the_targets_to_refuse() {
    let mut setup = setup();
    setup.engine.pack_from = 3;
    let world = Stepped::new(&setup, 1);
    let windows = world.windows(|me| WindowSpec::Allocate { len: if me == 1 { 80 } else { 160 }, unit: 8 });
    let origin = &windows[0];
    let values = [5, 6, 7, 8];
    let put = |at: usize, disp: u64| origin.put(from(&values[at..=at]), Rank(1), Disp(disp));
    let lock = origin.begin_lock(Shared, Rank(1), Assert::NONE).unwrap();
    put(0, 0).unwrap();
    world.finish(origin, "lock", lock).unwrap();
    let flush = origin.begin_flush(Rank(1)).unwrap();
    // It waits for what comes behind it, while the answer to the flush comes.
    put(1, 10).unwrap();
    world.finish(origin, "flush", flush).unwrap();
    assert_eq!(put(2, 10).unwrap_err().class(), ErrorClass::RmaRange, "the size is known");
    (2..4).for_each(|at| put(at, at as u64).unwrap());
    assert_eq!(origin.elements().ops, 1, "all that wait are one pack");
    let unlock = origin.begin_unlock(Rank(1)).unwrap();
    let error = world.finish(origin, "unlock", unlock).unwrap_err();
    assert_eq!(error.class(), ErrorClass::RmaRange, "of the store that waited: {error}");
    assert_eq!([0, 2, 3].map(|at| local(&windows[1], at)), [5, 7, 8]);
}
