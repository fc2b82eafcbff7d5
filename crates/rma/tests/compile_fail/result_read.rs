//! The result of a get is read inside the epoch, before it is there.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut result = [0; 2];
        window.fence_epoch(|epoch| {
            epoch.get(&mut result, 0, 0)?;
            assert_eq!(result[0], 0);
            Ok(())
        })
    })
    .unwrap();
}
