//! A result is read in its epoch, before the fence; behind the fence it would be there.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut result = [0];
        window.fence_epochs(|fences| {
            fences.epoch(|epoch| {
                epoch.get(&mut result, 0, 0)?;
                assert_eq!(result, [0]);
                Ok(())
            })
        })
    })
    .unwrap();
}
