//! How much code the protocols of the engine are: the rooms of calls, origin, target, synchronization, progress and epochs, without tests.
//!
//! A new ability is one more case of what is there; where it becomes a way beside it these rooms grow, and the rule says so.

use super::length::lines_before_tests;
use super::tree::{File, Finding, Tree};

const ENGINE: &str = "crates/rma-core/src";
const ROOMS: [&str; 6] = ["window", "origin", "sync", "target", "progress", "epoch"];
/// Most lines of all of them together.
pub(super) const LIMIT: usize = 13_000;

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let sizes =
        ROOMS.map(|room| tree.rust_files().filter(|file| is_in(file, room)).map(lines).sum::<usize>());
    let total: usize = sizes.iter().sum();
    if total > LIMIT {
        let rooms =
            ROOMS.iter().zip(sizes).map(|(room, lines)| format!("{room} {lines}")).collect::<Vec<_>>();
        let message = format!(
            "the protocols have {total} lines without tests, at most {LIMIT} are allowed: {}",
            rooms.join(", ")
        );
        findings.push(Finding::new(ENGINE, 1, message));
    }
}

/// Whether a file of no tests lies in a room.
fn is_in(file: &File, room: &str) -> bool {
    let rest = file.path.strip_prefix(ENGINE).and_then(|rest| rest.strip_prefix('/'));
    let is_there = rest.and_then(|rest| rest.strip_prefix(room)).is_some_and(|rest| rest.starts_with('/'));
    is_there && !file.name().ends_with("_tests.rs")
}

fn lines(file: &File) -> usize {
    lines_before_tests(&file.code).unwrap_or_else(|| file.text.lines().count())
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    #[test]
    fn all_rooms_together_have_a_limit_and_tests_do_not_count() {
        let half = "x\n".repeat(LIMIT / 2);
        let more = |more: &str| {
            let second = format!("{half}{more}#[cfg(test)]\nmod tests {{\n{half}");
            messages_of(
                check,
                &[
                    ("crates/rma-core/src/window/a.rs", &half),
                    ("crates/rma-core/src/epoch/b/c.rs", &second),
                    ("crates/rma-core/src/epoch/model_tests.rs", &half),
                    ("crates/rma-core/src/state/d.rs", &half),
                    ("crates/rma-core/src/windows.rs", &half),
                ],
            )
        };
        assert_eq!(more(""), [""; 0]);
        assert_eq!(
            more("x\n"),
            [format!(
                "crates/rma-core/src:1: the protocols have {} lines without tests, at most {LIMIT} are allowed: window {}, \
                 origin 0, sync 0, target 0, progress 0, epoch {}",
                LIMIT + 1,
                LIMIT / 2,
                LIMIT / 2 + 1
            )]
        );
    }
}
