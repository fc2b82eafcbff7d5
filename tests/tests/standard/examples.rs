//! Examples 11.1 to 11.23 of the chapter by number, on every path, with default and with smallest sizes. Where the chapter
//! defines the outcome it is asserted; where it does not (11.11, 11.12), what it promises is. The same in C:
//! `tests/c/example_11_*.c`.
//!
//! Where an example has a barrier or a message, the test bed's barrier stands for it.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window, WindowSpec};
use rma_tests::world::{Elements, Setup, TestRank, from, into, kernel, local, run, run_all, set_local};

const RANKS: u32 = 3;
const ITERATIONS: u64 = 6;
const A: Rank = Rank(0);
const B: Rank = Rank(1);

/// Entry `i` of the distributed array of 11.1 and 11.2.
fn entry(i: u64) -> u64 {
    7 * i + 3
}

/// A permutation of the entries: `map(i)` is the entry that entry `i` gets.
fn map(i: u64, entries: u64) -> u64 {
    (5 * i + 2) % entries
}

const PER_RANK: u64 = 8;

/// A window with this rank's part of the array.
fn part(rank: &TestRank) -> Window {
    let window = rank.allocate(PER_RANK);
    (0..PER_RANK).for_each(|i| set_local(&window, i as usize, entry(u64::from(rank.me) * PER_RANK + i)));
    rank.barrier();
    window
}

