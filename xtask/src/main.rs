//! `cargo xtask`: the commands of this workspace, one file each.
//!
//! Needs Rust and a C linker, nothing else: tests run under `cargo test`, and no command downloads a tool.

mod bench;
mod callgrind;
mod run;
mod smallest;
mod stage;
mod test;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use workspace::Workspace;

/// Builds, runs, tests and benchmarks of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Test(test::Args),
    Tidy(tidy::Args),
    Bench(bench::Args),
    Callgrind(callgrind::Args),
}

/// What a command ends with: its exit status, or why it could not be carried out.
type Outcome = Result<ExitCode, String>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = Workspace::find().and_then(|workspace| match cli.command {
        Command::Run(args) => run::run(&workspace, &args),
        Command::Test(args) => test::run(&workspace, &args),
        Command::Tidy(args) => tidy::run(&workspace, &args),
        Command::Bench(args) => bench::run(&workspace, &args),
        Command::Callgrind(args) => callgrind::run(&workspace, &args),
    });
    outcome.unwrap_or_else(|error| {
        eprintln!("cargo xtask: {error}");
        ExitCode::FAILURE
    })
}
