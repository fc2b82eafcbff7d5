//! Work stealing: each rank's tasks are a counter; a rank that has none left takes from the next rank by fetch-and-add.

use rma::{ReduceOp, Result, World};

const TASKS: u64 = 50;

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    // The first task that no rank has taken yet.
    let mut next = world.allocate::<u64>(1)?;
    // All the work is on rank 0 to begin with.
    let tasks = |owner: u32| if owner == 0 { TASKS * u64::from(size) } else { 0 };
    let mut done = 0;
    next.lock_all(|all| {
        for owner in (0..size).map(|away| (rank + away) % size) {
            let counter = all.rank(owner)?;
            while counter.load(0)? < tasks(owner) {
                let task = counter.fetch_add(0, 1)?;
                if task >= tasks(owner) {
                    break;
                }
                done += task + 1;
            }
        }
        Ok(())
    })?;
    let all = tasks(0);
    assert_eq!(world.allreduce(ReduceOp::Sum, &[done])?, [all * (all + 1) / 2], "each task was done once");
    next.free()
}
