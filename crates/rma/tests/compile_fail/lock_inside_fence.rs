//! A lock inside a fence epoch.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epoch(|_| window.shared(0, |rank0| rank0.store(0, 1)))
    })
    .unwrap();
}
