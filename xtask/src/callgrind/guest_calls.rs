//! The same calls in C inside MPICH: the instructions of `librma_guest.so` and of the C library beside it.

use super::c_calls::{Counted, GUEST, PROGRAM, SOURCE, count_in};
use crate::process::succeed;
use crate::workspace::{INSTALLED, Workspace};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const CALLS: &[Counted] = &[
    ("put", "MPI_Put", 82.0, true),
    ("get", "MPI_Get", 80.0, true),
    ("accumulate", "MPI_Accumulate", 179.0, true),
    ("get_accumulate", "MPI_Get_accumulate", 208.0, true),
    ("fetch_and_op", "MPI_Fetch_and_op", 173.0, true),
    ("compare_and_swap", "MPI_Compare_and_swap", 176.0, true),
    ("flush", "MPI_Win_flush", 54.0, false),
    ("lock_unlock", "MPI_Win_lock + MPI_Win_unlock", 198.0, false),
];

const PACKAGE: &str = "rma-guest";

/// What compiles for the host.
const COMPILER: &str = "mpicc.mpich";

/// Prints a row for each call; answers what is wrong. The C library has been built ([`super::c_calls`]).
pub(super) fn count(workspace: &Workspace, n: u64, list: bool) -> Result<Vec<String>, String> {
    let compiler = Command::new(COMPILER).arg("-show").stdout(Stdio::null()).status();
    if !compiler.is_ok_and(|status| status.success()) {
        println!("{COMPILER} is not installed: no calls inside another library were counted");
        return Ok(Vec::new());
    }
    let (program, guest) = build(workspace)?;
    println!("| C call inside MPICH | instructions |\n| --- | --- |");
    count_in(workspace, (n, list), (&program, Some(&guest)), CALLS)
}

/// Builds guest and program, and puts the guest beside the C library.
fn build(workspace: &Workspace) -> Result<(PathBuf, PathBuf), String> {
    let mut build = workspace.build_installed();
    build.args(["--package", PACKAGE, "--lib"]);
    succeed(&mut build)?;
    let folder = workspace.target().join("callgrind");
    let guest = folder.join(GUEST);
    std::fs::copy(workspace.target().join(INSTALLED).join(GUEST), &guest)
        .map_err(|error| format!("{}: {error}", guest.display()))?;
    let folder = folder.join("mpich");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join(PROGRAM);
    let mut compile = Command::new(COMPILER);
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-Wl,-z,now"]);
    compile.arg(workspace.root().join(SOURCE)).arg("-o").arg(&program);
    succeed(&mut compile)?;
    Ok((program, guest))
}
