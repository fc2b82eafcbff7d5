//! The next epoch of a chain of fences before the one that is open has ended.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epochs(|fences| fences.epoch(|_| fences.epoch(|epoch| epoch.put_value(1, 0, 0))))
    })
    .unwrap();
}
