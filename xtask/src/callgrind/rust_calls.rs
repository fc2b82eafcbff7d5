//! The calls of typed windows: hardly more instructions than the calls of the engine that they make, and no allocation.

use super::run::Repeated;
use crate::workspace::Workspace;
use std::path::Path;

/// What `direct-path` calls it, the call, the engine's calls that it makes, and whether it must be free of locks and system calls.
const CALLS: &[(&str, &str, &[&str], bool)] = &[
    ("typed_put", "Epoch::put", &["put"], true),
    ("typed_get", "Epoch::get", &["get"], true),
    ("typed_fetch_op", "Epoch::fetch_op", &["fetch_and_op"], true),
    ("typed_fetch_add", "Locked::fetch_add", &["fetch_and_op", "flush"], false),
    ("typed_flush", "Epoch::flush", &["flush"], false),
];

/// Instructions that a typed call may have above those.
const ABOVE: f64 = 4.0;

const PROGRAM: &str = "direct-path";

/// Prints a row for each call; answers what is wrong.
pub(super) fn count(
    workspace: &Workspace,
    program: &Path,
    (n, list): (u64, bool),
    of_engine: &[(&str, f64)],
) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    println!("| typed call | instructions |\n| --- | --- |");
    for (call, name, made, must_be_pure) in CALLS {
        let repeated = Repeated { program, call, function: &format!("direct_path::measured::{call}") };
        let (instructions, profile) = repeated.measure(workspace, n, |profile| profile.instructions)?;
        println!("| `{name}` | {instructions:.1} |");
        if list {
            eprintln!("{name}:\n{profile}");
        }
        let below: f64 = of_engine.iter().filter(|(call, _)| made.contains(call)).map(|(_, cost)| cost).sum();
        if instructions > below + ABOVE {
            findings
                .push(format!("{name} has {instructions:.1} instructions, and what it calls has {below:.1}"));
        }
        let impurities = if *must_be_pure { profile.impurities(&[PROGRAM]) } else { Vec::new() };
        let executed = profile.allocations().into_iter().chain(impurities);
        findings.extend(executed.map(|what| format!("{name} executes {what}")));
    }
    Ok(findings)
}
