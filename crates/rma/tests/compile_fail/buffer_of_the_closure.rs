//! A buffer that ends with the closure, before the epoch does.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epoch(|epoch| {
            let values = vec![1, 2];
            epoch.put(&values, 0, 0)
        })
    })
    .unwrap();
}
