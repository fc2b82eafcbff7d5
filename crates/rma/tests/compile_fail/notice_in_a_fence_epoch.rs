//! Counters are raised in locks: an epoch of all ranks needs none.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epoch(|epoch| epoch.put_value_notify(1, 0, 0, 0))
    })
    .unwrap();
}
