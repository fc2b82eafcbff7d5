//! Locks are acquired in the order of one caller's calls, over all windows, and not before they are needed; between the threads of a
//! process nothing is in order, so that programs whose threads each lock several ranks in one global order do not deadlock, however
//! few elements there are.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, Caller, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::window::Sync;
use rma_core::window::{Origin, TargetArea, Window};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, local};

/// Five ranks, of which two lock the other three; on each of the two, two tasks share the engine.
const RANKS: u32 = 5;
static VALUE: [u64; 1] = [7];

struct Task<'a> {
    world: &'a Stepped,
    window: &'a Window,
    caller: Caller,
}

impl<'a> Task<'a> {
    fn new(world: &'a Stepped, window: &'a Window, number: u64) -> Self {
        Self { world, window, caller: Caller::task(number) }
    }

    fn begin_lock(&self, target: u32) -> Sync {
        self.window.begin_lock_by(self.caller, Exclusive, Rank(target), Assert::NONE).unwrap()
    }

    fn lock(&self, target: u32) {
        self.world.finish(self.window, &format!("the lock of {target}"), self.begin_lock(target)).unwrap();
    }

    fn put(&self, target: u32) {
        self.world.until(&format!("an element for {target}"), || {
            self.window.try_put(from(&VALUE), Rank(target), Disp(0)).unwrap()
        });
    }

    fn flush(&self, target: u32) {
        let flush = self.window.begin_flush(Rank(target)).unwrap();
        self.world.finish(self.window, &format!("the flush of {target}"), flush).unwrap();
    }

    fn unlock(&self, target: u32) {
        let unlock = self.window.begin_unlock(Rank(target)).unwrap();
        self.world.finish(self.window, &format!("the unlock of {target}"), unlock).unwrap();
    }
}

/// The lock of a far rank leaves with its first operation, so the call has nothing to wait for: a poll would take longer than the call.
#[test]
fn a_promised_lock_is_called_for_without_a_poll() {
    for lock in [
        |window: &Window| window.lock(Exclusive, Rank(1), Assert::NONE),
        |window: &Window| window.lock_all(Assert::NONE),
    ] {
        let world = Stepped::new(&Setup::packets(2), 1);
        let windows = world.allocate(1);
        let received = || world.engine(0).counters().packets_received;
        world.engine(0).set_patience(30, 0);
        // Calls without a packet have found nothing so often that none of the next polls.
        for _ in 0..40 {
            windows[0].lock(Exclusive, Rank(0), Assert::NONE).unwrap();
            windows[0].unlock(Rank(0)).unwrap();
        }
        // A packet that a poll would take.
        let far = Task::new(&world, &windows[1], 1);
        let shared = windows[1].begin_lock(Shared, Rank(0), Assert::NONE).unwrap();
        world.finish(&windows[1], "the lock of 0", shared).unwrap();
        far.put(0);
        let flush = windows[1].begin_flush(Rank(0)).unwrap();
        (0..300).for_each(|_| world.pump_only(|rank| rank == 1));
        let before = received();
        lock(&windows[0]).unwrap();
        assert_eq!(received(), before, "nothing was polled");
        world.finish(&windows[1], "the flush of 0", flush).unwrap();
        assert!(received() > before, "there was something");
    }
}

#[test]
fn a_lock_call_waits_for_no_lock_that_another_thread_has_called_for() {
    let world = Stepped::new(&Setup::packets(RANKS), 1);
    let windows = world.allocate(1);
    let task = |rank: usize, number| Task::new(&world, &windows[rank], number);
    let (a, b, c, d) = (task(0, 1), task(0, 2), task(1, 1), task(1, 2));
    for (task, target) in [(&b, 2), (&c, 3)] {
        task.lock(target);
        task.put(target);
        task.flush(target);
    }
    // Each of these waits for what the other process holds, and neither holds anything meanwhile.
    a.lock(3);
    d.lock(2);
    // In ascending order, like all others.
    b.lock(4);
    b.put(4);
    b.flush(4);
    b.unlock(4);
    b.unlock(2);
    c.lock(4);
    c.unlock(4);
    c.unlock(3);
    for (task, target) in [(&a, 3), (&d, 2)] {
        task.put(target);
        task.unlock(target);
    }
    assert!((2..5).all(|rank| local(&windows[rank], 0) == VALUE[0]));
}

