//! Puts and gets that the channel carries out without the target's code: what they cost, and what waits for them.

use rma_core::ErrorClass;
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, TestRank, from, into, kernel, local, run};

/// Ranks whose network carries transfers from 256 bytes on.
fn with_transfers(ranks: u32) -> Setup {
    let mut setup = Setup::packets(ranks);
    setup.sim.transfers = 16;
    setup
}

/// Has rank 0 know the key of rank 1: the first put asks for it, and is a packet.
fn meet(window: &Window) {
    let before = window.counters().transfers;
    let data = vec![1u64; 100];
    window.lock(Shared, Rank(1), Assert::NONE).unwrap();
    while window.counters().transfers == before {
        window.put(from(&data), Rank(1), Disp(0)).unwrap();
        window.flush(Rank(1)).unwrap();
    }
    window.unlock(Rank(1)).unwrap();
}

/// Runs `pattern` on rank 0 of two that know each other, and checks how many packets and transfers it caused.
fn costs(setup: &Setup, packets: u64, transfers: u64, name: &str, pattern: impl Fn(&Window) + Send + Sync) {
    run(setup, |rank| {
        let window = rank.allocate(4096);
        if rank.me == 0 {
            meet(&window);
        }
        for round in 0..2 {
            rank.barrier();
            let before = (rank.packets(), window.counters().transfers);
            rank.barrier();
            if rank.me == 0 {
                pattern(&window);
                let after = (rank.packets() - before.0, window.counters().transfers - before.1);
                assert_eq!(after, (packets, transfers), "{name}, round {round}");
            }
            rank.barrier();
        }
        window.free().unwrap();
    });
}

fn locked(window: &Window, calls: impl Fn()) {
    window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
    calls();
    window.unlock(Rank(1)).unwrap();
}

#[test]
fn a_put_or_get_and_its_flush_are_one_transfer_and_no_packet() {
    let data = vec![7u64; 600];
    costs(&with_transfers(2), 4, 0, "lock, small put, flush", |window| {
        window.lock_all(Assert::NO_CHECK).unwrap();
        window.put(from(&data[..1]), Rank(1), Disp(9)).unwrap();
        window.flush(Rank(1)).unwrap();
        window.put(from(&data[..1]), Rank(1), Disp(9)).unwrap();
        window.unlock_all().unwrap();
    });
    costs(&with_transfers(2), 0, 4, "puts, gets and flushes", |window| {
        let mut got = vec![0u64; 600];
        window.lock_all(Assert::NO_CHECK).unwrap();
        window.put(from(&data), Rank(1), Disp(9)).unwrap();
        window.flush(Rank(1)).unwrap();
        window.get(into(&mut got), Rank(1), Disp(9)).unwrap();
        window.flush(Rank(1)).unwrap();
        assert_eq!(got, data);
        window.put(from(&data), Rank(1), Disp(700)).unwrap();
        window.put(from(&data), Rank(1), Disp(1400)).unwrap();
        window.unlock_all().unwrap();
    });
}

#[test]
fn an_epoch_of_a_lock_has_the_packets_of_the_lock() {
    let data = vec![7u64; 600];
    costs(&with_transfers(2), 3, 1, "lock, put, unlock", |window| {
        locked(window, || window.put(from(&data), Rank(1), Disp(9)).unwrap());
    });
    costs(&with_transfers(2), 2, 0, "a small put takes the lock along", |window| {
        locked(window, || window.put(from(&data[..50]), Rank(1), Disp(9)).unwrap());
    });
    costs(&with_transfers(2), 4, 1, "a put, and an accumulate that takes the unlock along", |window| {
        locked(window, || {
            window.put(from(&data), Rank(1), Disp(9)).unwrap();
            window.accumulate(from(&data[..1]), kernel(ReduceOp::Sum), Rank(1), Disp(1000)).unwrap();
        });
    });
}

