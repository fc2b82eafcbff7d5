//! Producer and consumer: each item comes with a notice that it is there, and its place goes back with one that it is free.

use rma::{Result, World};

const ROOM: u64 = 4;
const ITEMS: u64 = 12;
/// Counters: of items that were stored here, and of places that are free again where this rank stores.
const STORED: u32 = 0;
const FREED: u32 = 1;

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    // In a ring: each rank produces for the next one and consumes what the one before produces.
    let (from, to) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut ring = world.allocate::<u64>(ROOM as usize)?;
    ring.set_notifications(2)?;
    let mut sum = 0;
    ring.lock_all(|all| {
        let own = all.notifications();
        for item in 0..ITEMS {
            let place = (item % ROOM) as usize;
            if item >= ROOM {
                own.wait(FREED, item - ROOM + 1)?;
            }
            all.put_value_notify(100 * u64::from(rank) + item, to, place, STORED)?;
            own.wait(STORED, item + 1)?;
            sum += all.local().get(place);
            // Nothing is stored: this is a notice alone.
            all.put_notify(&[], from, 0, FREED)?;
        }
        Ok(())
    })?;
    assert_eq!(sum, 100 * u64::from(from) * ITEMS + ITEMS * (ITEMS - 1) / 2);
    world.barrier()?;
    ring.free()
}
