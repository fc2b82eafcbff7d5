//! `cargo xtask`: the commands of this workspace, one file each.
//!
//! Needs Rust and a C compiler, nothing else: tests run under `cargo test`, and no command downloads a tool.

mod abi;
mod bench;
mod callgrind;
mod cluster;
mod failures;
mod fortran;
mod guest;
mod install;
mod kills;
mod process;
mod programs;
mod publishing;
mod run;
mod sanitize;
mod scale;
mod seeds;
mod smallest;
mod stage;
mod test;
#[cfg(test)]
mod testing;
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
    Abi(abi::Args),
    Run(run::Args),
    Seeds(seeds::Args),
    Test(test::Args),
    Tidy(tidy::Args),
    Bench(bench::Args),
    Callgrind(callgrind::Args),
    Cluster(cluster::Args),
    Fortran(fortran::Args),
    Guest(guest::Args),
    Install(install::Args),
    Uninstall(install::UninstallArgs),
    Kills(kills::Args),
    Programs(programs::Args),
    Package(publishing::Args),
    Scale(scale::Args),
    Fuzz(sanitize::FuzzArgs),
    Asan(sanitize::AsanArgs),
    Miri(sanitize::MiriArgs),
}

/// What a command ends with: its exit status, or why it could not be carried out.
type Outcome = Result<ExitCode, String>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        // Started on each machine and for each host, so at once.
        Command::Cluster(args) if args.is_shell() => cluster::stand_in(&args),
        command => run(command),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("cargo xtask: {error}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> Outcome {
    Workspace::find().and_then(|workspace| match command {
        Command::Abi(args) => abi::run(&workspace, &args, fortran::findings),
        Command::Run(args) => run::run(&workspace, &args),
        Command::Seeds(args) => seeds::run(&workspace, &args),
        Command::Test(args) => test::run(&workspace, &args),
        Command::Tidy(args) => tidy::run(&workspace, &args),
        Command::Bench(args) => bench::run(&workspace, &args),
        Command::Callgrind(args) => callgrind::run(&workspace, &args),
        Command::Cluster(args) => cluster::run(&workspace, &args),
        Command::Fortran(args) => fortran::run(&workspace, &args),
        Command::Guest(args) => guest::run(&workspace, &args),
        Command::Install(args) => install::run(&workspace, &args),
        Command::Uninstall(args) => install::uninstall(&args),
        Command::Kills(args) => kills::run(&workspace, &args),
        Command::Programs(args) => programs::run(&workspace, &args),
        Command::Package(args) => publishing::run(&workspace, &args),
        Command::Scale(args) => scale::run(&workspace, &args),
        Command::Fuzz(args) => sanitize::fuzz(&workspace, &args),
        Command::Asan(args) => sanitize::asan(&workspace, &args),
        Command::Miri(_) => sanitize::miri(&workspace),
    })
}
