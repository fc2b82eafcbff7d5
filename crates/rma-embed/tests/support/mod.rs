//! What the tests share: where things are, the compiler, and how programs run.
#![allow(dead_code)] // no test uses all of it

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the C example.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/embed-c")
}

/// The directory of `rma.h`.
pub(crate) fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The library that cargo has built beside this test.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let library = test.with_file_name("librma_embed.so");
    assert!(library.is_file(), "{} is not there", library.display());
    library
}

/// Compiles; all warnings are errors.
pub(crate) fn compile(compiler: &str, options: &[&str], files: &[impl AsRef<OsStr>], to: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]).args(options);
    command.arg("-I").arg(include()).args(files).arg("-o").arg(to);
    let output = command.output().unwrap_or_else(|error| panic!("{compiler} cannot be started: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a program that finds the library below `directory`, and gives its output. Programs have time limits of their own.
pub(crate) fn run(directory: &Path, words: &[&OsStr]) -> String {
    let link = directory.join("librma.so.0");
    if !link.exists() {
        std::os::unix::fs::symlink(library(), link).expect("a directory for this test");
    }
    let mut command = Command::new("timeout");
    command.arg("150").args(words).env("LD_LIBRARY_PATH", directory);
    let output = command.output().expect("timeout is part of every system");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout
}

/// Whether a program is there; says so when it is not.
pub(crate) fn has(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    if !is_there {
        println!("skipped: there is no {name} here");
    }
    is_there
}
