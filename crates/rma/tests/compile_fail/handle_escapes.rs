//! The handle of an epoch does not leave the closure.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut kept = None;
        window.exclusive(0, |rank0| {
            kept = Some(rank0);
            Ok(())
        })?;
        kept.unwrap().store(0, 1)
    })
    .unwrap();
}
