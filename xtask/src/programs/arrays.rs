//! Global Arrays over windows, and the tests of its interface in C. They check themselves, and end the job when something is wrong.

use super::outcomes::Outcomes;
use super::place::{Place, last_lines, pip, quietly, said};
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
    let mut outcomes = Outcomes::new(KNOWN)?;
    for program in build(place)? {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(reason) = outcomes.reason(&name).filter(|reason| reason.starts_with(LONG)) {
            println!("  {name} {reason}");
            continue;
        }
        for ranks in place.ranks.iter().filter(|_| place.wants(&name)) {
            let mut job = place.launch(*ranks, LIMIT_S);
            let (is_good, text) = said(job.current_dir(&place.folder).arg(&program))?;
            outcomes.note(&name, &format!(" on {ranks} ranks"), is_good, || last_lines(&text, 6).join(" | "));
        }
    }
    Ok(outcomes.end("arrays") && outcomes.has_runs())
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
    quietly(configure.env("CFLAGS", "-DRMA_MPI_FINT"))?;
    quietly(cmake().arg("--build").arg(&folder).arg("--parallel"))?;
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
