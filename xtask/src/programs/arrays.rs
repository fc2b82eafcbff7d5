//! Global Arrays over windows, and the tests of its interface in C. They check themselves, and end the job when something is wrong.

use super::place::{Place, known, pip, said};
use crate::process::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tests that are known to fail, and why.
pub(super) const KNOWN: &str = include_str!("../../../tests/programs/arrays.tsv");
/// The name of Debian's package.
const PACKAGE: &str = "ga";
/// Its one-sided runtime uses windows; of its languages only C is built.
const OPTIONS: [&str; 5] = [
    "-DGA_RUNTIME=MPI_RMA",
    "-DENABLE_FORTRAN=OFF",
    "-DENABLE_CXX=OFF",
    "-DENABLE_TESTS=ON",
    "-DCMAKE_BUILD_TYPE=Release",
];
/// How the reason of one begins that is not run, since it computes for minutes.
const LONG: &str = "not run: ";
/// Longest that a test may take, in seconds.
const LIMIT_S: u32 = 300;

/// Builds and runs them; says whether all failures are known.
pub(super) fn run(place: &Place<'_>) -> Result<bool, String> {
    let known = known(KNOWN)?;
    let (mut all, mut good_ones, mut are_known) = (0, 0, true);
    for program in build(place)? {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(reason) = known.get(&name).filter(|reason| reason.starts_with(LONG)) {
            println!("  {name} {reason}");
            continue;
        }
        for ranks in place.ranks.iter().filter(|_| place.wants(&name)) {
            let mut job = place.launch(*ranks, LIMIT_S);
            let (is_good, text) = said(job.current_dir(&place.folder).arg(&program))?;
            all += 1;
            match (is_good, known.get(&name)) {
                (true, _) => good_ones += 1,
                (false, Some(reason)) => println!("  {name} on {ranks} ranks: {reason}"),
                (false, None) => {
                    let end: Vec<_> = text.lines().rev().take(6).collect();
                    println!("  failed, and is not listed: {name} on {ranks} ranks: {}", end.join(" | "));
                    are_known = false;
                }
            }
        }
    }
    println!("arrays: {good_ones} of {all} good");
    Ok(are_known && all > 0)
}

/// The programs of its tests.
fn build(place: &Place<'_>) -> Result<Vec<PathBuf>, String> {
    let (sources, python) = (place.sources(PACKAGE)?, place.python()?);
    succeed(pip(&python).args(["install", "cmake"]))?;
    let folder = place.folder.join("arrays");
    // What was there may be linked with another installation.
    let _ = std::fs::remove_dir_all(&folder);
    let cmake = || Command::new(python.join("cmake"));
    let compiler = place.program("rmacc").display().to_string();
    let mut configure = cmake();
    configure.arg("-S").arg(&sources).arg("-B").arg(&folder).args(OPTIONS);
    configure.arg(format!("-DCMAKE_C_COMPILER={compiler}")).arg(format!("-DMPI_C_COMPILER={compiler}"));
    // It asks for the integers that Fortran has for handles.
    done(configure.env("CFLAGS", "-DRMA_MPI_FINT"))?;
    done(cmake().arg("--build").arg(&folder).arg("--parallel"))?;
    programs(&folder.join("global/testing"))
}

/// The files in a folder that end as its programs do.
fn programs(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut programs: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "x")).collect();
    programs.sort();
    Ok(programs)
}

/// Runs a command, and answers with all that it has said when it fails.
fn done(command: &mut Command) -> Result<(), String> {
    match said(command)? {
        (true, _) => Ok(()),
        (false, text) => Err(text),
    }
}
