//! Runs `direct-path` of `rma-bench` under callgrind, once with N calls and once with 2N, and takes the difference; then the
//! same for the calls of typed windows, those in C, those in C to another rank by packets, and those in C inside another library.
//!
//! Callgrind collects in the loop over the calls alone, so the profile of a run names everything that a call executes:
//! its functions, the libraries they come from, and, for code that was inlined, the source files.

use super::c_calls;
use super::created_calls;
use super::guest_calls;
use super::run::Repeated;
use super::rust_calls;
use crate::Outcome;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode, Stdio};

/// The calls that `direct-path` knows, and whether they must be free of locks, allocations and system calls. The others
/// serve the channels now and then.
const CALLS: &[(&str, bool)] = &[
    ("put", true),
    ("get", true),
    ("accumulate", true),
    ("fetch_and_op", true),
    ("compare_and_swap", true),
    ("flush", false),
    ("lock_unlock", false),
];

const PACKAGE: &str = "rma-bench";
const PROGRAM: &str = "direct-path";

/// Count the instructions of direct calls, and check what they execute. Needs valgrind.
///
/// Prints tables of instructions per call, of the engine, of typed windows, of the C library, of it on created memory, and of librma_guest.so
/// with it where MPICH is installed, as in docs/performance.md. Fails when a communication call executes an allocation, a lock or a system call, or a call in C
/// or of a typed window has more instructions than it may.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Calls of the shorter run; the longer one makes twice as many. A multiple of the poll interval, so that both see as
    /// many polls for each call.
    #[arg(short, default_value_t = 3200, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    n: u64,

    /// Also list the functions and source files of each call.
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("valgrind is not installed: no instructions were counted");
        return Ok(ExitCode::SUCCESS);
    }
    let mut build = workspace.cargo("build");
    build.args(["--release", "--package", PACKAGE, "--bin", PROGRAM]);
    let status = build.status().map_err(|error| format!("cargo build could not be started: {error}"))?;
    if !status.success() {
        return Ok(ExitCode::FAILURE);
    }
    let program = workspace.target().join("release").join(PROGRAM);
    let mut findings = Vec::new();
    println!("| call | instructions |\n| --- | --- |");
    for (call, must_be_pure) in CALLS {
        let function = format!("direct_path::measured::{call}");
        let repeated = Repeated { program: &program, preload: None, call, function: &function, across: None };
        let (instructions, profile) = repeated.measure(workspace, args.n, |profile| profile.instructions)?;
        println!("| {call} | {instructions:.1} |");
        if args.list {
            eprintln!("{call}:\n{profile}");
        }
        if *must_be_pure {
            let impurities = profile.impurities(&[PROGRAM]);
            findings.extend(impurities.into_iter().map(|what| format!("{call} executes {what}")));
        }
    }
    println!();
    findings.extend(rust_calls::count(workspace, &program, (args.n, args.list))?);
    println!();
    findings.extend(c_calls::count(workspace, args.n, args.list)?);
    println!();
    findings.extend(created_calls::count(workspace, args.n, args.list)?);
    println!();
    findings.extend(guest_calls::count(workspace, args.n, args.list)?);
    if findings.is_empty() {
        println!(
            "\nThe communication calls on mapped memory execute no allocation, no lock and no system call."
        );
        return Ok(ExitCode::SUCCESS);
    }
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    Ok(ExitCode::FAILURE)
}
