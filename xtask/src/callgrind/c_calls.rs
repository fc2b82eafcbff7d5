//! The calls of the C library, as an installation has it: instructions from call to return, and no allocation.

use super::run::Repeated;
use crate::abi::SONAME;
use crate::process::succeed;
use crate::workspace::{INSTALLED, Workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is counted: the call as the program knows it, its names, how many instructions it may have, and whether it must be
/// free of locks and system calls too.
pub(super) type Counted = (&'static str, &'static str, f64, bool);

/// Those that may have locks serve the channels now and then; the last one is little more than the frame of a call.
const CALLS: &[Counted] = &[
    ("put", "MPI_Put", 66.0, true),
    ("put_100th", "MPI_Put in the 100th window", 66.0, true),
    ("put_characters", "MPI_Put of 1,000 characters two bytes apart", 6_200.0, false),
    ("get", "MPI_Get", 64.0, true),
    ("accumulate", "MPI_Accumulate", 154.0, true),
    ("get_accumulate", "MPI_Get_accumulate", 173.0, true),
    ("accumulate_8", "MPI_Accumulate of 8 doubles", 362.0, true),
    ("get_accumulate_8", "MPI_Get_accumulate of 8 doubles", 464.0, true),
    ("fetch_and_op", "MPI_Fetch_and_op", 150.0, true),
    ("compare_and_swap", "MPI_Compare_and_swap", 147.0, true),
    ("put_notify", "MPIX_Put_notify", 124.0, true),
    ("wait_notify", "MPIX_Win_wait_notify", 93.0, false),
    ("flush", "MPI_Win_flush", 47.0, false),
    ("lock_unlock", "MPI_Win_lock + MPI_Win_unlock", 183.0, false),
    ("comm_rank", "MPI_Comm_rank", 40.0, false),
];

const PACKAGE: &str = "rma-capi";
pub(super) const SOURCE: &str = "crates/rma-bench/c-counted/calls_counted.c";
pub(super) const PROGRAM: &str = "calls-counted";
pub(super) const GUEST: &str = "librma_guest.so";
/// The objects that are this project's.
const OWN: &[&str] = &[PROGRAM, SONAME, GUEST];

/// Prints a row for each call; answers what is wrong.
pub(super) fn count(workspace: &Workspace, n: u64, list: bool) -> Result<Vec<String>, String> {
    let program = build(workspace)?;
    println!("| C call | instructions |\n| --- | --- |");
    count_in(workspace, (n, list), (&program, None), CALLS)
}

/// Counts calls in a program, and in what is loaded before it.
pub(super) fn count_in(
    workspace: &Workspace,
    n_list: (u64, bool),
    (program, preload): (&Path, Option<&Path>),
    calls: &[Counted],
) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    for &(call, names, most, must_be_pure) in calls {
        let function = format!("call_{call}");
        let repeated = Repeated { program, preload, call, function: &function, across: None };
        let rules = Rules { names, most, must_be_pure, may_allocate: false };
        findings.extend(rules.check(workspace, n_list, repeated)?);
    }
    Ok(findings)
}

/// How often calls to another rank are counted, until they are few enough.
const TRIES: u32 = 4;

/// What holds for a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) names: &'static str,
    /// It has fewer instructions.
    pub(super) most: f64,
    /// It is free of locks and system calls.
    pub(super) must_be_pure: bool,
    pub(super) may_allocate: bool,
}

impl Rules {
    /// Prints a row for a call; answers what is wrong.
    pub(super) fn check(
        self,
        workspace: &Workspace,
        (n, list): (u64, bool),
        repeated: Repeated<'_>,
    ) -> Result<Vec<String>, String> {
        let Self { names, most, must_be_pure, may_allocate } = self;
        let program = repeated.program.file_name().unwrap_or_default().to_string_lossy();
        let measure = || repeated.measure(workspace, n, |profile| profile.instructions_outside(&program));
        let (mut instructions, mut profile) = measure()?;
        // Some 20 more wherever the other rank has to be woken, which on a busy machine is now and then.
        for _ in 0..if repeated.across.is_some() { TRIES - 1 } else { 0 } {
            if instructions >= most {
                (instructions, profile) = measure()?;
            }
        }
        println!("| `{names}` | {instructions:.1} |");
        if list {
            eprintln!("{names}:\n{profile}");
        }
        let mut findings = Vec::new();
        if instructions >= most {
            findings.push(format!("{names} has {instructions:.1} instructions, not under {most}"));
        }
        let allocations = if may_allocate { Vec::new() } else { profile.allocations() };
        let impurities = if must_be_pure { profile.impurities(OWN) } else { Vec::new() };
        let executed = allocations.into_iter().chain(impurities);
        findings.extend(executed.map(|what| format!("{names} executes {what}")));
        Ok(findings)
    }
}

/// Builds library and program, and puts them side by side.
fn build(workspace: &Workspace) -> Result<PathBuf, String> {
    let mut build = workspace.build_installed();
    build.args(["--package", PACKAGE, "--lib"]);
    succeed(&mut build)?;
    let folder = workspace.target().join("callgrind");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let library = folder.join(SONAME);
    std::fs::copy(workspace.target().join(INSTALLED).join("libmpi_abi.so"), &library).map_err(failed)?;
    compile(workspace, SOURCE, PROGRAM)
}

/// Compiles a program beside the library, which has been built.
pub(super) fn compile(workspace: &Workspace, source: &str, name: &str) -> Result<PathBuf, String> {
    let folder = workspace.target().join("callgrind");
    let program = folder.join(name);
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"]);
    compile.arg(workspace.root().join("crates").join(PACKAGE).join("include"));
    compile.arg(workspace.root().join(source)).arg("-o").arg(&program).arg(folder.join(SONAME));
    // Names are looked up before the first call, so that looking up is no part of it.
    compile.args(["-Wl,-rpath,$ORIGIN", "-Wl,-z,now"]);
    succeed(&mut compile)?;
    Ok(program)
}
