//! A view of another rank's memory that leaves the scope of the lock.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let view = window.shared(0, |rank0| Ok(rank0.mapped()))?;
        assert!(view.is_some());
        Ok(())
    })
    .unwrap();
}
