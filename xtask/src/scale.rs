//! `cargo xtask scale`: measures large simulated jobs, and prints the tables of `docs/scale.md`.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::ExitCode;

/// Measure memory and packets of large simulated jobs.
///
/// Prints the tables of docs/scale.md. All ranks run on one thread of one process.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sizes of the jobs.
    #[arg(value_name = "RANKS")]
    ranks: Vec<u32>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let status = workspace
        .cargo("run")
        .args(["--release", "--package", "rma-tests", "--bin", "rma-scale", "--"])
        .args(args.ranks.iter().map(u32::to_string))
        .status()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
