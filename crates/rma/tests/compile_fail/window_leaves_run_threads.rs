//! A window that a rank returns from its life.

fn main() {
    let windows = rma::World::run_threads(1, |world| world.allocate::<u64>(4)).unwrap();
    drop(windows);
}
