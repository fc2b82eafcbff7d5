//! `rma-info`: see `rma_tools::info`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rma_tools::info::main(std::env::args_os())
}
