//! An origin buffer is written inside the epoch, before the put is complete.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut values = [1, 2];
        window.fence_epoch(|epoch| {
            epoch.put(&values, 0, 0)?;
            values[0] = 3;
            Ok(())
        })
    })
    .unwrap();
}
