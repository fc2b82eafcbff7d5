//! A window freed inside an epoch on it.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epoch(|_| window.free())
    })
    .unwrap();
}
