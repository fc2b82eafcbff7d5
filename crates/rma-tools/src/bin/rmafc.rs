//! `rmafc ARGS…`: the Fortran compiler with what programs of the library need. See `rma_tools::compile`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rma_tools::compile::main(&rma_tools::compile::FORTRAN, std::env::args_os().skip(1).collect())
}
