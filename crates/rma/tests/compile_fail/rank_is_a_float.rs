//! Ranks are integers.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epoch(|epoch| epoch.put_value(1, 0.5, 0))
    })
    .unwrap();
}
