//! Origin and result of one operation are one buffer.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut values = [1, 2];
        window.fence_epoch(|epoch| epoch.get_accumulate(&values, &mut values, rma::ReduceOp::Sum, 0, 0))
    })
    .unwrap();
}
