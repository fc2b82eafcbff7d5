//! Another window takes the place of one over borrowed memory, so that this one would outlive the borrow.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut memory = [0u64; 4];
        let mut other = world.allocate::<u64>(4)?;
        world.window().lend(&mut memory, |window| {
            std::mem::swap(window, &mut other);
            Ok(())
        })
    })
    .unwrap();
}
