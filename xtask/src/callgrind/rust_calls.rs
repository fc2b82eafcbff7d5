//! The calls of typed windows: those on mapped memory have fewer instructions than the calls from C, and none allocates.

use super::run::Repeated;
use crate::workspace::Workspace;
use std::path::Path;

/// What `direct-path` calls it, the call, how many instructions it may have with the measuring loop, and whether it must be free of locks
/// and system calls. The last two serve the channels now and then.
const CALLS: &[(&str, &str, f64, bool)] = &[
    ("typed_put", "Epoch::put", 36.0, true),
    ("typed_get", "Epoch::get", 34.0, true),
    ("typed_fetch_op", "Epoch::fetch_op", 94.0, true),
    ("typed_fetch_add", "Locked::fetch_add", 146.0, false),
    ("typed_flush", "Epoch::flush", 42.0, false),
];

const PROGRAM: &str = "direct-path";

/// Prints a row for each call; answers what is wrong.
pub(super) fn count(
    workspace: &Workspace,
    program: &Path,
    (n, list): (u64, bool),
) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    println!("| typed call | instructions |\n| --- | --- |");
    for (call, name, limit, must_be_pure) in CALLS {
        let function = format!("direct_path::measured::{call}");
        let repeated = Repeated { program, preload: None, call, function: &function, across: None };
        let (instructions, profile) = repeated.measure(workspace, n, |profile| profile.instructions)?;
        println!("| `{name}` | {instructions:.1} |");
        if list {
            eprintln!("{name}:\n{profile}");
        }
        if instructions > *limit {
            findings.push(format!("{name} has {instructions:.1} instructions, at most {limit} are allowed"));
        }
        let impurities = if *must_be_pure { profile.impurities(&[PROGRAM]) } else { Vec::new() };
        let executed = profile.allocations().into_iter().chain(impurities);
        findings.extend(executed.map(|what| format!("{name} executes {what}")));
    }
    Ok(findings)
}
