//! Communication outside an epoch: a window itself has no such call.

fn main() {
    rma::World::run_threads(1, |world| {
        let window = world.allocate::<u64>(4)?;
        window.put(&[1], 0, 0)
    })
    .unwrap();
}
