//! The test suite of mpi4py, in the version that the list of failures was written for. It is built each time, since what is there may be
//! linked with another installation.

use super::outcomes::known;
use super::place::{Place, pip, unpack};
use crate::process::succeed;
use std::collections::BTreeSet;
use std::path::Path;

const PACKAGE: &str = "mpi4py==4.1.1";
const FOLDER: &str = "mpi4py-4.1.1";
/// Tests that are known to fail, and why.
pub(super) const KNOWN: &str = include_str!("../../../tests/programs/mpi4py.tsv");
/// Modules of tests that need files or spawned processes, which are not there, and one that calls collectives of a communicator in
/// another order on each rank, as agreements would allow that are not mpi4py's own stand-ins.
const LEFT_OUT: &str = "dynproc|spawn|subclass|test_file|test_io|ulfm|util_pool";
/// Longest that one run of the suite may take, in seconds.
const LIMIT_S: u32 = 1800;
/// Runs the suite, which shortly before that tells where it is, so that a test that hangs is named.
const MAIN: &str = "import faulthandler, runpy, sys; faulthandler.dump_traceback_later(1740); \
    sys.path.insert(0, 'test'); runpy.run_path('test/main.py', run_name='__main__')";
/// What the suite writes before the name of a test that failed.
const FAILED: [&str; 2] = ["ERROR: ", "FAIL: "];

/// Builds and runs it; says whether all failures are known.
pub(super) fn run(place: &Place<'_>) -> Result<bool, String> {
    let python = place.python()?;
    build(&place.folder, &place.prefix, &python)?;
    let known = known(KNOWN)?;
    let mut is_good = true;
    for ranks in place.ranks {
        let said = suite(place, &python, *ranks)?;
        let unknown: BTreeSet<_> =
            failed(&said).into_iter().filter(|name| !known.contains_key(name)).collect();
        println!("mpi4py on {ranks} ranks: {}", summary(&said));
        unknown.iter().for_each(|name| println!("  failed, and is not listed: {name}"));
        hanging(&said).iter().for_each(|name| println!("  does not end: {name}"));
        // Each rank says how many tests it has run, at its end.
        is_good &= unknown.is_empty() && said.matches("Ran ").count() == *ranks as usize;
    }
    Ok(is_good)
}

/// Installs the package, and unpacks its sources, which have the tests.
fn build(place: &Path, prefix: &Path, python: &Path) -> Result<(), String> {
    let pip = || pip(python);
    succeed(pip().args(["install", "numpy"]))?;
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
    succeed(install.env("CFLAGS", "-O0 -DMPIX_OWN_MISSING"))?;
    let file = place.join(format!("{FOLDER}.tar.gz"));
    if !file.is_file() {
        succeed(
            pip().args(["download", "--no-deps", "--no-binary", "mpi4py", "--dest"]).arg(place).arg(PACKAGE),
        )?;
    }
    unpack(place, &file, FOLDER).map(drop)
}

/// Runs the suite, and answers all that it has written.
fn suite(place: &Place<'_>, python: &Path, ranks: u32) -> Result<String, String> {
    let mut command = place.launch(ranks, LIMIT_S);
    command.arg(python.join("python"));
    command.args(["-c", MAIN, "--quiet", "--no-builddir", "-e", LEFT_OUT]);
    if let Some(name) = &place.name {
        command.args(["-i", name]);
    }
    command.current_dir(place.folder.join(FOLDER)).env("OMP_NUM_THREADS", "1");
    super::place::said(&mut command).map(|(_, said)| said)
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

/// The tests that were under way when the time was nearly over: file and method.
fn hanging(said: &str) -> BTreeSet<String> {
    let place = |line: &str| {
        let (file, method) = line.split_once("File \"")?.1.split_once("\", line ")?;
        // Errors have a comma behind the number.
        let (_, method) = method.split_once(" in ").filter(|(number, _)| number.parse::<u32>().is_ok())?;
        let file = file.rsplit('/').next()?;
        method.starts_with("test").then(|| format!("{file}, {}", method.trim()))
    };
    said.lines().filter_map(place).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_failed_tests_are_read_from_what_each_rank_writes() {
        let said = "[1@host] ERROR: testA (test_win.TestWinSelf.testA)\nFAIL: testB (test_rma.TestRMA.testB) (i=3)\nOK\n";
        let dump = "Timeout (0:29:00)!\n[0@host]   File \"/x/test/test_win.py\", line 7 in testFree\n  File \"b.py\", line 8, in testGood\n  File \"a.py\", line 9 in run\n";
        assert_eq!(hanging(dump).into_iter().collect::<Vec<_>>(), ["test_win.py, testFree"]);
        assert_eq!(failed(said).into_iter().collect::<Vec<_>>(), ["TestRMA.testB", "TestWinSelf.testA"]);
    }
}
