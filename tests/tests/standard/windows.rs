//! Windows of the flavors beside allocated ones (MPI 4.1 §12.2): shared memory, attached memory, hints.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::mem::WriteSpan;
use rma_core::window::{Destination, Flavor, Hints, Origin, TargetArea, Window, WindowSpec};
use rma_tests::world::{Setup, from, into, kernel, run, run_all};

const RANKS: u32 = 3;

/// Lengths of the ranks' memory: odd ones and none.
const LENS: [u64; RANKS as usize] = [13, 0, 4096];

fn address(span: WriteSpan) -> usize {
    span.as_mut_ptr() as usize
}

fn query(window: &Window, rank: Option<u32>) -> (WriteSpan, u64) {
    // SAFETY: the tests use the spans before they free the window.
    unsafe { window.shared_query(rank.map(Rank)) }.unwrap()
}

#[test]
fn shared_memory_is_mapped_by_all_in_rank_order_with_gaps_only_where_allowed() {
    for is_contiguous in [true, false] {
        run(&Setup::direct(RANKS), |rank| {
            let me = rank.me;
            let spec =
                WindowSpec::AllocateShared { len: LENS[me as usize], unit: 1 + u64::from(me), is_contiguous };
            let window = rank.engine.create_window(rank.group(), spec).unwrap();
            assert_eq!(window.flavor(), Flavor::Shared);
            rank.barrier();
            let before = rank.packets();
            for other in 0..RANKS {
                assert!(window.is_direct(Rank(other)));
                let (span, unit) = query(&window, Some(other));
                assert_eq!((span.len() as u64, unit), (LENS[other as usize], 1 + u64::from(other)));
                if is_contiguous && other > 0 {
                    let (before, _) = query(&window, Some(other - 1));
                    assert_eq!(address(before) + before.len(), address(span));
                }
                assert!(is_contiguous || span.is_empty() || address(span).is_multiple_of(4096));
            }
            assert_eq!(query(&window, None), query(&window, Some(0)), "the lowest rank with memory");
            let (own, _) = query(&window, Some(me));
            own.write(&vec![me as u8 + 1; own.len()]);
            rank.barrier();
            for other in 0..RANKS {
                let (span, _) = query(&window, Some(other));
                let mut bytes = vec![0; span.len()];
                span.as_read().read(&mut bytes);
                assert!(bytes.iter().all(|byte| *byte == other as u8 + 1));
            }
            rank.barrier();
            window.lock_all(Assert::NONE).unwrap();
            let (value, mut got) = ([u64::from(me)], [9]);
            window.put(from(&value), Rank(2), Disp(8 * u64::from(me))).unwrap();
            window.get(into(&mut got), Rank(2), Disp(8 * u64::from(me))).unwrap();
            window.unlock_all().unwrap();
            assert_eq!(got, value);
            assert_eq!(rank.packets(), before, "everything was direct");
            window.free().unwrap();
        });
    }
}

#[test]
fn the_lowest_rank_with_memory_may_be_any_and_there_may_be_none() {
    run(&Setup::direct(RANKS), |rank| {
        for (owner, found) in [(Some(2), 40), (None, 0)] {
            let len = if Some(rank.me) == owner { 40 } else { 0 };
            let spec = WindowSpec::AllocateShared { len, unit: 8, is_contiguous: true };
            let window = rank.engine.create_window(rank.group(), spec).unwrap();
            assert_eq!(query(&window, None).0.len(), found);
            window.free().unwrap();
        }
    });
}

#[test]
fn ranks_that_cannot_share_get_an_error_and_the_next_window() {
    for setup in [Setup::packets(RANKS), Setup::mixed(RANKS)] {
        run(&setup, |rank| {
            for is_contiguous in [true, false] {
                let spec = WindowSpec::AllocateShared { len: 8, unit: 8, is_contiguous };
                let error = rank.engine.create_window(rank.group(), spec).unwrap_err();
                assert_eq!(error.class(), ErrorClass::RmaShared, "{error}");
            }
            rank.allocate(1).free().unwrap();
        });
    }
}

#[test]
fn what_is_not_mapped_is_told_as_empty() {
    run(&Setup::packets(2), |rank| {
        let window = rank.allocate(5);
        let (other, unit) = query(&window, Some(1 - rank.me));
        assert_eq!((other.len(), unit), (0, 8));
        assert_eq!(query(&window, Some(rank.me)).0.len(), 40);
        assert_eq!(query(&window, None).0.len(), 40);
        // SAFETY: nothing is used of what is not given.
        let error = unsafe { window.shared_query(Some(Rank(2))) }.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Rank);
        window.free().unwrap();
    });
}

