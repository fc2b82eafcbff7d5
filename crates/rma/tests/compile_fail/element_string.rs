//! A type that owns memory.

fn main() {
    rma::World::run_threads(1, |world| world.allocate::<String>(4).map(drop)).unwrap();
}
