//! A struct with a field that is no element.

#[derive(Clone, Copy, rma::Element)]
#[repr(C)]
struct Flagged {
    value: u8,
    is_valid: bool,
}

fn main() {}
