//! `cargo xtask bench --sweep VARIABLE`: what one variable of our library does to the cases that it concerns.
//!
//! The variable and its range come from the library's own table ([`variable`]); which cases are measured, and over which
//! channel, stands in [`trials`]. All values are measured in turn ([`measure`]), and written as a plot and a table
//! ([`report`]), which go into a document ([`page`]) on request.

mod measure;
mod page;
mod report;
mod trials;
mod variable;

pub(crate) use measure::{Request, run};
pub(crate) use page::{MARKS, PAGE, put_into, variables_of};
