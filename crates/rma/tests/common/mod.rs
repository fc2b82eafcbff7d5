//! What the tests of the launcher and of worlds share.

#[allow(dead_code)] // every test program uses some of it
pub(crate) mod foreign;
#[allow(dead_code)]
pub(crate) mod paths;
#[allow(dead_code)]
mod running;

#[allow(unused_imports)]
pub(crate) use running::{LIMIT, Run, Running, rmarun, run, run_words};
