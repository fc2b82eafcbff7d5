//! `cargo xtask kills`: random programs on real processes in which a rank dies, or is stopped for a while.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode};

const PROGRAM: &str = "rma-test-faults";

/// Run random one-sided programs on real processes, kill a rank of each at a random point, and judge what comes of it.
///
/// Each seed is a job, a program and a death. No survivor may wait for longer than the bound, what survivors
/// hold must be what was written, the launcher must name the dead, and nothing may be left behind. Seeds that
/// fail are listed with the command that runs them again. The exit status is 0 only when none has failed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of jobs on each path.
    #[arg(long, value_name = "N", default_value_t = 100)]
    count: u64,

    /// First seed.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// How the ranks reach each other.
    #[arg(long, value_name = "PATH", default_value = "all", value_parser = ["mapped", "shm", "tcp", "nodes", "all"])]
    path: String,

    /// Seconds without progress after which a run has failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    bound: u64,

    /// Jobs run at the same time.
    #[arg(long, value_name = "W", default_value_t = 2)]
    workers: usize,

    /// Calls of the programs; paired: those of two ranks or a named group, after which no collective call follows a death.
    #[arg(long, value_name = "CALLS", default_value = "all", value_parser = ["all", "paired"])]
    calls: String,

    /// Stop a rank for so many milliseconds (SIGSTOP, SIGCONT) instead of killing one.
    #[arg(long, value_name = "MS")]
    stop: Option<u64>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let status = workspace.cargo("build").args(["--quiet", "--workspace", "--bins", "--examples"]).status();
    let status = status.map_err(|error| format!("cargo build could not be started: {error}"))?;
    if !status.success() {
        return Ok(ExitCode::FAILURE);
    }
    let program = workspace.target().join("debug").join(PROGRAM);
    let status = Command::new(&program).args(args.words()).status();
    let status = status.map_err(|error| format!("{} could not be started: {error}", program.display()))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Args {
    /// What the program is started with.
    fn words(&self) -> Vec<String> {
        let mut words = vec![if self.stop.is_some() { "stops" } else { "kills" }.to_owned()];
        let options = [
            ("--count", self.count.to_string()),
            ("--seed", self.seed.to_string()),
            ("--path", self.path.clone()),
            ("--bound", self.bound.to_string()),
            ("--workers", self.workers.to_string()),
            ("--calls", self.calls.clone()),
        ];
        let stop = self.stop.map(|time| ("--time", time.to_string()));
        words.extend(options.into_iter().chain(stop).flat_map(|(name, value)| [name.to_owned(), value]));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_reaches_the_program() {
        let (path, calls) = ("tcp".to_owned(), "paired".to_owned());
        let kills = Args { count: 7, seed: 9, path, bound: 3, workers: 4, calls, stop: None };
        let options = "--count 7 --seed 9 --path tcp --bound 3 --workers 4 --calls paired";
        assert_eq!(kills.words().join(" "), format!("kills {options}"));
        let stops = Args { stop: Some(50), ..kills };
        assert_eq!(stops.words().join(" "), format!("stops {options} --time 50"));
    }
}
