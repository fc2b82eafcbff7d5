//! `cargo xtask seeds`: random programs in virtual time, as many as wanted.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode};

/// The profile that programs are built with: fast, with all checks.
const PROFILE: &str = "seeds";
const PACKAGE: &str = "rma-tests";
const PROGRAM: &str = "rma-test-seeds";

/// Run random one-sided programs in virtual time against an oracle.
///
/// Each seed is a job and a program; a run follows from it alone. Seeds that fail are listed, and the first ones are made
/// small and printed. The exit status is 0 only when none has failed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of seeds.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    count: u64,

    /// First seed.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Threads of each rank; 0 draws 1, 2 or 4 from the seed.
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=8))]
    threads: u32,

    /// Sizes of the element pools; all: by turns.
    #[arg(long, value_name = "POOLS", default_value = "all", value_parser = ["all", "default", "one", "two", "drawn"])]
    pools: String,

    /// What decides which rank steps and which packet arrives: even draws, or an adversary; all: by turns.
    #[arg(long, value_name = "SCHEDULE", default_value = "all")]
    #[arg(value_parser = ["all", "even", "starve", "newest", "priorities"])]
    schedule: String,

    /// Seeds run at the same time; 0 is one for each core.
    #[arg(long, value_name = "W", default_value_t = 0)]
    workers: usize,

    /// Programs in which ranks die, are stopped, start late, and lose connections; `--threads` and `--pools` say nothing then.
    #[arg(long)]
    deaths: bool,

    /// Which of these; apart: one rank on each node; alive: no deaths where ranks share a node. Both keep their windows.
    #[arg(long, value_name = "KINDS", default_value = "all", value_parser = ["all", "apart", "alive"])]
    kinds: String,

    /// Failing seeds to make small and print.
    #[arg(long, value_name = "E", default_value_t = 3)]
    explain: u64,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let mut build = workspace.cargo("build");
    build.args(["--quiet", "--profile", PROFILE, "--package", PACKAGE, "--bin", PROGRAM]);
    let status = build.status().map_err(|error| format!("cargo build could not be started: {error}"))?;
    if !status.success() {
        return Ok(ExitCode::FAILURE);
    }
    let program = workspace.target().join(PROFILE).join(PROGRAM);
    let mut run = Command::new(&program);
    run.args(args.words());
    let status =
        run.status().map_err(|error| format!("{} could not be started: {error}", program.display()))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Args {
    /// What the program is started with.
    fn words(&self) -> Vec<String> {
        let workers = match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let mut options = vec![
            ("--count", self.count.to_string()),
            ("--seed", self.seed.to_string()),
            ("--workers", workers.to_string()),
            ("--explain", self.explain.to_string()),
        ];
        if self.deaths {
            options.push(("--kinds", self.kinds.clone()));
        } else {
            options.extend([("--threads", self.threads.to_string()), ("--pools", self.pools.clone())]);
            options.push(("--schedule", self.schedule.clone()));
        }
        let first = if self.deaths { "deaths" } else { "simulate" };
        let options = options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        [first.to_owned()].into_iter().chain(options).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_reaches_the_program() {
        let [pools, kinds, schedule] = ["one", "apart", "newest"].map(str::to_owned);
        let args = Args {
            count: 7,
            seed: 9,
            threads: 4,
            pools,
            schedule,
            workers: 2,
            deaths: false,
            kinds,
            explain: 1,
        };
        let options = "--count 7 --seed 9 --workers 2 --explain 1";
        assert_eq!(
            args.words().join(" "),
            format!("simulate {options} --threads 4 --pools one --schedule newest")
        );
        let args = Args { deaths: true, ..args };
        assert_eq!(args.words().join(" "), format!("deaths {options} --kinds apart"));
    }
}
