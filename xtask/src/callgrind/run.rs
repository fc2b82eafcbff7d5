//! One measurement: a program that makes a call N and 2N times, under callgrind.

use super::profile::Profile;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that repeats a call, `PROGRAM CALL COUNT`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated<'a> {
    pub(super) program: &'a Path,
    /// What is loaded before it.
    pub(super) preload: Option<&'a Path>,
    pub(super) call: &'a str,
    /// The function that callgrind collects in.
    pub(super) function: &'a str,
    /// What it needs where it makes calls to another rank.
    pub(super) across: Option<Across<'a>>,
}

/// A job of two ranks on this node, the first of them counted: `PROGRAM CALL COUNT EACH`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Across<'a> {
    pub(super) launcher: &'a Path,
    /// Calls before each flush.
    pub(super) each: u64,
}

/// Longer than the other rank waits for a call under callgrind: to wake it from its sleep is no part of most calls.
const SPIN_US: &str = "100000";

impl Repeated<'_> {
    /// Instructions for each call by what `count` says of a profile, and the longer profile.
    pub(super) fn measure(
        self,
        workspace: &Workspace,
        n: u64,
        count: impl Fn(&Profile) -> u64,
    ) -> Result<(f64, Profile), String> {
        let (short, long) = (self.profile(workspace, n)?, self.profile(workspace, 2 * n)?);
        let more = count(&long).checked_sub(count(&short)).filter(|more| *more > 0);
        let more =
            more.ok_or_else(|| format!("{}: twice as many calls took no more instructions", self.call))?;
        Ok((more as f64 / n as f64, long))
    }

    /// The profile of `count` calls.
    fn profile(self, workspace: &Workspace, count: u64) -> Result<Profile, String> {
        let Self { program, preload, call, function, across } = self;
        let file: PathBuf = workspace.target().join(format!("callgrind.{call}.{count}.out"));
        let mut arguments = vec![call.to_owned(), count.to_string()];
        let mut valgrind = match across {
            Some(Across { launcher, each }) => {
                arguments.push(each.to_string());
                let mut launch = Command::new(launcher);
                launch.env("RMA_SPIN", SPIN_US).args(["-n", "1", "valgrind"]);
                launch
            }
            None => Command::new("valgrind"),
        };
        if let Some(preload) = preload {
            valgrind.env("LD_PRELOAD", preload);
        }
        valgrind
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", file.display()))
            .arg(format!("--toggle-collect={function}"))
            .arg(program)
            .args(&arguments);
        if across.is_some() {
            valgrind.args([":", "-n", "1"]).arg(program).args(&arguments);
        }
        let output = valgrind.output().map_err(|error| format!("valgrind could not be started: {error}"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("valgrind failed on {call} ({}):\n{text}", output.status));
        }
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let _ = std::fs::remove_file(&file);
        Profile::parse(&text).ok_or_else(|| format!("callgrind's output for {call} gives no total"))
    }
}
