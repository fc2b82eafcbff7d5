//! Declaring a type fit for windows is a promise, which the compiler cannot check.

#[derive(Clone, Copy)]
struct Flag(#[allow(dead_code)] bool);

impl rma::Element for Flag {}

fn main() {
    rma::World::run_threads(1, |world| world.allocate::<Flag>(4)?.free()).unwrap();
}