#[test]
fn locks_are_asked_for_in_the_order_in_which_one_thread_has_called_for_them() {
    let mut one_of_each = Setup::packets(RANKS);
    (one_of_each.engine.op_pool_window, one_of_each.engine.op_pool_global) = (1, 0);
    (one_of_each.engine.target_pool_window, one_of_each.engine.target_pool_global) = (1, 0);
    for setup in [Setup::packets(RANKS), one_of_each] {
        let world = Stepped::new(&setup, 2);
        let windows = world.allocate(1);
        let task = |rank: usize, number| Task::new(&world, &windows[rank], number);
        let (a, b) = (task(0, 1), task(1, 1));
        b.lock(2);
        b.put(2);
        b.flush(2);
        // Nothing is waited for: the first lock is not needed yet.
        a.lock(2);
        a.lock(3);
        a.lock(4);
        a.put(4);
        let mut flush = a.window.begin_flush(Rank(4)).unwrap();
        world.settle();
        assert!(!a.window.poll_sync(&mut flush).unwrap(), "rank 2 is locked by another process");
        // Nor is anything held: else the two could wait for each other.
        for target in [3, 4] {
            b.lock(target);
            b.put(target);
            b.flush(target);
        }
        [4, 3, 2].into_iter().for_each(|target| b.unlock(target));
        world.finish(a.window, "the flush of 4", flush).unwrap();
        // By now all three are held, the one in the middle too.
        b.lock(3);
        world.until("an element for 3", || b.window.try_put(from(&[9]), Rank(3), Disp(0)).unwrap());
        let mut flush = b.window.begin_flush(Rank(3)).unwrap();
        world.settle();
        assert!(!b.window.poll_sync(&mut flush).unwrap(), "rank 3 is locked by rank 0");
        [2, 3, 4].into_iter().for_each(|target| a.unlock(target));
        world.finish(b.window, "the flush of 3", flush).unwrap();
        b.unlock(3);
        assert_eq!([2, 3, 4].map(|rank: usize| local(&windows[rank], 0)), [VALUE[0], 9, VALUE[0]]);
    }
}

#[test]
fn an_operation_with_a_request_has_the_locks_before_its_own_asked_for() {
    let world = Stepped::new(&Setup::packets(RANKS), 6);
    let windows = world.allocate(1);
    let a = Task::new(&world, &windows[0], 1);
    a.lock(2);
    a.lock(3);
    let ty = Datatype::basic(BasicType::U64);
    let origin = Origin { base: VALUE.as_ptr().cast(), count: 1, ty: &ty };
    // SAFETY: the value is static.
    let request = unsafe { a.window.rput(origin, Rank(3), TargetArea { disp: Disp(0), count: 1, ty: &ty }) };
    let request = request.unwrap();
    // No other call of the program makes it end.
    world.until("the end of the put", || request.is_complete().unwrap());
    [3, 2].into_iter().for_each(|target| a.unlock(target));
    assert_eq!(local(&windows[3], 0), VALUE[0]);
}

#[test]
fn a_lock_call_waits_for_the_locks_that_its_thread_has_called_for_on_other_windows() {
    let world = Stepped::new(&Setup::packets(RANKS), 4);
    let (first, second) = (world.allocate(1), world.allocate(1));
    let on = |windows: &'static str, rank: usize| match windows {
        "first" => Task::new(&world, &first[rank], 1),
        _ => Task::new(&world, &second[rank], 1),
    };
    // Both lock rank 2 on the first window, then on the second, and one of them operates on the second window first.
    let (a, b) = (on("first", 0), on("first", 1));
    let (a_next, b_next) = (on("second", 0), on("second", 1));
    b.lock(2);
    b.put(2);
    b.flush(2);
    a.lock(2);
    let mut next = a_next.begin_lock(2);
    world.settle();
    assert!(!a_next.window.poll_sync(&mut next).unwrap(), "rank 2 is locked by another process");
    // Had the call returned, this process could now hold the lock of the second window and wait for that of the first.
    b_next.lock(2);
    b_next.put(2);
    b_next.flush(2);
    b_next.unlock(2);
    b.unlock(2);
    world.finish(a_next.window, "the lock on the second window", next).unwrap();
    a_next.put(2);
    a_next.flush(2);
    a.put(2);
    a_next.unlock(2);
    a.unlock(2);
    assert_eq!((local(&first[2], 0), local(&second[2], 0)), (VALUE[0], VALUE[0]));
}