/// The simulated channel says that a write is worth it from twice the bytes on where a packet needs no answer.
#[test]
fn a_put_that_as_a_packet_needs_no_answer_is_a_transfer_if_it_is_longer() {
    let data = vec![7u64; 64];
    let fence = |window: &Window, elements: usize| {
        window.fence(Assert::NO_PRECEDE).unwrap();
        if window.rank() == Rank(0) {
            window.put(from(&data[..elements]), Rank(1), Disp(0)).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
    };
    let start = |window: &Window, elements: usize| match window.rank() {
        Rank(0) => {
            window.start(&[Rank(1)], Assert::NONE).unwrap();
            window.put(from(&data[..elements]), Rank(1), Disp(0)).unwrap();
            window.complete().unwrap();
        }
        _ => {
            window.post_to(&[Rank(0)], Assert::NONE).unwrap();
            window.wait().unwrap();
        }
    };
    let lock = |window: &Window, elements: usize| {
        if window.rank() == Rank(0) {
            window.lock_all(Assert::NO_CHECK).unwrap();
            window.put(from(&data[..elements]), Rank(1), Disp(0)).unwrap();
            window.unlock_all().unwrap();
        }
    };
    run(&with_transfers(2), |rank| {
        let window = rank.allocate(4096);
        if rank.me == 0 {
            meet(&window);
        }
        rank.barrier();
        let transfers = |epoch: &dyn Fn(&Window, usize), elements| {
            let before = window.counters().transfers;
            epoch(&window, elements);
            window.counters().transfers - before
        };
        let check = |epoch: &dyn Fn(&Window, usize), expected: [u64; 3]| {
            let counts = [31, 32, 64].map(|elements| transfers(epoch, elements));
            assert_eq!(counts, expected.map(|count| if rank.me == 0 { count } else { 0 }));
        };
        check(&fence, [0, 0, 1]);
        check(&start, [0, 0, 1]);
        check(&lock, [0, 1, 1]);
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn settings_leave_all_to_packets() {
    let data = vec![7u64; 600];
    let mut setup = with_transfers(2);
    setup.engine.transfer_from = 4801;
    run(&setup, |rank| {
        let window = rank.allocate(4096);
        if rank.me == 0 {
            for _ in 0..5 {
                locked(&window, || window.put(from(&data), Rank(1), Disp(9)).unwrap());
            }
            assert_eq!(window.counters().transfers, 0);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

/// Every rank writes to and reads from its neighbour, by each kind of epoch, with buffers that some transfers cannot use and no room
/// for more than one at a time.
#[test]
fn each_epoch_ends_behind_its_transfers() {
    let mut setup = with_transfers(3);
    (setup.sim.transfers, setup.sim.transfer_bytes, setup.sim.transfer_refuses) = (1, 1000, 7);
    setup.engine.remote_keys = 1;
    run(&setup, |rank| {
        let window = rank.allocate(1024);
        let (next, before) = (Rank((rank.me + 1) % 3), (rank.me + 2) % 3);
        for round in 0..12u64 {
            let data = vec![round * 10 + u64::from(rank.me); 500];
            let mut got = vec![0u64; 500];
            fence_then_start(rank, &window, round, &|| window.put(from(&data), next, Disp(0)).unwrap());
            let sent = vec![round * 10 + u64::from(before); 500];
            let here = (0..500).map(|index| local(&window, index)).collect::<Vec<_>>();
            assert_eq!(here, sent, "round {round}");
            window.lock_all(Assert::NONE).unwrap();
            window.get(into(&mut got), next, Disp(0)).unwrap();
            window.unlock_all().unwrap();
            assert_eq!(got, data, "round {round}");
            rank.barrier();
        }
        assert!(window.counters().transfers > 20, "{:?}", window.counters().transfers);
        window.free().unwrap();
    });
}

/// Carries a put out in an epoch of fences, or of start and post, by turns.
fn fence_then_start(rank: &TestRank, window: &Window, round: u64, put: &dyn Fn()) {
    if round.is_multiple_of(2) {
        window.fence(Assert::NONE).unwrap();
        put();
        window.fence(Assert::NO_SUCCEED).unwrap();
        return;
    }
    window.post_to(&[Rank((rank.me + 2) % 3)], Assert::NONE).unwrap();
    window.start(&[Rank((rank.me + 1) % 3)], Assert::NONE).unwrap();
    put();
    window.complete().unwrap();
    window.wait().unwrap();
}

/// A world in which rank 0 holds a lock of all and knows the key of rank 1, with windows of 600 elements.
fn stepped(ranks: u32, memory: &mut [Vec<u64>]) -> (Stepped, Vec<Option<Window>>) {
    let world = Stepped::new(&with_transfers(ranks), 7);
    let spans = memory.iter_mut().map(|memory| into(memory)).collect::<Vec<_>>();
    let windows = world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 });
    let window = &windows[0];
    let data = vec![1u64; 100];
    world.finish(window, "lock_all", window.begin_lock_all(Assert::NO_CHECK).unwrap()).unwrap();
    while window.counters().transfers == 0 {
        world.until("room", || window.try_put(from(&data), Rank(1), Disp(0)).unwrap());
        world.finish(window, "flush", window.begin_flush(Rank(1)).unwrap()).unwrap();
    }
    (world, windows.into_iter().map(Some).collect())
}

#[test]
fn a_call_on_a_revoked_window_fails_when_the_channel_has_given_its_buffers_back() {
    let mut memory = vec![vec![5u64; 600]; 2];
    let (world, mut windows) = stepped(2, &mut memory);
    let window = windows[0].as_ref().unwrap();
    let mut got = vec![0u64; 100];
    world.until("room", || window.try_get(into(&mut got), Rank(1), Disp(300)).unwrap());
    world.engine(0).poll();
    window.revoke();
    let mut flush = window.begin_flush(Rank(1)).unwrap();
    assert!(
        !window.poll_sync(&mut flush).unwrap(),
        "the transfer is under way, and may write until its answer"
    );
    let mut outcome = Ok(false);
    world.until("the end of the flush", || {
        outcome = window.poll_sync(&mut flush);
        !matches!(outcome, Ok(false))
    });
    assert_eq!(outcome.unwrap_err().class(), ErrorClass::Revoked);
    assert_eq!(got, [5; 100], "it was waited for");
    drop(flush);
    free(&world, &mut windows);
}

#[test]
fn memory_that_its_program_has_back_is_not_written() {
    let mut memory = vec![vec![5u64; 600]; 3];
    let (mut world, mut windows) = stepped(3, &mut memory);
    (windows[2], world.engines[2]) = (None, None);
    let mut freeing = windows[1].take().unwrap().begin_free().map_err(|(_, error)| error).unwrap();
    world.until("the end of free", || !matches!(freeing.poll(), Ok(false)));
    let before = memory[1].clone();
    let window = windows[0].as_ref().unwrap();
    let data = vec![9u64; 100];
    world.until("room", || window.try_put(from(&data), Rank(1), Disp(300)).unwrap());
    let flushed = world.finish(window, "flush", window.begin_flush(Rank(1)).unwrap());
    assert_eq!(flushed.unwrap_err().class(), ErrorClass::ProcAborted);
    assert_eq!(memory[1], before);
    // Of the dead rank nothing was wanted, so only what has been raised could be an error.
    let _raised = world.finish(window, "unlock_all", window.begin_unlock_all().unwrap());
    free(&world, &mut windows);
}

/// A put of rank 0 is under way to memory that rank 1 wants back, since rank 2 has died or the window was revoked.
fn is_waited_for(ends_alone: impl FnOnce(&mut Stepped, &mut [Option<Window>])) {
    let mut memory = vec![vec![5u64; 600]; 3];
    let data = vec![9u64; 100];
    let (mut world, mut windows) = stepped(3, &mut memory);
    let window = windows[0].as_ref().unwrap();
    let transfers = window.counters().transfers;
    world.until("room", || window.try_put(from(&data), Rank(1), Disp(300)).unwrap());
    world.engine(0).poll();
    assert_eq!(windows[0].as_ref().unwrap().counters().transfers, transfers + 1);
    ends_alone(&mut world, &mut windows);
    let mut freeing = windows[1].take().unwrap().begin_free().map_err(|(_, error)| error).unwrap();
    for _ in 0..1000 {
        world.engine(1).poll();
        assert!(matches!(freeing.poll(), Ok(false)), "the put may write yet");
    }
    let awaited = rma_core::describe::release(&freeing).text;
    assert!(awaited.contains("other ranks' transfers to or from the window's memory"), "{awaited}");
    world.until("the end of free", || !matches!(freeing.poll(), Ok(false)));
    assert_eq!(memory[1][300..400], data, "it was waited for");
    memory[1].fill(3);
    let window = windows[0].as_ref().unwrap();
    // A revoked window has no epoch to end.
    let _ended = window.begin_unlock_all().map(|unlock| world.finish(window, "unlock_all", unlock));
    free(&world, &mut windows);
    assert_eq!(memory[1], [3; 600]);
}

#[test]
fn memory_is_not_its_programs_again_before_transfers_to_it_are_over() {
    is_waited_for(|world, windows| (windows[2], world.engines[2]) = (None, None));
    is_waited_for(|_, windows| windows[1].as_ref().unwrap().revoke());
}

/// Frees all windows that are left, whatever comes of it.
fn free(world: &Stepped, windows: &mut [Option<Window>]) {
    let mut frees = windows
        .iter_mut()
        .filter_map(Option::take)
        .map(|window| window.begin_free().map_err(|(_, error)| error).unwrap())
        .collect::<Vec<_>>();
    world.until("the end of the windows", || {
        frees.retain_mut(|free| matches!(free.poll(), Ok(false)));
        frees.is_empty()
    });
}
