//! `rmacc ARGS…`: the C compiler with what programs of the library need. See `rma_tools::compile`.

use rma_tools::compile::{C, main as wrapper};
use std::process::ExitCode;

fn main() -> ExitCode {
    wrapper(&C, std::env::args_os().skip(1).collect())
}
