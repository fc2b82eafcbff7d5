//! `cargo xtask bench`: the benchmarks of `rma-bench`.

use crate::Outcome;
use crate::workspace::Workspace;
use std::os::unix::process::CommandExt;

/// Run the benchmarks.
///
/// For now these are the criterion benches of rma-bench, which measure parts inside one process. Programs of several
/// ranks, and the comparison with other MPI libraries, come with the C library.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only benchmarks whose name contains this, or pass options to criterion.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FILTER")]
    criterion: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let mut bench = workspace.cargo("bench");
    // Without --benches the unit tests of the library would be run as benchmarks, and trip over criterion's options.
    let error = bench.args(["--package", "rma-bench", "--benches", "--"]).args(&args.criterion).exec();
    Err(format!("cargo bench could not be started: {error}"))
}
