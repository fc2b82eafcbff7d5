//! Flushes belong to epochs of locks (MPI 3.1 §11.5.4).

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.fence_epoch(|epoch| epoch.flush(0))
    })
    .unwrap();
}
