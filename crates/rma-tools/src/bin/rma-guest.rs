//! `rma-guest LAUNCHER …`: see `rma_tools::guest`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rma_tools::guest::main(std::env::args_os())
}