#[test]
fn example_11_01_one_get_of_each_rank_with_types_that_gather_and_scatter() {
    run_all(RANKS, |rank| {
        let (window, entries) = (part(rank), PER_RANK * u64::from(RANKS));
        let word = Datatype::basic(BasicType::U64);
        let mut mine = [0_u64; PER_RANK as usize];
        let wanted =
            (0..PER_RANK).map(|i| map(u64::from(rank.me) * PER_RANK + i, entries)).collect::<Vec<_>>();
        window.fence(Assert::NO_PRECEDE).unwrap();
        for owner in 0..u64::from(RANKS) {
            let here = wanted.iter().enumerate().filter(|(_, from)| **from / PER_RANK == owner);
            let (to, at): (Vec<i64>, Vec<i64>) =
                here.map(|(to, from)| (to as i64, (from % PER_RANK) as i64)).unzip();
            let (to, at) = (
                Datatype::indexed_block(1, to, &word).unwrap(),
                Datatype::indexed_block(1, at, &word).unwrap(),
            );
            let result = Destination { base: mine.as_mut_ptr().cast(), count: 1, ty: &to };
            let area = TargetArea { disp: Disp(0), count: 1, ty: &at };
            // SAFETY: the result lies in `mine`, which is not touched before the fence.
            unsafe { window.get_typed(result, Rank(owner as u32), area) }.unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert_eq!(mine.to_vec(), wanted.into_iter().map(entry).collect::<Vec<_>>());
        window.free().unwrap();
    });
}

#[test]
fn example_11_02_a_get_for_every_entry() {
    run_all(RANKS, |rank| {
        let (window, entries) = (part(rank), PER_RANK * u64::from(RANKS));
        let mut mine = [0_u64; PER_RANK as usize];
        window.fence(Assert::NO_PRECEDE).unwrap();
        for (i, slot) in mine.chunks_mut(1).enumerate() {
            let wanted = map(u64::from(rank.me) * PER_RANK + i as u64, entries);
            window.get(into(slot), Rank((wanted / PER_RANK) as u32), Disp(wanted % PER_RANK)).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        for (i, got) in mine.into_iter().enumerate() {
            assert_eq!(got, entry(map(u64::from(rank.me) * PER_RANK + i as u64, entries)));
        }
        window.free().unwrap();
    });
}

#[test]
fn example_11_03_sums_of_what_maps_to_each_entry() {
    run_all(RANKS, |rank| {
        let (window, entries) = (rank.allocate(PER_RANK), PER_RANK * u64::from(RANKS));
        // Several entries map to one.
        let target = |i: u64| i * i % entries;
        let values = (0..PER_RANK).map(|i| entry(u64::from(rank.me) * PER_RANK + i)).collect::<Vec<_>>();
        window.fence(Assert::NO_PRECEDE).unwrap();
        for (i, value) in values.chunks(1).enumerate() {
            let to = target(u64::from(rank.me) * PER_RANK + i as u64);
            let (owner, at) = (Rank((to / PER_RANK) as u32), Disp(to % PER_RANK));
            window.accumulate(from(value), kernel(ReduceOp::Sum), owner, at).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        for at in 0..PER_RANK {
            let me = u64::from(rank.me) * PER_RANK + at;
            let expected = (0..entries).filter(|i| target(*i) == me).map(entry).sum::<u64>();
            assert_eq!(local(&window, at as usize), expected);
        }
        window.free().unwrap();
    });
}

#[test]
fn examples_11_04_and_11_05_a_put_to_a_target_that_posts_late_and_one_under_a_lock() {
    run_all(2, |rank| {
        let window = rank.allocate(2);
        for round in 1..=ITERATIONS {
            let value = [round];
            if rank.me == 0 {
                window.start(&[B], Assert::NONE).unwrap();
                window.put(from(&value), B, Disp(0)).unwrap();
                window.complete().unwrap();
                // 11.5: the target takes no part.
                window.lock(Exclusive, B, Assert::NONE).unwrap();
                window.put(from(&value), B, Disp(1)).unwrap();
                window.unlock(B).unwrap();
            } else {
                for _ in 0..round {
                    rank.engine.poll();
                }
                window.post_to(&[A], Assert::NONE).unwrap();
                window.wait().unwrap();
                assert_eq!(local(&window, 0), round);
            }
            rank.barrier();
            assert_eq!(local(&window, 1), if rank.me == 1 { round } else { 0 });
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn examples_11_06_to_11_10_local_stores_and_remote_puts_with_locks_and_syncs() {
    run_all(2, |rank| {
        let window = rank.allocate(1);
        let get = |rank: &TestRank| {
            let mut got = [0];
            window.lock(Shared, B, Assert::NONE).unwrap();
            window.get(into(&mut got), B, Disp(0)).unwrap();
            window.unlock(B).unwrap();
            assert_eq!(rank.me, 0);
            got[0]
        };
        for round in (0..ITERATIONS).map(|round| 10 * round) {
            // 11.6: a store under the own lock, then a get.
            if rank.me == 1 {
                window.lock(Exclusive, B, Assert::NONE).unwrap();
                set_local(&window, 0, round + 6);
                window.unlock(B).unwrap();
            }
            rank.barrier();
            if rank.me == 0 {
                assert_eq!(get(rank), round + 6);
            }
            rank.barrier();
            // 11.7: the same without a lock, with the sync that the text asks for.
            window.lock_all(Assert::NONE).unwrap();
            if rank.me == 1 {
                set_local(&window, 0, round + 7);
                window.sync().unwrap();
            }
            rank.barrier();
            window.unlock_all().unwrap();
            if rank.me == 0 {
                assert_eq!(get(rank), round + 7);
            }
            rank.barrier();
            // 11.8: a put, then a load under the own lock.
            let value = [round + 8, round + 9];
            if rank.me == 0 {
                window.lock(Exclusive, B, Assert::NONE).unwrap();
                window.put(from(&value[..1]), B, Disp(0)).unwrap();
                window.unlock(B).unwrap();
            }
            rank.barrier();
            if rank.me == 1 {
                window.lock(Shared, B, Assert::NONE).unwrap();
                assert_eq!(local(&window, 0), round + 8);
                window.unlock(B).unwrap();
            }
            rank.barrier();
            // 11.9 and 11.10: a put and a flush within lock_all; the target loads after a barrier and a sync.
            window.lock_all(Assert::NONE).unwrap();
            if rank.me == 0 {
                window.put(from(&value[1..]), B, Disp(0)).unwrap();
                window.flush(B).unwrap();
            }
            rank.barrier();
            window.sync().unwrap();
            if rank.me == 1 {
                assert_eq!(local(&window, 0), round + 9);
            }
            window.unlock_all().unwrap();
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn examples_11_11_and_11_12_what_is_promised_of_a_store_before_post_and_a_put_before_a_lock() {
    run_all(2, |rank| {
        let window = rank.allocate(2);
        for round in (1..=ITERATIONS).map(|round| 10 * round) {
            let (value, mut got) = ([round + 5], [0]);
            if rank.me == 0 {
                set_local(&window, 1, round);
                window.post_to(&[A, B], Assert::NONE).unwrap();
                window.start(&[A], Assert::NONE).unwrap();
                window.put(from(&value), A, Disp(0)).unwrap();
                window.complete().unwrap();
                window.wait().unwrap();
                assert_eq!(local(&window, 0), round + 5);
            } else {
                window.start(&[A], Assert::NONE).unwrap();
                window.get(into(&mut got), A, Disp(1)).unwrap();
                window.complete().unwrap();
                assert_eq!(got, [round]);
            }
            rank.barrier();
            if rank.me == 0 {
                window.lock(Exclusive, B, Assert::NONE).unwrap();
                window.put(from(&value), B, Disp(0)).unwrap();
                window.unlock(B).unwrap();
            }
            rank.barrier();
            if rank.me == 1 {
                window.post_to(&[A], Assert::NONE).unwrap();
                window.wait().unwrap();
                assert_eq!(local(&window, 0), round + 5);
            } else {
                window.start(&[B], Assert::NONE).unwrap();
                window.complete().unwrap();
            }
            rank.barrier();
        }
        window.free().unwrap();
    });
}

/// How the ranks of a ring exchange their borders in examples 11.13 to 11.16.
#[derive(Clone, Copy, Debug)]
enum Exchange {
    FencedPuts,
    FencedGets,
    PostedPuts,
    PostedGets,
}

/// A ring of cells, one border element each: every iteration a rank's value is the sum of its neighbours'.
fn iterate(rank: &TestRank, exchange: Exchange) {
    // Own value, and what came from the left and from the right.
    let window = rank.allocate(3);
    let size = rank.size;
    let (left, right) = (Rank((rank.me + size - 1) % size), Rank((rank.me + 1) % size));
    let mut expected = (1..=u64::from(size)).collect::<Vec<_>>();
    set_local(&window, 0, expected[rank.me as usize]);
    rank.barrier();
    for _ in 0..ITERATIONS {
        let (mine, mut got) = ([local(&window, 0)], [[0]; 2]);
        let group = [left, right];
        match exchange {
            Exchange::FencedPuts => {
                window.fence(Assert::NO_PRECEDE).unwrap();
                window.put(from(&mine), right, Disp(1)).unwrap();
                window.put(from(&mine), left, Disp(2)).unwrap();
                window.fence(Assert::NO_STORE.with(Assert::NO_SUCCEED)).unwrap();
            }
            Exchange::FencedGets => {
                window.fence(Assert::NO_PUT.with(Assert::NO_PRECEDE)).unwrap();
                window.get(into(&mut got[0]), left, Disp(0)).unwrap();
                window.get(into(&mut got[1]), right, Disp(0)).unwrap();
                window.fence(Assert::NO_SUCCEED).unwrap();
            }
            Exchange::PostedPuts => {
                window.post_to(&group, Assert::NONE).unwrap();
                window.start(&group, Assert::NONE).unwrap();
                window.put(from(&mine), right, Disp(1)).unwrap();
                window.put(from(&mine), left, Disp(2)).unwrap();
                window.complete().unwrap();
                window.wait().unwrap();
            }
            Exchange::PostedGets => {
                window.post_to(&group, Assert::NO_PUT).unwrap();
                window.start(&group, Assert::NONE).unwrap();
                window.get(into(&mut got[0]), left, Disp(0)).unwrap();
                window.get(into(&mut got[1]), right, Disp(0)).unwrap();
                window.complete().unwrap();
                window.wait().unwrap();
            }
        }
        if matches!(exchange, Exchange::FencedPuts | Exchange::PostedPuts) {
            got = [[local(&window, 1)], [local(&window, 2)]];
        }
        let size = expected.len();
        expected = (0..size).map(|i| expected[(i + size - 1) % size] + expected[(i + 1) % size]).collect();
        assert_eq!(got[0][0] + got[1][0], expected[rank.me as usize], "{exchange:?}");
        set_local(&window, 0, expected[rank.me as usize]);
        rank.barrier();
    }
    window.free().unwrap();
}

#[test]
fn example_11_13_borders_put_between_fences() {
    run_all(RANKS, |rank| iterate(rank, Exchange::FencedPuts));
}

#[test]
fn example_11_14_borders_got_between_fences() {
    run_all(RANKS, |rank| iterate(rank, Exchange::FencedGets));
}

#[test]
fn example_11_15_borders_put_between_start_and_complete() {
    run_all(RANKS, |rank| iterate(rank, Exchange::PostedPuts));
}

#[test]
fn example_11_16_borders_got_between_start_and_complete() {
    run_all(RANKS, |rank| iterate(rank, Exchange::PostedGets));
}

#[test]
fn example_11_17_two_windows_in_turn_each_exposed_while_the_other_is_used() {
    run_all(RANKS, |rank| {
        let windows = [rank.allocate(1), rank.allocate(1)];
        let (next, before) = (Rank((rank.me + 1) % RANKS), Rank((rank.me + RANKS - 1) % RANKS));
        windows[0].post_to(&[before], Assert::NONE).unwrap();
        for round in 1..=ITERATIONS {
            let (now, then) = (&windows[(round as usize + 1) % 2], &windows[round as usize % 2]);
            then.post_to(&[before], Assert::NONE).unwrap();
            let value = [100 * round + u64::from(rank.me)];
            now.start(&[next], Assert::NONE).unwrap();
            now.put(from(&value), next, Disp(0)).unwrap();
            now.complete().unwrap();
            now.wait().unwrap();
            assert_eq!(local(now, 0), 100 * round + u64::from(before.0));
        }
        let last = &windows[ITERATIONS as usize % 2];
        last.start(&[next], Assert::NONE).unwrap();
        last.complete().unwrap();
        last.wait().unwrap();
        windows.into_iter().for_each(|window| window.free().unwrap());
    });
}

#[test]
fn example_11_18_a_counting_semaphore() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(1);
        window.lock_all(Assert::NONE).unwrap();
        if rank.me == 0 {
            set_local(&window, 0, u64::from(RANKS));
            window.sync().unwrap();
        }
        rank.barrier();
        let minus_one = [u64::MAX];
        window.accumulate(from(&minus_one), kernel(ReduceOp::Sum), A, Disp(0)).unwrap();
        let mut left = [u64::MAX];
        while left[0] != 0 {
            window.fetch_and_op(&[0; 8], into(&mut left), kernel(ReduceOp::NoOp), A, Disp(0)).unwrap();
            window.flush(A).unwrap();
            assert!(left[0] < u64::from(RANKS), "it counts down from {RANKS}: {}", left[0]);
        }
        window.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn example_11_19_two_ranks_exclude_each_other_with_three_words() {
    run_all(2, |rank| {
        // Words X and T are at the first, Y at the second; the critical region is a count that is read and written back.
        let window = rank.allocate(3);
        let (other, own, theirs) = (1 - rank.me, [A, B][rank.me as usize], [A, B][1 - rank.me as usize]);
        let set = |target, at, value: u64| {
            let replace = kernel(ReduceOp::Replace);
            window.accumulate(from(&[value]), replace, target, Disp(at)).unwrap();
            window.flush(target).unwrap();
        };
        let read = |target, at| {
            let mut got = [0];
            window.fetch_and_op(&[0; 8], into(&mut got), kernel(ReduceOp::NoOp), target, Disp(at)).unwrap();
            window.flush(target).unwrap();
            got[0]
        };
        window.lock_all(Assert::NONE).unwrap();
        for _ in 0..ITERATIONS {
            set(own, 0, 1);
            set(A, 1, u64::from(other));
            while read(theirs, 0) == 1 && read(A, 1) == u64::from(other) {}
            let count = read(A, 2);
            set(A, 2, count + 1);
            set(own, 0, 0);
        }
        rank.barrier();
        assert_eq!(read(A, 2), 2 * ITERATIONS);
        window.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn example_11_20_a_critical_region_by_compare_and_swap() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(2);
        window.lock_all(Assert::NONE).unwrap();
        for _ in 0..ITERATIONS {
            while window.swap_if(0, 0, 0, u64::from(rank.me) + 1).unwrap() != 0 {}
            let mut count = [0];
            window.get(into(&mut count), A, Disp(1)).unwrap();
            window.flush(A).unwrap();
            count[0] += 1;
            window.put(from(&count), A, Disp(1)).unwrap();
            window.flush(A).unwrap();
            assert_eq!(window.swap_if(0, 0, u64::from(rank.me) + 1, 0).unwrap(), u64::from(rank.me) + 1);
        }
        rank.barrier();
        window.unlock_all().unwrap();
        if rank.me == 0 {
            assert_eq!(local(&window, 1), u64::from(RANKS) * ITERATIONS);
        }
        window.free().unwrap();
    });
}

#[test]
fn example_11_21_loads_and_stores_in_shared_memory() {
    run(&Setup::direct(2), |rank| {
        let spec = WindowSpec::AllocateShared { len: 8, unit: 8, is_contiguous: true };
        let window = rank.engine.create_window(rank.group(), spec).unwrap();
        // SAFETY: the memory is used here only, while the window lives; the barriers order the accesses.
        let (first, _) = unsafe { window.shared_query(Some(A)) }.unwrap();
        window.lock_all(Assert::NO_CHECK).unwrap();
        for round in 1..=ITERATIONS {
            if rank.me == 0 {
                first.part(0, 8).write(&round.to_ne_bytes());
            }
            window.sync().unwrap();
            rank.barrier();
            window.sync().unwrap();
            let mut bytes = [0; 8];
            first.part(0, 8).as_read().read(&mut bytes);
            assert_eq!(u64::from_ne_bytes(bytes), round);
            rank.barrier();
        }
        window.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn example_11_22_chunks_fetched_processed_and_written_back_with_requests() {
    const CHUNKS: u64 = 10;
    const AT_ONCE: usize = 3;
    let word = &Datatype::basic(BasicType::U64);
    let area = |i| TargetArea { disp: Disp(i), count: 1, ty: word };
    run_all(2, |rank| {
        let window = rank.allocate(CHUNKS);
        (0..CHUNKS).for_each(|i| set_local(&window, i as usize, entry(i)));
        rank.barrier();
        let other = Rank(1 - rank.me);
        window.lock_all(Assert::NONE).unwrap();
        let mut slots = [[0_u64]; AT_ONCE];
        let mut puts = [const { None }; AT_ONCE];
        for i in 0..CHUNKS {
            let at = i as usize % AT_ONCE;
            // The slot is free when its last chunk has been written back.
            if let Some(request) = puts[at].take() {
                OperationRequest::wait(&request).unwrap();
            }
            let result = Destination { base: slots[at].as_mut_ptr().cast(), count: 1, ty: word };
            // SAFETY: the slot is not touched before the request is complete.
            unsafe { window.rget(result, other, area(i)) }.unwrap().wait().unwrap();
            slots[at][0] = 2 * slots[at][0] + 1;
            let origin = Origin { base: slots[at].as_ptr().cast(), count: 1, ty: word };
            // SAFETY: as for the get.
            puts[at] = Some(unsafe { window.rput(origin, other, area(i)) }.unwrap());
        }
        for request in puts.into_iter().flatten() {
            request.wait().unwrap();
        }
        window.unlock_all().unwrap();
        rank.barrier();
        (0..CHUNKS).for_each(|i| assert_eq!(local(&window, i as usize), 2 * entry(i) + 1));
        window.free().unwrap();
    });
}

#[test]
fn example_11_23_a_list_over_dynamic_windows() {
    // Each rank appends one element, of value and link; a link is rank + 1 and address, 0 is the end of the list.
    run_all(RANKS, |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        let heads = rank.allocate(3);
        let mut element = [u64::from(rank.me) + 50, 0, 0];
        let memory = into(&mut element);
        // SAFETY: the element outlives the window.
        unsafe { window.attach(memory) }.unwrap();
        let address = memory.as_mut_ptr() as u64;
        set_local(&heads, 2, address);
        rank.barrier();
        // The end of the list is found and extended under a lock word at the first rank: words 0 (rank + 1), 1 (address).
        heads.lock_all(Assert::NONE).unwrap();
        window.lock_all(Assert::NONE).unwrap();
        let mut tail = [0];
        let me = (u64::from(rank.me) + 1).to_ne_bytes();
        heads.fetch_and_op(&me, into(&mut tail), kernel(ReduceOp::Replace), A, Disp(0)).unwrap();
        heads.flush(A).unwrap();
        if tail[0] != 0 {
            let before = Rank(tail[0] as u32 - 1);
            let mut at = [0];
            heads.get(into(&mut at), before, Disp(2)).unwrap();
            heads.flush(before).unwrap();
            let link = [u64::from(rank.me) + 1, address];
            window.put(from(&link), before, Disp(at[0] + 8)).unwrap();
            window.flush(before).unwrap();
        } else {
            let first = [u64::from(rank.me) + 1];
            heads.put(from(&first), A, Disp(1)).unwrap();
            heads.flush(A).unwrap();
        }
        rank.barrier();
        // Each rank walks the list and finds all once.
        let (mut link, mut at) = ([0], [0]);
        heads.get(into(&mut link), A, Disp(1)).unwrap();
        heads.flush(A).unwrap();
        let mut found = Vec::new();
        heads.get(into(&mut at), Rank(link[0] as u32 - 1), Disp(2)).unwrap();
        heads.flush(Rank(link[0] as u32 - 1)).unwrap();
        let (mut next, mut place) = (link[0], at[0]);
        while next != 0 {
            let mut got = [0; 3];
            window.get(into(&mut got), Rank(next as u32 - 1), Disp(place)).unwrap();
            window.flush(Rank(next as u32 - 1)).unwrap();
            found.push(got[0]);
            (next, place) = (got[1], got[2]);
        }
        found.sort_unstable();
        assert_eq!(found, (0..u64::from(RANKS)).map(|r| r + 50).collect::<Vec<_>>());
        window.unlock_all().unwrap();
        heads.unlock_all().unwrap();
        rank.barrier();
        window.free().unwrap();
        heads.free().unwrap();
        let _ = element;
    });
}
