//! Streams of stores with requests: from a few unacknowledged ones on, they share packets, and each is
//! complete as it joins.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::{ErrorClass, Result};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window};
use rma_tests::world::{Elements, Setup, TestRank, from, kernel, local, run, run_all};

/// Longest pack, and what an entry needs besides its data; `crates/rma-core/wire.md` has both.
const PACK: u64 = 8192;
const ENTRY: u64 = 12;
/// Stores of 8 bytes with others between them in one pack.
const MOST: u64 = PACK / (ENTRY + 8);

const TWO: [Rank; 2] = [Rank(1), Rank(2)];

fn setup() -> Setup {
    let mut setup = Setup::packets(2);
    setup.sim.max_packet = 16384;
    setup
}

/// Stores with a request that leave alone before the rest share packets.
fn alone(setup: &Setup) -> u64 {
    setup.engine.pack_from.div_ceil(4)
}

fn put(window: &Window, value: u64, disp: u64) -> Result<OperationRequest> {
    put_to(window, Rank(1), value, disp)
}

fn put_to(window: &Window, target: Rank, value: u64, disp: u64) -> Result<OperationRequest> {
    let ty = Datatype::basic(BasicType::U64);
    let origin = Origin { base: (&raw const value).cast(), count: 1, ty: &ty };
    // SAFETY: the value stays until the request has ended, which is before this returns or the test fails.
    let request = unsafe { window.rput(origin, target, TargetArea { disp: Disp(disp), count: 1, ty: &ty }) }?;
    request.wait()?;
    Ok(request)
}

fn add(window: &Window, value: u64, disp: u64) {
    let ty = Datatype::basic(BasicType::U64);
    let origin = Origin { base: (&raw const value).cast(), count: 1, ty: &ty };
    let area = TargetArea { disp: Disp(disp), count: 1, ty: &ty };
    // SAFETY: as above.
    let request = unsafe { window.raccumulate(origin, ReduceOp::Sum, Rank(1), area) }.unwrap();
    request.wait().unwrap();
}

/// Runs `body` on rank 0 of two in an epoch of rank 1's lock, which is held; then rank 1 has these elements.
fn leaves(setup: &Setup, expected: &[u64], body: impl Fn(&TestRank, &Window) + Send + Sync) {
    leaves_at(setup, &[Rank(1)], expected, body);
}

