//! Producer and consumer: data, then a count that tells of them. A flush between the two orders them, and the consumer waits for
//! the count in its own memory.

use rma::{ReduceOp, Result, World};

const ROOM: usize = 4;
const ITEMS: u64 = 12;
/// Behind the items: how many were stored here, and how many of what this rank has stored were taken.
const STORED: usize = ROOM;
const TAKEN: usize = ROOM + 1;

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    // In a ring: each rank produces for the next one and consumes what the one before produces.
    let (from, to) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut ring = world.allocate::<u64>(ROOM + 2)?;
    let mut sum = 0;
    ring.lock_all(|all| {
        let (own, from, to) = (all.rank(rank)?, all.rank(from)?, all.rank(to)?);
        let (mut produced, mut consumed) = (0, 0);
        while produced < ITEMS || consumed < ITEMS {
            let taken = own.fetch_op(TAKEN, 0, ReduceOp::NoOp)?;
            if produced < ITEMS && produced - taken < ROOM as u64 {
                to.store(produced as usize % ROOM, 100 * u64::from(rank) + produced)?;
                to.fetch_add(STORED, 1)?;
                produced += 1;
            }
            if consumed < own.fetch_op(STORED, 0, ReduceOp::NoOp)? {
                sum += own.load(consumed as usize % ROOM)?;
                from.fetch_add(TAKEN, 1)?;
                consumed += 1;
            }
        }
        Ok(())
    })?;
    assert_eq!(sum, 100 * u64::from(from) * ITEMS + ITEMS * (ITEMS - 1) / 2);
    world.barrier()?;
    ring.free()
}
