//! Programs in Fortran: compiled by `rmafc`, which compiles the module first, and run on one rank to four.

use rma_tests::installed::{command, has, prefix};
use rma_tests::job::is_second_pass;
use rma_tests::paths::PATHS;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// Numbers are compared that no calculation has touched.
const FLAGS: &str = "-std=f2018 -Wall -Wno-compare-reals -Werror -g";
const PROGRAMS: [&str; 10] = [
    "f08_windows.f90",
    "f08_calls.f90",
    "f08_sections.f90",
    "f08_examples.f90",
    "f08_chapter.f90",
    "f08_coarrays.f90",
    "f08_profiled.f90",
    "windows.F90",
    "integers.f90",
    "mpi1.f90",
];

/// What LLVM's compiler may be called.
const FLANGS: [&str; 6] = ["flang", "flang-new", "flang-22", "flang-21", "flang-20", "flang-new-19"];
/// It compiles no procedure that is written in Fortran and takes arguments of any rank, which profilers have.
const NOT_BY_FLANG: &str = "f08_profiled.f90";

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran").join(name)
}

/// Sections on both sides, synchronization, callbacks, errors, texts: see the programs.
#[test]
fn programs_in_fortran() {
    if is_second_pass() || !has("gfortran") {
        return;
    }
    let (prefix, scratch) = (prefix(), tempfile::tempdir().unwrap());
    let good = |line: &str, variables: &[(&str, &str)]| {
        let mut words = line.split_whitespace();
        let job = command(&prefix, scratch.path(), words.next().unwrap()).words(words);
        let ended = job.variables(variables).limit(LIMIT).run();
        assert!(ended.status.success(), "{line} {variables:?}: {ended:#?}");
        ended
    };
    for name in PROGRAMS {
        let path = source(name);
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
        let built = good(&format!("rmafc {FLAGS} {} -o {name}", path.display()), &[]);
        assert_eq!(built.stderr, "", "{name}");
        for ranks in [1, 3, 4] {
            let ended = good(&format!("rmarun -n {ranks} ./{name}"), &[]);
            assert!(ended.stdout.contains("no errors"), "{name} on {ranks}: {ended:#?}");
        }
    }
    // An old program in both source forms; common blocks are obsolescent.
    for form in ["fixed", "free"] {
        let path = source("included.f");
        let built = good(&format!("rmafc -Wall -Werror -f{form}-form {} -o {form}", path.display()), &[]);
        assert_eq!(built.stderr, "", "{form}");
        let ended = good(&format!("rmarun -n 3 ./{form}"), &[]);
        assert!(ended.stdout.contains("no errors"), "{form}: {ended:#?}");
    }
    // What a descriptor becomes is the same on every path; how it travels is not.
    for path in PATHS {
        let ended = good("rmarun -n 2 ./f08_windows", path.variables);
        assert!(ended.stdout.contains("no errors"), "{}: {ended:#?}", path.name);
    }
}

/// The same programs by another compiler, whose descriptors and modules are its own.
#[test]
fn programs_in_fortran_by_flang() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let flang = FLANGS.into_iter().find(is_there).unwrap_or(FLANGS[0]);
    if is_second_pass() || !has(flang) {
        return;
    }
    let (prefix, scratch) = (prefix(), tempfile::tempdir().unwrap());
    for name in PROGRAMS.into_iter().filter(|name| *name != NOT_BY_FLANG) {
        let path = source(name);
        let words =
            [format!("-fc={flang}"), path.display().to_string(), "-o".to_owned(), format!("{name}.x")];
        let built = command(&prefix, scratch.path(), "rmafc").words(words).limit(LIMIT * 4).run();
        assert!(built.status.success(), "{name}: {built:#?}");
        for ranks in ["1", "3"] {
            let job = command(&prefix, scratch.path(), "rmarun").words(["-n", ranks, &format!("./{name}.x")]);
            let ended = job.limit(LIMIT).run();
            assert!(ended.stdout.contains("no errors"), "{name} on {ranks}: {ended:#?}");
        }
    }
}

/// What is asked for without a compiler of Fortran, and by build systems.
#[test]
fn rmafc_names_what_it_lacks() {
    if is_second_pass() {
        return;
    }
    let (prefix, scratch) = (prefix(), tempfile::tempdir().unwrap());
    let job = command(&prefix, scratch.path(), "rmafc").words(["-fc=no-such-compiler", "a.f90"]);
    let ended = job.limit(LIMIT).run();
    assert!(!ended.status.success() && ended.stderr.contains("cannot run no-such-compiler"), "{ended:#?}");
    assert!(ended.stderr.contains("RMA_FC"), "{ended:#?}");
}