/// The same with all other ranks, which these are.
fn leaves_at(
    setup: &Setup,
    others: &[Rank],
    expected: &[u64],
    body: impl Fn(&TestRank, &Window) + Send + Sync,
) {
    let mut setup = setup.clone();
    setup.ranks = 1 + others.len() as u32;
    run(&setup, |rank| {
        let window = rank.allocate(expected.len() as u64);
        if rank.me == 0 {
            for other in others {
                window.lock(Exclusive, *other, Assert::NONE).unwrap();
                window.fetch_add(other.0, 0, 0).unwrap();
            }
            body(rank, &window);
            others.iter().for_each(|other| window.unlock(*other).unwrap());
        }
        rank.barrier();
        if rank.me != 0 {
            let found = (0..expected.len()).map(|at| local(&window, at)).collect::<Vec<_>>();
            assert_eq!(found, expected);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

/// Elements that every other one of a stream of puts leaves.
fn every_other(n: u64) -> Vec<u64> {
    (0..2 * n).map(|at| if at % 2 == 0 { at / 2 + 1 } else { 0 }).collect()
}

#[test]
fn a_stream_is_few_packets() {
    let setup = setup();
    let alone = alone(&setup);
    for n in [1, alone, alone + 1, alone + MOST, alone + MOST + 1, 1000] {
        leaves(&setup, &every_other(n), |rank, window| {
            let before = rank.packets();
            for i in 0..n {
                let request = put(window, i + 1, 2 * i).unwrap();
                assert!(request.is_complete().unwrap());
                assert_eq!(window.elements().ops, u32::from(i >= alone), "put {i} of {n}");
            }
            window.flush(Rank(1)).unwrap();
            let packs = n.saturating_sub(alone).div_ceil(MOST);
            // The flush rides on the last pack; what has left is asked for by a packet of its own.
            let asks = u64::from(packs == 0);
            assert_eq!(rank.packets() - before, n.min(alone) + packs + asks + 1, "{n} puts");
            assert_eq!((window.elements().ops, window.outstanding()), (0, 0));
        });
    }
}

#[test]
fn streams_to_two_targets_in_turns_are_two_streams() {
    let setup = setup();
    let alone = alone(&setup);
    let n = alone + 100;
    leaves_at(&setup, &TWO, &every_other(n), |rank, window| {
        let before = rank.packets();
        for i in 0..n {
            for target in TWO {
                put_to(window, target, i + 1, 2 * i).unwrap();
            }
        }
        assert_eq!((rank.packets() - before, window.elements().ops), (2 * alone, 2));
        window.flush_all().unwrap();
        // The flush rides on each pack, and each target answers it.
        assert_eq!((rank.packets() - before, window.elements().ops), (2 * alone + 4, 0));
    });
}

#[test]
fn stores_to_two_targets_in_turns_are_two_packs() {
    let mut setup = setup();
    for pack_from in [1, 8, 64] {
        setup.engine.pack_from = pack_from;
        let n = 300;
        leaves_at(&setup, &TWO, &every_other(n), |rank, window| {
            let before = rank.packets();
            let values = (1..=n).collect::<Vec<u64>>();
            for (i, value) in values.chunks(1).enumerate() {
                for target in TWO {
                    window.put(from(value), target, Disp(2 * i as u64)).unwrap();
                }
            }
            let waiting = (rank.packets() - before, window.elements().ops);
            window.flush_all().unwrap();
            assert_eq!(waiting, (0, 2), "{n} puts to each, packs from {pack_from}");
            assert_eq!(rank.packets() - before, 4);
        });
    }
}

#[test]
fn a_flush_ends_it() {
    let setup = setup();
    let alone = alone(&setup);
    let n = 3 * (alone + 1);
    leaves(&setup, &every_other(n), |rank, window| {
        for epoch in 0..3 {
            let before = rank.packets();
            (0..=alone).for_each(|i| {
                let at = epoch * (alone + 1) + i;
                put(window, at + 1, 2 * at).unwrap();
            });
            assert_eq!(rank.packets() - before, alone, "the last one waits");
            rank.engine.poll();
            assert_eq!((rank.packets() - before, window.elements().ops), (alone, 1));
            window.flush(Rank(1)).unwrap();
            assert_eq!(rank.packets() - before, alone + 2);
        }
    });
}

#[test]
fn a_full_pack_leaves_without_a_flush() {
    let setup = setup();
    let alone = alone(&setup);
    leaves(&setup, &every_other(alone + MOST + 1), |rank, window| {
        let before = rank.packets();
        for i in 0..=alone + MOST {
            put(window, i + 1, 2 * i).unwrap();
        }
        assert_eq!((rank.packets() - before, window.elements().ops), (alone + 1, 1));
    });
}

#[test]
fn it_keeps_its_place_among_other_calls() {
    let setup = setup();
    for pack_from in [1, 8, 64] {
        let mut setup = setup.clone();
        setup.engine.pack_from = pack_from;
        leaves(&setup, &[100 + 20 * 2 + 20 * 18, 20 * 10 * 2, 0, 77], |_, window| {
            let mut expected = 0;
            for i in 0..100 {
                add(window, 1, 0);
                expected += 1;
                let mut old = 0;
                match i % 5 {
                    // Behind what waits, with data and without, with a request and without.
                    0 => {
                        old = window.fetch_add(1, 0, 2).unwrap();
                        expected += 2;
                        assert_eq!(old, expected - 2, "call {i} from {pack_from}");
                    }
                    1 => {
                        let ty = Datatype::basic(BasicType::U64);
                        let result = Destination { base: (&raw mut old).cast(), count: 1, ty: &ty };
                        let area = TargetArea { disp: Disp(0), count: 1, ty: &ty };
                        // SAFETY: `old` stays until the request has ended.
                        unsafe { window.rget(result, Rank(1), area) }.unwrap().wait().unwrap();
                        // A get has no order with stores of its epoch, but is never ahead of itself.
                        assert!(old <= expected, "call {i} from {pack_from}");
                    }
                    2 => {
                        let values = [2_u64];
                        let sum = kernel(ReduceOp::Sum);
                        (0..10)
                            .for_each(|_| window.accumulate(from(&values), sum, Rank(1), Disp(1)).unwrap());
                        window.flush_local(Rank(1)).unwrap();
                    }
                    3 => {
                        for _ in 0..18 {
                            add(window, 1, 0);
                            expected += 1;
                        }
                    }
                    _ => {
                        put(window, 77, 3).unwrap();
                    }
                }
            }
            assert_eq!(window.fetch_add(1, 0, 0).unwrap(), expected);
        });
    }
}

#[test]
fn one_that_waits_alone_goes_first() {
    let setup = setup();
    leaves(&setup, &[alone(&setup), 51], |_, window| {
        (0..alone(&setup)).for_each(|_| add(window, 1, 0));
        assert_eq!(window.elements().ops, 0, "all have left");
        window.accumulate(from(&[50]), kernel(ReduceOp::Replace), Rank(1), Disp(1)).unwrap();
        add(window, 1, 1);
    });
}

#[test]
fn what_waits_goes_first_and_holds_it_back_no_longer_than_itself() {
    let mut setup = setup();
    setup.engine.piggyback_threshold = 2;
    leaves(&setup, &[alone(&setup), 50, 51], |rank, window| {
        (0..alone(&setup)).for_each(|_| add(window, 1, 0));
        let before = rank.packets();
        window.accumulate(from(&[50]), kernel(ReduceOp::Replace), Rank(1), Disp(1)).unwrap();
        window.accumulate(from(&[50]), kernel(ReduceOp::Replace), Rank(1), Disp(2)).unwrap();
        rank.engine.poll();
        assert_eq!((rank.packets() - before, window.elements().ops), (0, 2));
        add(window, 1, 2);
        rank.engine.poll();
        assert_eq!((rank.packets() - before, window.elements().ops), (1, 2), "three are more than may wait");
    });
}

#[test]
fn an_epoch_that_allows_no_requests_refuses_them_although_a_pack_waits() {
    run(&setup(), |rank| {
        let window = rank.allocate(400);
        window.fence(Assert::NONE).unwrap();
        if rank.me == 0 {
            let values = (1..=200).collect::<Vec<u64>>();
            for i in 0..200 {
                window.put(from(&values[i..=i]), Rank(1), Disp(2 * i as u64)).unwrap();
            }
            let ops = window.elements().ops;
            assert!((1..200).contains(&ops), "a pack waits: {ops} elements");
            let error = put(&window, 9, 1).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        if rank.me == 1 {
            let found = (0..400).map(|at| local(&window, at)).collect::<Vec<_>>();
            assert_eq!(found, every_other(200));
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn one_outside_the_window_is_refused_and_the_others_arrive() {
    let setup = setup();
    let n = alone(&setup) + 20;
    leaves(&setup, &every_other(n), |_, window| {
        for i in 0..n {
            put(window, i + 1, 2 * i).unwrap();
            let error = put(window, 9, 2 * n).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        }
    });
}

#[test]
fn settings_that_hold_nothing_back_have_none() {
    let mut setup = setup();
    setup.engine.piggyback_threshold = 0;
    leaves(&setup, &every_other(100), |rank, window| {
        let before = rank.packets();
        for i in 0..100 {
            put(window, i + 1, 2 * i).unwrap();
            assert_eq!(rank.packets() - before, i + 1);
        }
    });
}

#[test]
fn streams_of_several_origins_over_every_path_add_up() {
    run_all(3, |rank| {
        let window = rank.allocate(4);
        window.lock(Shared, Rank(1), Assert::NONE).unwrap();
        (0..500).for_each(|i| add(&window, i, i % 4));
        window.unlock(Rank(1)).unwrap();
        rank.barrier();
        if rank.me == 1 {
            for at in 0..4 {
                let of_one: u64 = (0..500).filter(|i| i % 4 == at).sum();
                assert_eq!(local(&window, at as usize), 3 * of_one);
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}
