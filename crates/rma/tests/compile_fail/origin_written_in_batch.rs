//! An origin buffer is written inside the batch that put from it.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut values = [1, 2];
        window.exclusive(0, |rank0| {
            rank0.batch(|batch| {
                batch.put(&values, 0)?;
                values[0] = 3;
                Ok(())
            })
        })
    })
    .unwrap();
}
