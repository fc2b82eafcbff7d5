//! A notice tells the target, not the origin: the buffer is in use until the scope ends.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut values = [1];
        window.lock_all(|all| {
            all.put_notify(&values, 0, 0, 0)?;
            values[0] = 2;
            Ok(())
        })
    })
    .unwrap();
}
