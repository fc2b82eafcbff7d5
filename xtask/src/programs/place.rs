//! Where a suite is built and what of it, and the commands that all of them need.

use crate::process::succeed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a suite is built, against what, and what of it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) folder: PathBuf,
    pub(super) prefix: PathBuf,
    /// A part of the names of the tests to run; all without one.
    pub(super) name: Option<&'a str>,
    /// Where a suite does not say.
    pub(super) ranks: &'a [u32],
    /// MPICH's sources, if they are there.
    pub(super) mpich: Option<&'a Path>,
}

impl Place<'_> {
    /// A program of the installation.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.prefix.join("bin").join(name)
    }

    /// Whether a test of this name is to be run.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.name.is_none_or(|part| name.contains(part))
    }

    /// The launcher with so many ranks, whose job ends after a time.
    pub(super) fn launch(&self, ranks: u32, limit_s: u32) -> Command {
        let mut command = Command::new(self.program("rmarun"));
        command.arg("--timeout").arg(limit_s.to_string()).arg("-n").arg(ranks.to_string());
        command.stdin(std::process::Stdio::null());
        command
    }
}

/// Known failures, each with its reason.
pub(super) fn known(table: &str) -> Result<BTreeMap<String, String>, String> {
    let rows = crate::abi::rows(table, "test\treason")?;
    Ok(rows.into_iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect())
}

/// Runs a command and answers whether it was good, and all that it has said.
pub(super) fn said(command: &mut Command) -> Result<(bool, String), String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program} could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), text.into_owned()))
}

/// Unpacks a file into a folder, unless the folder that comes of it is there.
pub(super) fn unpack(folder: &Path, file: &Path, into: &str) -> Result<PathBuf, String> {
    let made = folder.join(into);
    if !made.is_dir() {
        succeed(Command::new("tar").current_dir(folder).arg("xf").arg(file))?;
    }
    Ok(made)
}
