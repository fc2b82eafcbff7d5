//! PETSc's communication over windows: its star forests in all the ways that they know to make windows and to synchronize, with PETSc's own
//! tests, which compare what is written with what is expected.
//!
//! It is built against the reference BLAS of Debian.

use super::outcomes::Outcomes;
use super::place::{Place, last_lines, quietly, said};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tests that are known to fail, and why.
pub(super) const KNOWN: &str = include_str!("../../../tests/programs/petsc.tsv");
/// The name of Debian's package.
const PACKAGE: &str = "petsc";
/// What it needs of BLAS, as Debian's packages call it.
const BLAS: [&str; 4] = ["libblas3", "libblas-dev", "liblapack3", "liblapack-dev"];
const LIBRARIES: [&str; 2] = ["blas/libblas.so", "lapack/liblapack.so"];
const OPTIONS: [&str; 9] = [
    "--with-cxx=0",
    "--with-fc=0",
    "--with-debugging=0",
    "--with-x=0",
    "--with-ssl=0",
    "--with-hwloc=0",
    // It asks for the integers that Fortran has for handles.
    "--CFLAGS=-DRMA_MPI_FINT",
    "--with-make-np=2",
    "--ignoreWarnings=1",
];
/// Where it builds, below its sources.
const BUILT: &str = "arch-rma";
/// The parts among whose tests they are.
const PARTS: &str = "pkgs=sys vec";
/// What all the arguments of the tests that use windows have in them.
const ASKED: &str = "argsearch=sf_type window";

/// Builds and runs them; says whether all failures are known.
pub(super) fn run(place: &Place<'_>) -> Result<bool, String> {
    let sources = place.sources(PACKAGE)?;
    let made = Made { libraries: blas(place)?, sources: &sources, place };
    made.build()?;
    let mut outcomes = Outcomes::new(KNOWN)?;
    let (_, text) = said(&mut made.make("gmakefile.test", &["test", PARTS, ASKED, "TIMEOUT=300"]))?;
    for (is_good, name) in text.lines().filter_map(outcome).filter(|(_, name)| place.wants(name)) {
        outcomes.note(name, "", is_good, || "what it has said lies below its sources".to_owned());
    }
    let is_good = outcomes.end("petsc");
    if !outcomes.has_runs() {
        return Err(format!("PETSc has run no tests:\n{}", last_lines(&text, 20).join("\n")));
    }
    Ok(is_good)
}

/// What a line of the tests says: whether one was good, and its name.
fn outcome(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_start();
    let (is_good, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok ")?),
    };
    let (name, comment) = rest.split_once('#').unwrap_or((rest, ""));
    (!comment.contains("SKIP")).then_some((is_good, name.trim()))
}

/// The libraries of BLAS, unpacked from Debian's packages.
fn blas(place: &Place<'_>) -> Result<[PathBuf; 2], String> {
    let folder = place.folder.join("blas");
    if !folder.is_dir() {
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let (is_good, text) = said(Command::new("apt-get").current_dir(&folder).arg("download").args(BLAS))?;
        let unpack = r#"for file in *.deb; do dpkg-deb --extract "$file" . || exit 1; done"#;
        if !is_good || !said(Command::new("sh").current_dir(&folder).args(["-c", unpack]))?.0 {
            let _ = std::fs::remove_dir_all(&folder);
            return Err(format!("Debian's packages of BLAS cannot be had: {text}"));
        }
    }
    let entries = std::fs::read_dir(folder.join("usr/lib"));
    let mut entries = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let found = entries.find(|path| LIBRARIES.iter().all(|library| path.join(library).exists()));
    let found = found.ok_or_else(|| format!("no BLAS below {}", folder.display()))?;
    Ok(LIBRARIES.map(|library| found.join(library)))
}

/// Where it is made, and of what.
struct Made<'a> {
    libraries: [PathBuf; 2],
    sources: &'a Path,
    place: &'a Place<'a>,
}

impl Made<'_> {
    /// Configures it and builds its libraries anew, since what is there may be linked with another installation.
    fn build(&self) -> Result<(), String> {
        let _ = std::fs::remove_dir_all(self.sources.join(BUILT));
        let [blas, lapack] = &self.libraries;
        let mut configure = self.prepared("python3");
        configure.arg("./configure").args(OPTIONS);
        configure.arg(format!("--with-cc={}", self.place.program("rmacc").display()));
        configure.arg(format!("--with-mpiexec={}", self.place.program("rmarun").display()));
        configure.arg(format!("--with-blaslapack-lib=[{},{}]", lapack.display(), blas.display()));
        quietly(&mut configure)?;
        quietly(&mut self.make("gmakefile", &["libs", "-j2"]))
    }

    fn make(&self, file: &str, arguments: &[&str]) -> Command {
        let mut make = self.prepared("make");
        make.args(["-f", file]).args(arguments);
        make
    }

    /// A command among the sources that finds the libraries.
    fn prepared(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folders = self.libraries.iter().filter_map(|library| library.parent());
        let folders: Vec<_> = folders.map(|folder| folder.display().to_string()).collect();
        command.current_dir(self.sources).env("PETSC_DIR", self.sources).env("PETSC_ARCH", BUILT);
        command.env("LD_LIBRARY_PATH", folders.join(":"));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_say_which_were_good_and_which_were_left_out() {
        assert_eq!(outcome(" ok vec_is_sf_tests-ex1_2+a # SKIP Requires CUDA"), None);
        assert_eq!(outcome("ok diff-vec_is_sf_tests-ex4_1"), Some((true, "diff-vec_is_sf_tests-ex4_1")));
        assert_eq!(outcome("not ok vec_is_sf-ex2 # Error code: 1"), Some((false, "vec_is_sf-ex2")));
        assert_eq!(outcome("#  a comment"), None);
    }
}
