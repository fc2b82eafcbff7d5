//! A thread that may outlive the closure cannot have the handle of its epoch.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        std::thread::scope(|threads| {
            window.lock_all(|all| {
                threads.spawn(|| all.put_value(1, 0, 0));
                Ok(())
            })
        })
    })
    .unwrap();
}
