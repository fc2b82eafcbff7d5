//! Accumulates are defined on numbers, not on every element.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<[u32; 3]>(4)?;
        window.fence_epoch(|epoch| epoch.accumulate(&[[1, 2, 3]], rma::ReduceOp::Sum, 0, 0))
    })
    .unwrap();
}
