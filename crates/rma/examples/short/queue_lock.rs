//! Queue lock (MCS): ranks wait in line, each for a word in its own memory, and pass the lock on by one put.

use rma::{ReduceOp, Result, World};

/// Words of each rank: the rank behind it, and whether it must wait. Rank 0 has the end of the line and a counter too.
const BEHIND: usize = 0;
const WAITS: usize = 1;
const END: usize = 2;
const COUNTER: usize = 3;
const ROUNDS: u64 = 4;

pub(crate) fn run(world: &World) -> Result<()> {
    let me = u64::from(world.rank()) + 1;
    let mut words = world.allocate::<u64>(4)?;
    words.lock_all(|all| {
        let (own, head) = (all.rank(world.rank())?, all.rank(0)?);
        // Words that others change are read and written in atomic steps.
        let read = |word| own.fetch_op(word, 0, ReduceOp::NoOp);
        for _ in 0..ROUNDS {
            own.fetch_op(BEHIND, 0, ReduceOp::Replace)?;
            own.fetch_op(WAITS, 1, ReduceOp::Replace)?;
            let before = head.fetch_op(END, me, ReduceOp::Replace)?;
            if before != 0 {
                all.rank(before - 1)?.fetch_op(BEHIND, me, ReduceOp::Replace)?;
                while read(WAITS)? == 1 {
                    std::thread::yield_now();
                }
            }
            // In the lock: a step that would be wrong if it were not alone.
            let count = head.load(COUNTER)?;
            head.store(COUNTER, count + 1)?;
            // The next one, if there is none behind this rank the line is empty.
            if head.compare_and_swap(END, me, 0)? != me {
                let next = loop {
                    match read(BEHIND)? {
                        0 => std::thread::yield_now(),
                        next => break next,
                    }
                };
                all.rank(next - 1)?.fetch_op(WAITS, 0, ReduceOp::Replace)?;
            }
        }
        Ok(())
    })?;
    world.barrier()?;
    let count = words.shared(0, |rank0| rank0.load(COUNTER))?;
    assert_eq!(count, ROUNDS * u64::from(world.size()));
    world.barrier()?;
    words.free()
}
