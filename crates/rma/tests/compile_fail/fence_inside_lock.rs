//! A fence inside a lock's scope.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.exclusive(0, |_| window.fence_epoch(|_| Ok(())))
    })
    .unwrap();
}
