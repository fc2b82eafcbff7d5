//! The wait for a counter ends before its window does.

fn main() {
    rma::World::run_threads(1, |world| {
        let window = world.allocate::<u64>(4)?;
        let notified = window.notified(0, 1)?;
        window.free()?;
        notified.wait()
    })
    .unwrap();
}
