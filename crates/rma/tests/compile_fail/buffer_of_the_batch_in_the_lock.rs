//! A buffer borrowed for a batch is not one borrowed for the lock's scope: the handle of the lock refuses it.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.exclusive(0, |rank0| {
            let values = [1, 2];
            rank0.batch(|batch| batch.put(&values, 0))?;
            rank0.put(&values, 0)
        })
    })
    .unwrap();
}
