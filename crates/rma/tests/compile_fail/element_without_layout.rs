//! A struct that the compiler may lay out as it likes, on each rank in its way.

#[derive(Clone, Copy, rma::Element)]
struct Loose {
    short: u16,
    long: u16,
}

fn main() {}
