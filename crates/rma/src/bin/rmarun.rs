//! `rmarun -n N program…`: see `rma::launch`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rma::launch::main(std::env::args_os())
}
