//! A flush frees no buffer that is borrowed for the lock's whole scope; a batch would.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut values = [1, 2];
        window.exclusive(0, |rank0| {
            rank0.put(&values, 0)?;
            rank0.flush()?;
            values[0] = 3;
            Ok(())
        })
    })
    .unwrap();
}
