//! A put in an epoch that only reads.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let values = [1; 4];
        window.read_epoch(|reads| reads.put(&values, 0, 0))?;
        window.free()
    })
    .unwrap();
}
