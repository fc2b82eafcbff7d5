//! A struct with bytes that belong to no field.

#[derive(Clone, Copy, rma::Element)]
#[repr(C)]
struct Padded {
    short: u16,
    long: u64,
}

fn main() {}
