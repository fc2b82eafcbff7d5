//! A lock while the memory is exposed to a group.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.expose(&[0], |_| window.exclusive(0, |rank0| rank0.store(0, 1)))
    })
    .unwrap();
}
