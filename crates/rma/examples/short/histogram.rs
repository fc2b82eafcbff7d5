//! Histogram: bins lie in blocks on all ranks, and every rank counts into any of them by accumulates.

use rma::{ReduceOp, Result, World};

const BINS: usize = 16;
const SAMPLES: u64 = 1000;

pub(crate) fn run(world: &World) -> Result<()> {
    let mut bins = world.allocate::<u64>(BINS)?;
    let ranks = u64::from(world.size());
    let mut random = u64::from(world.rank()) + 1;
    // Accumulates commute, so any number of ranks may count at a time under shared locks.
    bins.lock_all(|all| {
        for _ in 0..SAMPLES {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bin = (random >> 40) % (ranks * BINS as u64);
            all.accumulate_value(1, ReduceOp::Sum, bin / BINS as u64, bin as usize % BINS)?;
        }
        Ok(())
    })?;
    world.barrier()?;
    let counted = bins.local().to_vec().iter().sum::<u64>();
    assert_eq!(world.allreduce(ReduceOp::Sum, &[counted])?, [SAMPLES * ranks]);
    bins.free()
}
