//! An enum, which has bit patterns that are no value.

#[derive(Clone, Copy, rma::Element)]
#[repr(u8)]
enum Color {
    Red,
    Green,
}

fn main() {}
