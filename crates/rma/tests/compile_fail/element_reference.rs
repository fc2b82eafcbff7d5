//! A type that points somewhere in one process.

fn main() {
    rma::World::run_threads(1, |world| world.allocate::<&'static u8>(4).map(drop)).unwrap();
}