#[test]
fn lock_all_waits_for_the_locks_that_its_thread_has_called_for_on_other_windows() {
    let world = Stepped::new(&Setup::packets(RANKS), 5);
    let (first, second) = (world.allocate(1), world.allocate(1));
    let (a, b) = (Task::new(&world, &first[0], 1), Task::new(&world, &first[1], 1));
    b.lock(2);
    b.put(2);
    b.flush(2);
    a.lock(2);
    let mut all = second[0].begin_lock_all_by(a.caller, Assert::NONE).unwrap();
    // Another thread has called for nothing.
    let other = world.allocate(1);
    let free = other[0].begin_lock_all_by(Caller::task(2), Assert::NONE).unwrap();
    world.finish(&other[0], "lock_all of another thread", free).unwrap();
    world.settle();
    assert!(!second[0].poll_sync(&mut all).unwrap(), "rank 2 is locked by another process");
    b.unlock(2);
    world.finish(&second[0], "lock_all", all).unwrap();
    world.finish(&second[0], "unlock_all", second[0].begin_unlock_all().unwrap()).unwrap();
    world.finish(&other[0], "unlock_all", other[0].begin_unlock_all().unwrap()).unwrap();
    a.unlock(2);
}

#[test]
fn a_lock_of_mapped_memory_waits_for_those_of_other_windows_too() {
    // Ranks 0 and 1 share a node; rank 2 is reached by packets.
    rma_tests::world::run(&Setup::mixed(3), |rank| {
        let (first, second) = (rank.allocate(1), rank.allocate(1));
        // The fast path has been taken before, and will be again.
        second.lock(Exclusive, Rank(rank.me), Assert::NONE).unwrap();
        second.unlock(Rank(rank.me)).unwrap();
        if rank.me == 2 {
            first.lock(Exclusive, Rank(2), Assert::NONE).unwrap();
        }
        rank.barrier();
        match rank.me {
            0 => {
                first.lock(Exclusive, Rank(2), Assert::NONE).unwrap();
                second.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                assert_eq!(local(&second, 0), VALUE[0], "the lock on the first window is held by now");
                second.unlock(Rank(0)).unwrap();
                first.unlock(Rank(2)).unwrap();
            }
            2 => {
                // Rank 0 asks for the lock although it has nothing to do with it yet.
                while first.counters().locks_waited == 0 {
                    rank.engine.poll();
                    std::thread::yield_now();
                }
                second.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                second.put(from(&VALUE), Rank(0), Disp(0)).unwrap();
                second.unlock(Rank(0)).unwrap();
                first.unlock(Rank(2)).unwrap();
            }
            _ => {}
        }
        rank.barrier();
        second.lock(Exclusive, Rank(rank.me), Assert::NONE).unwrap();
        second.unlock(Rank(rank.me)).unwrap();
        rank.barrier();
    });
}

#[test]
fn what_waits_for_a_lock_leaves_elements_to_other_threads() {
    let mut setup = Setup::packets(RANKS);
    (setup.engine.op_pool_window, setup.engine.op_pool_global) = (1, 0);
    (setup.engine.target_pool_window, setup.engine.target_pool_global) = (1, 0);
    let world = Stepped::new(&setup, 3);
    let windows = world.allocate(1);
    let task = |rank: usize, number| Task::new(&world, &windows[rank], number);
    let (a, b, c) = (task(0, 1), task(0, 2), task(1, 1));
    for (task, target) in [(&b, 2), (&c, 3)] {
        task.lock(target);
        task.put(target);
        task.flush(target);
    }
    a.lock(3);
    a.put(3);
    // The other process waits for what this one holds, and this one must go on with what it holds to give it back.
    let waits = c.begin_lock(4);
    b.lock(4);
    b.put(4);
    b.flush(4);
    b.put(2);
    b.flush(2);
    b.unlock(2);
    b.unlock(4);
    world.finish(c.window, "the lock of 4", waits).unwrap();
    c.put(4);
    c.unlock(4);
    c.unlock(3);
    a.unlock(3);
    let elements = windows[0].elements();
    assert!(
        elements.most_ops <= 2 && elements.most_targets <= 2,
        "one for each of two threads: {elements:?}"
    );
    assert!((2..5).all(|rank| local(&windows[rank], 0) == VALUE[0]));
}
