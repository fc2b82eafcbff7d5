//! The command: writes the sources of Fortran's part, for other libraries with the standard ABI.

use super::sources::sources;
use crate::workspace::Workspace;
use crate::{Outcome, abi};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the sources of Fortran's module mpi_f08 and of its part in C.
///
/// They need a header and a library of the standard ABI, and no other part of this one. Installing puts them below share/rma/fortran, where rmafc compiles them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to write to; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let failed = |error| format!("{}: {error}", args.out.display());
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    for source in sources(&abi::tables(workspace)?)? {
        std::fs::write(args.out.join(source.name), source.text).map_err(failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
