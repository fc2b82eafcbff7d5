//! The calls of the C library on memory of `MPI_Win_create`: packets between two ranks of one node. They take the engine's lock.

use super::c_calls::{Rules, compile};
use super::run::{Across, Repeated};
use crate::process::succeed;
use crate::workspace::{LAUNCHER, Workspace};

/// The call as the program knows it, how many of them come before each flush, its names, how many instructions it may have, and whether
/// it may allocate: a pack does when it begins, and a request is an object.
type Created = (&'static str, u64, &'static str, f64, bool);

const CALLS: &[Created] = &[
    ("put_created", 1, "MPI_Put in created memory, one before each flush", 995.0, false),
    ("put_created", 4, "MPI_Put in created memory, four before each flush", 1_063.0, false),
    ("put_created", 1_000, "MPI_Put in created memory, a stream of 1,000 before a flush", 452.0, true),
    ("rput_created", 1_000, "MPI_Rput in created memory, a stream of 1,000 before a flush", 1_300.0, true),
    ("get_created", 1, "MPI_Get in created memory", 1_120.0, false),
    ("fetch_and_op_created", 1, "MPI_Fetch_and_op in created memory", 1_356.0, false),
];

const SOURCE: &str = "crates/rma-bench/c-counted/created_counted.c";
const PROGRAM: &str = "created-counted";

/// Prints a row for each call; answers what is wrong. The C library has been built ([`super::c_calls`]).
pub(super) fn count(workspace: &Workspace, n: u64, list: bool) -> Result<Vec<String>, String> {
    succeed(workspace.build_launcher().arg("--release"))?;
    let launcher = workspace.target().join("release").join(LAUNCHER);
    let program = compile(workspace, SOURCE, PROGRAM)?;
    println!("| C call in created memory | instructions |\n| --- | --- |");
    let mut findings = Vec::new();
    for &(call, each, names, most, may_allocate) in CALLS {
        let function = format!("call_{call}");
        let across = Some(Across { launcher: &launcher, each });
        let repeated = Repeated { program: &program, preload: None, call, function: &function, across };
        let rules = Rules { names, most, must_be_pure: false, may_allocate };
        findings.extend(rules.check(workspace, (n.next_multiple_of(each), list), repeated)?);
    }
    Ok(findings)
}
