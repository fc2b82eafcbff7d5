//! Two gets into one buffer.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut result = [0; 2];
        window.shared(0, |rank0| {
            rank0.get(&mut result, 0)?;
            rank0.get(&mut result, 2)
        })
    })
    .unwrap();
}
