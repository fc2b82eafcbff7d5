//! The installation that tests of the C library use: `cargo xtask test` makes it, unoptimized, in the target directory.

use crate::job::{Job, program};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory it is installed below.
///
/// # Panics
/// When it is not there.
pub fn prefix() -> PathBuf {
    let target =
        program("rmarun").parent().and_then(Path::parent).expect("programs lie two folders deep").to_owned();
    let prefix = target.join("prefix");
    assert!(
        prefix.join("include/mpi.h").is_file(),
        "{0} is missing: `cargo xtask install --dev --prefix {0}` makes it, `cargo xtask test` does so before the tests",
        prefix.display()
    );
    prefix
}

/// A command in this directory that finds the programs below `prefix` before all others.
pub fn command(prefix: &Path, directory: &Path, name: impl AsRef<OsStr>) -> Job {
    let mut path = vec![prefix.join("bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(path).expect("folders of PATH have no colons in their names");
    let mut command = Command::new("env");
    command.current_dir(directory).env("PATH", path).arg(name.as_ref());
    Job::command(command)
}

/// Whether a program that a test needs is there; says so when it is not.
pub fn has(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    if !is_there {
        println!("skipped: there is no {name} here");
    }
    is_there
}
