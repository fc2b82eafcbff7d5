//! A type that has invalid bit patterns.

fn main() {
    rma::World::run_threads(1, |world| world.allocate::<bool>(4).map(drop)).unwrap();
}
