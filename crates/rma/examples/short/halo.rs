//! Halo exchange: each rank stores the ends of its row into the borders of its neighbours, between two fences.

use rma::{Result, World};

const INNER: usize = 8;
const STEPS: usize = 10;

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, last) = (world.rank(), world.size() - 1);
    // At the ends of the world there is no neighbour, and a put to none does nothing.
    let (left, right) = (rank.checked_sub(1), (rank < last).then_some(rank + 1));
    let mut borders = world.allocate::<f64>(2)?;
    let mut row = vec![0.0; INNER];
    if rank == 0 {
        row[0] = 100.0;
    }
    let before = world.allreduce(rma::ReduceOp::Sum, &[row.iter().sum::<f64>()])?[0];
    for _ in 0..STEPS {
        // What lies beyond the ends of the world is as warm as the end.
        borders.local().write(0, &[row[0], row[INNER - 1]]);
        borders.fence_epoch(|epoch| {
            epoch.put_value(row[0], left, 1)?;
            epoch.put_value(row[INNER - 1], right, 0)
        })?;
        let [from_left, from_right] = [borders.local().get(0), borders.local().get(1)];
        let at = |at: usize| match at {
            0 => from_left,
            at if at > INNER => from_right,
            at => row[at - 1],
        };
        row = (1..=INNER).map(|here| (at(here - 1) + 2.0 * at(here) + at(here + 1)) / 4.0).collect();
    }
    let after = world.allreduce(rma::ReduceOp::Sum, &[row.iter().sum::<f64>()])?[0];
    assert!((before - after).abs() < 1e-9, "heat is neither made nor lost: {before}, {after}");
    borders.free()
}
