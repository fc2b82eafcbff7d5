//! A rank that forks children in the middle of its epochs: what each of them does is nothing to the job.

use super::{NONE, eight, origin, window};
use rma::Communicator;
use rma::World;
use rma::host::Block;
use rma_core::datatype::BasicType;
use rma_core::epoch::Assert;
use rma_core::epoch::LockKind::{Exclusive, Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::Sync;
use rma_core::window::{Window, WindowCreation, WindowSpec};
use std::fmt::Debug;

/// What a child ends with that was not ended.
const LIVES: i32 = 7;
const REFUSED: i32 = 1;

/// What the ranks have when they fork: a lock of the next rank's part of `locked`, and an epoch of a fence of `fenced`.
struct Epochs {
    world: Option<World>,
    duplicate: Option<Communicator>,
    locked: Option<Window>,
    fenced: Option<Window>,
    unused: Option<Window>,
    /// A fence that is begun.
    started: Option<(Sync, Window)>,
    /// A window that is being made.
    made: Option<WindowCreation>,
    /// What peers of the node could map, if there are some.
    memory: Option<Block>,
    next: Rank,
}

/// What a child does, and how it ends.
type Deed = (&'static str, fn(&mut Epochs), i32);

const DEEDS: &[Deed] = &[
    ("drop the world", |has| drop(has.world.take()), LIVES),
    ("drop a communicator", |has| drop(has.duplicate.take()), LIVES),
    ("drop a window", |has| drop(has.unused.take()), LIVES),
    ("drop a call", |has| drop((has.started.take(), has.made.take())), LIVES),
    ("drop memory", |has| drop(has.memory.take()), LIVES),
    (
        "put on the direct path",
        |has| {
            if has.is_direct() {
                has.locked().put(origin(), has.next, STORED).unwrap();
            }
        },
        LIVES,
    ),
    (
        "lock and unlock on the direct path",
        |has| {
            let (unused, locked) = (has.unused().direct_path(), has.locked().direct_path());
            assert!(!unused.try_lock(Shared, has.next) && !locked.try_unlock(has.next));
        },
        LIVES,
    ),
    (
        "fork once more",
        |has| {
            // SAFETY: as for the child itself.
            let grandchild = unsafe { libc::fork() };
            if grandchild > 0 {
                // SAFETY: no status is asked for.
                unsafe { libc::waitpid(grandchild, std::ptr::null_mut(), 0) };
            }
            assert!(!has.unused().direct_path().try_lock(Shared, has.next));
        },
        LIVES,
    ),
    ("finalize", |has| end(has.world.take().unwrap().finalize()), REFUSED),
    ("abort", |has| has.world().abort(5), REFUSED),
    ("outlive", |has| end(has.world().outlive_ranks()), REFUSED),
    ("barrier", |has| end(has.world().barrier()), REFUSED),
    ("begin a barrier", |has| end(has.world().begin_barrier().wait()), REFUSED),
    ("send", |has| end(has.world().send(has.next.0, 1, &[1u8])), REFUSED),
    ("probe", |has| end(has.world().probe(None, None)), REFUSED),
    ("make a communicator", |has| end(has.world().duplicate()), REFUSED),
    ("make a window", |has| end(window(has.world(), "child's")), REFUSED),
    ("free", |has| end(has.unused.take().unwrap().free()), REFUSED),
    ("revoke", |has| has.unused().revoke(), REFUSED),
    ("lock", |has| end(has.unused().lock(Shared, has.next, NONE)), REFUSED),
    ("unlock", |has| end(has.locked().unlock(has.next)), REFUSED),
    ("lock all", |has| end(has.unused().lock_all(NONE)), REFUSED),
    ("fence", |has| end(has.fenced().fence(NONE)), REFUSED),
    ("post", |has| end(has.unused().post_to(&[has.next], NONE)), REFUSED),
    ("start", |has| end(has.unused().start(&[has.next], NONE)), REFUSED),
    ("accumulate", |has| end(has.accumulate(1)), REFUSED),
    ("accumulate many", |has| end(has.accumulate(MANY)), REFUSED),
    ("fetch", |has| end(has.locked().fetch_and_op(&[1; 8], eight(), sum(), has.next, Disp(0))), REFUSED),
];

/// More than is changed one by one.
const MANY: u64 = 1024;
const MEMORY: usize = 64;
const STORED: Disp = Disp(5);

impl Epochs {
    fn begin(world: World) -> rma::Result<Self> {
        let next = Rank((world.rank() + 1) % world.size());
        let duplicate = world.duplicate()?;
        // The first are counted before they are worth slots.
        for _ in 0..4 {
            duplicate.barrier()?;
            world.barrier()?;
        }
        let spec = WindowSpec::Allocate { len: 8 * MANY, unit: 8 };
        let locked = world.engine().create_window(world.group(), spec)?;
        let (fenced, unused) = (window(&world, "fenced")?, window(&world, "unused")?);
        let of_started = window(&world, "begun")?;
        let started = Some((of_started.begin_fence(Assert::NO_SUCCEED)?, of_started));
        let made = Some(world.engine().begin_window(world.group(), spec)?);
        let memory = world.runtime().allocate(MEMORY as u64, 8);
        memory.iter().for_each(|memory| in_memory(memory).write(&[7; MEMORY]));
        fenced.fence(NONE)?;
        locked.lock(Exclusive, next, NONE)?;
        locked.put(origin(), next, Disp(0))?;
        let (duplicate, locked, fenced) = (Some(duplicate), Some(locked), Some(fenced));
        Ok(Self {
            world: Some(world),
            duplicate,
            locked,
            fenced,
            unused: Some(unused),
            started,
            made,
            memory,
            next,
        })
    }

    fn world(&self) -> &World {
        self.world.as_ref().unwrap()
    }

    fn locked(&self) -> &Window {
        self.locked.as_ref().unwrap()
    }

    fn fenced(&self) -> &Window {
        self.fenced.as_ref().unwrap()
    }

    fn unused(&self) -> &Window {
        self.unused.as_ref().unwrap()
    }

    fn is_direct(&self) -> bool {
        self.locked().is_direct(self.next)
    }

    fn accumulate(&self, count: u64) -> rma::Result<()> {
        let bytes = Vec::leak(vec![1u8; 8 * count as usize]);
        // SAFETY: leaked, and used through the span only.
        let origin = unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) };
        self.locked().accumulate(origin, sum(), self.next, Disp(0))
    }

    /// The epochs go on where they were, and the job ends in order.
    fn end(self) -> rma::Result<()> {
        let (next, is_direct) = (self.next, self.is_direct());
        let world = self.world.unwrap();
        let (mut sync, started) = self.started.unwrap();
        while !started.poll_sync(&mut sync)? {
            world.engine().poll();
        }
        let mut creation = self.made.unwrap();
        let made = loop {
            world.engine().poll();
            if let Some(made) = creation.poll()? {
                break made;
            }
        };
        let [locked, fenced, unused] = [self.locked, self.fenced, self.unused].map(Option::unwrap);
        locked.unlock(next)?;
        fenced.put(origin(), next, Disp(0))?;
        fenced.fence(NONE)?;
        unused.lock_all(NONE)?;
        unused.unlock_all()?;
        unused.fence(NONE)?;
        world.barrier()?;
        let duplicate = self.duplicate.unwrap();
        (0..4).try_for_each(|_| duplicate.barrier())?;
        drop(duplicate);
        let word = |window: &Window, disp: Disp| {
            let mut word = [0; 8];
            // SAFETY: it has no other user any more.
            unsafe { window.local() }.as_read().part(8 * disp.0 as usize, 8).read(&mut word);
            word
        };
        assert_eq!(
            (word(&locked, Disp(0)), word(&fenced, Disp(0))),
            ([7; 8], [7; 8]),
            "what was put, and no sum"
        );
        // No rank stores in another's memory but by a mapping.
        assert_eq!(word(&locked, STORED), if is_direct { [7; 8] } else { [0; 8] });
        let mut bytes = [7; MEMORY];
        self.memory.iter().for_each(|memory| in_memory(memory).as_read().read(&mut bytes));
        assert_eq!(bytes, [7; MEMORY]);
        drop(self.memory);
        [locked, fenced, unused, started, made].into_iter().try_for_each(Window::free)?;
        world.finalize()
    }
}

fn in_memory(block: &Block) -> WriteSpan {
    // SAFETY: the block is as long, and used through such spans only.
    unsafe { WriteSpan::new(std::ptr::with_exposed_provenance_mut(block.address()), MEMORY) }
}

fn sum() -> Kernel {
    Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap()
}

/// A call that a child made has come back.
fn end<T: Debug>(outcome: T) {
    eprintln!("a call of a child came back: {outcome:?}");
}

/// Children of every kind, one after the other; prints what has become of them. Then the epochs end.
pub(super) fn fork(world: World) -> rma::Result<()> {
    let mut has = Epochs::begin(world)?;
    for (deed, act, expected) in DEEDS {
        // SAFETY: the child runs on this thread alone, and ends below.
        let child = unsafe { libc::fork() };
        if child == 0 {
            act(&mut has);
            // SAFETY: it ends the process, without what the parent still needs.
            unsafe { libc::_exit(LIVES) };
        }
        let mut status = 0;
        // SAFETY: the status is a local that the call writes.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        let is_right = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == *expected;
        println!("{deed}: {}", if is_right { "right".to_owned() } else { format!("status {status:#x}") });
    }
    println!("{} children", DEEDS.iter().filter(|(.., end)| *end == REFUSED).count());
    has.end()
}
