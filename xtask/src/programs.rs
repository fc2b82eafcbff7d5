//! `cargo xtask programs`: the test suite of a program that others wrote, built against this library.
//!
//! mpi4py, in the version that the list of failures was written for, comes from PyPI and is built each time, since what is there may be
//! linked with another installation; nothing of it is in this repository. A test that fails and is not listed is an error.

use crate::Outcome;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Build mpi4py against this library and run its whole test suite.
///
/// Python 3.11 or later with venv and pip is needed, and a network. On 1, 2 and 4 ranks it takes minutes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4])]
    ranks: Vec<u32>,

    /// An installation to use; otherwise one is made below the target directory.
    #[arg(long, value_name = "DIR")]
    prefix: Option<std::path::PathBuf>,

    /// Only modules of tests whose name matches this.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

const PACKAGE: &str = "mpi4py==4.1.1";
const FOLDER: &str = "mpi4py-4.1.1";
/// Tests that are known to fail, and why.
const KNOWN: &str = include_str!("../../tests/programs/mpi4py.tsv");
/// Modules of tests that need files or spawned processes, which are not there, and one that calls collectives of a communicator in
/// another order on each rank, as agreements would allow that are not mpi4py's own stand-ins.
const LEFT_OUT: &str = "dynproc|spawn|subclass|test_file|test_io|ulfm|util_pool";
/// Longest that one run of the suite may take, in seconds.
const LIMIT_S: &str = "1800";
/// What the suite writes before the name of a test that failed.
const FAILED: [&str; 2] = ["ERROR: ", "FAIL: "];

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let place = workspace.target().join("programs");
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let prefix = match &args.prefix {
        Some(prefix) => std::path::absolute(prefix).map_err(|error| error.to_string())?,
        None => {
            let prefix = place.join("prefix");
            let xtask = std::env::current_exe().map_err(|error| error.to_string())?;
            good(Command::new(xtask).arg("install").arg("--prefix").arg(&prefix))?;
            prefix
        }
    };
    build(&place, &prefix)?;
    let known = known()?;
    let mut is_good = true;
    for ranks in &args.ranks {
        let said = suite(&place, &prefix, *ranks, args.name.as_deref())?;
        let unknown: BTreeSet<_> =
            failed(&said).into_iter().filter(|name| !known.contains_key(name)).collect();
        println!("{ranks} ranks: {}", summary(&said));
        unknown.iter().for_each(|name| println!("  failed, and is not listed: {name}"));
        // Each rank says how many tests it has run, at its end.
        is_good &= unknown.is_empty() && said.matches("Ran ").count() == *ranks as usize;
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Installs the package, and unpacks its sources, which have the tests.
fn build(place: &Path, prefix: &Path) -> Result<(), String> {
    let python = place.join("python");
    if !python.is_dir() {
        good(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    }
    let pip = || {
        let mut command = Command::new(python.join("bin/python"));
        command.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
        command
    };
    good(pip().args(["install", "numpy"]))?;
    // It has words of its own for functions that a library lacks.
    let mut install = pip();
    install.args([
        "install",
        "--no-cache-dir",
        "--force-reinstall",
        "--no-deps",
        "--no-binary",
        "mpi4py",
        PACKAGE,
    ]);
    install.env("MPI4PY_BUILD_MPIABI", "1").env("MPICC", prefix.join("bin/rmacc"));
    good(install.env("CFLAGS", "-O0 -DMPIX_OWN_MISSING"))?;
    if place.join(FOLDER).is_dir() {
        return Ok(());
    }
    good(pip().args(["download", "--no-deps", "--no-binary", "mpi4py", "--dest"]).arg(place).arg(PACKAGE))?;
    good(Command::new("tar").current_dir(place).arg("xzf").arg(format!("{FOLDER}.tar.gz")))
}

/// Runs the suite, and answers all that it has written.
fn suite(place: &Path, prefix: &Path, ranks: u32, name: Option<&str>) -> Result<String, String> {
    let mut command = Command::new(prefix.join("bin/rmarun"));
    command.args(["--timeout", LIMIT_S, "-n"]).arg(ranks.to_string()).arg(place.join("python/bin/python"));
    command.args(["test/main.py", "--quiet", "--no-builddir", "-e", LEFT_OUT]);
    if let Some(name) = name {
        command.args(["-i", name]);
    }
    let output =
        command.current_dir(place.join(FOLDER)).env("OMP_NUM_THREADS", "1").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("rmarun could not be started: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout))
}

/// The tests that failed on some rank: class and method.
fn failed(said: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let start = FAILED.iter().find_map(|word| line.find(word).map(|at| at + word.len()))?;
        // The name of the method, then in brackets the module, the class and once more the method.
        let within = line[start..].split_once('(')?.1.split(')').next()?;
        let words: Vec<_> = within.rsplit('.').take(2).collect();
        Some(words.into_iter().rev().collect::<Vec<_>>().join("."))
    };
    said.lines().filter_map(name).collect()
}

fn summary(said: &str) -> String {
    let is_end = |line: &&str| line.contains("OK") || line.contains("FAILED (") || line.contains("Ran ");
    said.lines()
        .filter(is_end)
        .map(str::trim)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join("; ")
}

fn known() -> Result<BTreeMap<String, String>, String> {
    let rows = crate::abi::rows(KNOWN, "test\treason")?;
    Ok(rows.into_iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect())
}

fn good(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed: {status}")),
        Err(error) => Err(format!("{program} could not be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_failed_tests_are_read_from_what_each_rank_writes() {
        let said = "[1@host] ERROR: testA (test_win.TestWinSelf.testA)\nFAIL: testB (test_rma.TestRMA.testB) (i=3)\nOK\n";
        assert_eq!(failed(said).into_iter().collect::<Vec<_>>(), ["TestRMA.testB", "TestWinSelf.testA"]);
    }

    #[test]
    fn every_known_failure_has_a_reason() {
        assert!(known().unwrap().values().all(|reason| reason.len() > 10));
    }
}
