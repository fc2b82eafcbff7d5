//! `rma-man DIRECTORY`: writes the manual pages; for the installation, not installed itself. See `rma_tools::man`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [directory] = &arguments[..] else {
        eprintln!("usage: rma-man DIRECTORY");
        return ExitCode::from(2);
    };
    match rma_tools::man::write(Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rma-man: {error}");
            ExitCode::FAILURE
        }
    }
}
