//! Locks are acquired in the order of one caller's calls; between the threads of a process nothing is in order, so that
//! programs whose threads each lock several ranks in one global order do not deadlock, however few elements there are.

use rma_core::epoch::{Assert, Caller, LockKind::Exclusive, Sync};
use rma_core::ids::{Disp, Rank};
use rma_core::window::Window;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, local};

/// Five ranks, of which two lock the other three; on each of the two, two tasks share the engine.
const RANKS: u32 = 5;
const VALUE: [u64; 1] = [7];

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
    // Each of these waits for what the other process holds, and nobody holds anything meanwhile.
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
fn a_lock_call_waits_for_the_locks_that_its_own_thread_has_called_for() {
    let world = Stepped::new(&Setup::packets(RANKS), 2);
    let windows = world.allocate(1);
    let task = |rank: usize, number| Task::new(&world, &windows[rank], number);
    let (a, b) = (task(0, 1), task(1, 1));
    b.lock(2);
    b.put(2);
    b.flush(2);
    a.lock(2);
    let mut second = a.begin_lock(3);
    world.settle();
    assert!(!a.window.poll_sync(&mut second).unwrap(), "rank 2 is locked by another process");
    b.unlock(2);
    world.finish(a.window, "the lock of 3", second).unwrap();
    a.unlock(3);
    a.unlock(2);
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
