//! A shared borrow is said to be a result, and one that may end too early to be an origin.

use rma::Element;
use rma::window::{OriginBuffer, ResultBuffer};

#[derive(Clone, Copy, Element)]
#[repr(transparent)]
struct Cell(u64);

impl<'scope, 'a> ResultBuffer<'scope, Cell> for &'a [Cell] {}

impl<'scope, 'a> OriginBuffer<'scope, Cell> for &'a mut [Cell] {}

fn main() {}
