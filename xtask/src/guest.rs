//! `cargo xtask guest`: the C programs under other libraries with the guest in front.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::ExitCode;

/// Run the C programs of windows under other MPI libraries, with the guest in front.
///
/// MPICH and Open MPI take part where they are installed (Debian: mpich, libopenmpi-dev); what is missing is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains this.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let mut build = workspace.cargo("build");
    build.args(["--package", "rma-guest", "--package", "rma-capi", "--package", "rma-tools"]);
    build.args(["--package", "rma", "--features", "rma/launcher"]);
    let mut test = workspace.cargo("test");
    test.args(["--package", "rma-tests", "--test", "guest", "--"]).args(&args.name);
    test.args(["--nocapture", "--test-threads", "1"]).env("RMA_TEST_C", "all");
    for mut command in [build, test] {
        let status = command.status().map_err(|error| format!("cargo could not be started: {error}"))?;
        if !status.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
