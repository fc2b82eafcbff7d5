//! Runs `direct-path` of `rma-bench` under callgrind, once with N calls and once with 2N, and takes the difference.
//!
//! Callgrind collects in the loop over the calls alone, so the profile of a run names everything that a call executes:
//! its functions, the libraries they come from, and, for code that was inlined, the source files.

use super::profile::Profile;
use crate::Outcome;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
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
/// Prints a table of instructions per call, as in docs/performance.md. Fails when a communication call executes an
/// allocation, a lock or a system call.
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
        let short = profile(workspace, &program, call, args.n)?;
        let long = profile(workspace, &program, call, 2 * args.n)?;
        let more = long.instructions.checked_sub(short.instructions).filter(|more| *more > 0);
        let more = more.ok_or_else(|| format!("{call}: twice as many calls took no more instructions"))?;
        println!("| {call} | {:.1} |", more as f64 / args.n as f64);
        if args.list {
            eprintln!("{call}:\n{long}");
        }
        if *must_be_pure {
            findings
                .extend(long.impurities(PROGRAM).into_iter().map(|what| format!("{call} executes {what}")));
        }
    }
    if findings.is_empty() {
        println!("\nThe communication calls execute no allocation, no lock and no system call.");
        return Ok(ExitCode::SUCCESS);
    }
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    Ok(ExitCode::FAILURE)
}

/// The profile of `count` calls.
fn profile(workspace: &Workspace, program: &Path, call: &str, count: u64) -> Result<Profile, String> {
    let file: PathBuf = workspace.target().join(format!("callgrind.{call}.{count}.out"));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(format!("--toggle-collect=direct_path::measured::{call}"))
        .arg(program)
        .args([call, &count.to_string()])
        .output()
        .map_err(|error| format!("valgrind could not be started: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("valgrind failed on {call} ({}):\n{text}", output.status));
    }
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let _ = std::fs::remove_file(&file);
    Profile::parse(&text).ok_or_else(|| format!("callgrind's output for {call} gives no total"))
}
