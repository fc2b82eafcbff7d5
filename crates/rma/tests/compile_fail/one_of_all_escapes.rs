//! The handle of one rank does not leave the epoch in which all are locked.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let rank0 = window.lock_all(|all| all.rank(0))?;
        rank0.store(0, 1)
    })
    .unwrap();
}