/// Attaches elements that the caller keeps until they are detached.
fn attach(window: &Window, values: &mut [u64]) -> u64 {
    let span = into(values);
    // SAFETY: as the caller promises.
    unsafe { window.attach(span) }.unwrap();
    address(span) as u64
}

#[test]
fn attached_memory_is_reached_at_its_addresses_by_self_directly_and_by_others_with_packets() {
    run_all(RANKS, |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        let addresses = rank.allocate(1);
        let mut memory = [10, 11, 12, 13, 14, 15, 16, 17];
        let (first, rest) = memory.split_at_mut(3);
        let base = attach(&window, first);
        attach(&window, rest);
        rma_tests::world::set_local(&addresses, 0, base);
        addresses.fence(Assert::NONE).unwrap();
        let right = Rank((rank.me + 1) % RANKS);
        let mut theirs = [0];
        addresses.get(into(&mut theirs), right, Disp(0)).unwrap();
        addresses.fence(Assert::NONE).unwrap();

        for (target, base) in [(right, theirs[0]), (Rank(rank.me), base)] {
            assert_eq!(window.is_direct(target), target.0 == rank.me);
            let (values, one, mut got) = ([70, 71], [1], [0; 4]);
            window.lock(LockKind::Exclusive, target, Assert::NONE).unwrap();
            // Across the boundary of the two regions.
            window.put(from(&values), target, Disp(base + 16)).unwrap();
            window.accumulate(from(&one), kernel(ReduceOp::Sum), target, Disp(base + 24)).unwrap();
            window.flush(target).unwrap();
            window.get(into(&mut got), target, Disp(base + 8)).unwrap();
            window.unlock(target).unwrap();
            assert_eq!(got, [11, 70, 72, 14]);
            addresses.fence(Assert::NONE).unwrap();
        }
        // Beyond the end, and after the memory is gone: raised by the call or by the synchronization.
        let value = [99];
        let refused = |at: u64| {
            window.lock(LockKind::Shared, right, Assert::NONE).unwrap();
            let called = window.put(from(&value), right, Disp(at));
            let error = called.and(window.unlock(right)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            assert!(error.to_string().contains("not attached"), "{error}");
        };
        refused(theirs[0] + 60);
        refused(0);
        refused(u64::MAX);
        addresses.fence(Assert::NONE).unwrap();
        window.detach(base as usize).unwrap();
        addresses.fence(Assert::NONE).unwrap();
        refused(theirs[0] + 16);
        addresses.fence(Assert::NONE).unwrap();
        assert_eq!(memory, [10, 11, 70, 72, 14, 15, 16, 17]);
        addresses.free().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn packets_of_a_dynamic_window() {
    run(&Setup::direct(2), |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        let addresses = rank.allocate(1);
        let mut memory = [rank.me.into()];
        rma_tests::world::set_local(&addresses, 0, attach(&window, &mut memory));
        addresses.fence(Assert::NONE).unwrap();
        let mut at = [[0]; 2];
        for (target, at) in at.iter_mut().enumerate() {
            addresses.get(into(at), Rank(target as u32), Disp(0)).unwrap();
        }
        addresses.fence(Assert::NONE).unwrap();
        for (target, packets) in [(0, 0), (1, 2)] {
            rank.barrier();
            let before = rank.packets();
            rank.barrier();
            if rank.me == 0 {
                let value = [5 + u64::from(target)];
                window.lock(LockKind::Exclusive, Rank(target), Assert::NONE).unwrap();
                window.put(from(&value), Rank(target), Disp(at[target as usize][0])).unwrap();
                window.unlock(Rank(target)).unwrap();
            }
            rank.barrier();
            assert_eq!(rank.packets() - before, packets, "to rank {target}");
        }
        assert_eq!(memory, [5 + u64::from(rank.me)]);
        window.free().unwrap();
        addresses.free().unwrap();
    });
}

#[test]
fn memory_cannot_be_attached_twice_nor_to_windows_that_have_their_own() {
    run(&Setup::packets(1), |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        let mut memory = [0; 4];
        let span = into(&mut memory);
        // SAFETY: the memory outlives the window.
        let attach = |window: &Window, span| unsafe { window.attach(span) };
        attach(&window, span.part(8, 8)).unwrap();
        assert_eq!(attach(&window, span).unwrap_err().class(), ErrorClass::RmaAttach);
        assert_eq!(window.detach(address(span)).unwrap_err().class(), ErrorClass::Base);
        let other = rank.allocate(1);
        assert_eq!(attach(&other, span).unwrap_err().class(), ErrorClass::RmaFlavor);
        assert_eq!(other.detach(address(span)).unwrap_err().class(), ErrorClass::RmaFlavor);
        // SAFETY: nothing is given.
        let query = unsafe { window.shared_query(None) };
        assert_eq!(query.unwrap_err().class(), ErrorClass::RmaFlavor);
        other.free().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn a_window_that_is_never_to_be_locked_can_be_locked() {
    run(&Setup::direct(2), |rank| {
        let mut hints = Hints::default();
        assert!(hints.set("no_locks", "true"));
        let spec = WindowSpec::Allocate { len: 8, unit: 8 };
        let window = rank.engine.create_window_with(rank.group(), spec, hints.clone()).unwrap();
        assert!(window.hints().contains(&("no_locks", "true".to_owned())));
        assert!(window.has_no_locks());
        window.lock(LockKind::Exclusive, Rank(0), Assert::NONE).unwrap();
        window.unlock(Rank(0)).unwrap();
        window.lock_all(Assert::NONE).unwrap();
        window.unlock_all().unwrap();
        window.fence(Assert::NONE).unwrap();
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert!(hints.set("no_locks", "false"));
        window.set_hints(&hints);
        assert!(!window.has_no_locks());
        window.lock_all(Assert::NONE).unwrap();
        window.unlock_all().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn detach_waits_for_direct_accesses_of_other_threads() {
    const ELEMENTS: usize = 4 << 20;
    run(&Setup::direct(1), |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        let (mut memory, ones) = (vec![0; ELEMENTS], vec![1; ELEMENTS]);
        let base = attach(&window, &mut memory);
        let memory = into(&mut memory);
        let element = |index: usize| {
            let mut bytes = [0; 8];
            memory.part(index * 8, 8).as_read().read(&mut bytes);
            u64::from_ne_bytes(bytes)
        };
        window.lock(LockKind::Exclusive, Rank(0), Assert::NONE).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| window.put(from(&ones), Rank(0), Disp(base)).unwrap());
            while element(0) == 0 {
                std::hint::spin_loop();
            }
            window.detach(base as usize).unwrap();
            assert_eq!(element(ELEMENTS - 1), 1, "the put was still going on");
        });
        window.unlock(Rank(0)).unwrap();
        window.free().unwrap();
    });
}

#[test]
fn long_lists_of_attached_bytes_are_cut_into_requests_of_bounded_length() {
    // Every second byte of memory that was attached in many pieces: more runs than a request may have.
    let runs = 40_000;
    run(&Setup::packets(2), |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        let addresses = rank.allocate(1);
        let mut memory = vec![0u64; runs / 4];
        let base = address(into(&mut memory)) as u64;
        memory.chunks_mut(500).for_each(|piece| assert!(attach(&window, piece) > 0));
        rma_tests::world::set_local(&addresses, 0, base);
        addresses.fence(Assert::NONE).unwrap();
        let mut theirs = [0];
        addresses.get(into(&mut theirs), Rank(1 - rank.me), Disp(0)).unwrap();
        addresses.fence(Assert::NO_SUCCEED).unwrap();
        if rank.me == 0 {
            let (sent, mut back) = ((0..runs).map(|i| i as u8).collect::<Vec<_>>(), vec![0u8; runs]);
            let (byte, every) = (Datatype::basic(BasicType::U8), second_bytes(runs as u64));
            let area = TargetArea { disp: Disp(theirs[0]), count: 1, ty: &every };
            window.lock(LockKind::Exclusive, Rank(1), Assert::NONE).unwrap();
            // SAFETY: both buffers are kept until the unlock.
            unsafe {
                let origin = Origin { base: sent.as_ptr(), count: runs as u64, ty: &byte };
                window.put_typed(origin, Rank(1), area).unwrap();
                window.flush(Rank(1)).unwrap();
                let result = Destination { base: back.as_mut_ptr(), count: runs as u64, ty: &byte };
                window.get_typed(result, Rank(1), area).unwrap();
            }
            window.unlock(Rank(1)).unwrap();
            assert_eq!(back, sent);
        }
        rank.barrier();
        let bytes = memory.iter().flat_map(|element| element.to_ne_bytes()).collect::<Vec<_>>();
        let expected = |i: usize| if rank.me == 1 && i.is_multiple_of(2) { (i / 2) as u8 } else { 0 };
        assert!(bytes.iter().enumerate().all(|(i, byte)| *byte == expected(i)));
        rank.barrier();
        addresses.free().unwrap();
        window.free().unwrap();
    });
}

/// Every second byte.
fn second_bytes(count: u64) -> Datatype {
    Datatype::vector(count, 1, 2, &Datatype::basic(BasicType::U8)).unwrap()
}
