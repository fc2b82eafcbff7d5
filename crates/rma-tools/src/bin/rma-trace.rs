//! `rma-trace FILE`: see `rma_tools::timeline`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rma_tools::timeline::main(std::env::args_os())
}
