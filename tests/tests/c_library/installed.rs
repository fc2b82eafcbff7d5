//! An installation as its users see it: compiler wrappers, build systems, launchers, and that it can be moved.

#![allow(missing_docs)]

use rma_tests::installed::{command, has, prefix};
use rma_tests::job::{Ended, is_second_pass};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d of %d\n", rank, size);
    return MPI_Finalize();
}
"#;

/// A directory with the program in it, in C and in C++.
fn workshop() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("prog.c"), PROGRAM).unwrap();
    fs::write(directory.path().join("prog.cpp"), PROGRAM).unwrap();
    directory
}

/// Runs a line of words without spaces in them.
fn run(directory: &Path, line: &str) -> Ended {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    command(&prefix(), directory, name).line(rest).run()
}

fn good(directory: &Path, line: &str) -> String {
    let ended = run(directory, line);
    assert!(ended.status.success(), "{line}: {ended:?}");
    ended.stdout
}

/// Runs the program on three ranks.
fn runs(directory: &Path, program: &str) {
    let output = good(directory, &format!("rmarun -n 3 {program}"));
    let mut lines: Vec<_> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 of 3", "1 of 3", "2 of 3"]);
}

#[test]
fn programs_are_built_and_started() {
    if is_second_pass() {
        return;
    }
    let directory = workshop();
    good(directory.path(), "rmacc -Wall -Werror prog.c -o prog");
    runs(directory.path(), "./prog");
    if has("c++") {
        good(directory.path(), "rmacxx -Wall -Werror prog.cpp -o progxx");
        runs(directory.path(), "./progxx");
    }
    assert_eq!(good(directory.path(), "./prog"), "0 of 1\n");
}

#[test]
fn error_handlers_may_leave_by_an_exception() {
    if is_second_pass() || !has("c++") {
        return;
    }
    let directory = workshop();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/handlers_that_throw.cpp");
    good(directory.path(), &format!("rmacxx -Wall -Werror {} -o throws", source.display()));
    assert_eq!(good(directory.path(), "rmarun -n 2 ./throws"), "0 wrong\n0 wrong\n");
}

#[test]
fn a_wrapper_is_the_compiler() {
    if is_second_pass() {
        return;
    }
    let directory = workshop();
    let path = directory.path();
    fs::write(path.join("bad.c"), "int x\n").unwrap();
    for line in [
        "--version",
        "-dumpmachine",
        "-print-search-dirs",
        "",
        "-c bad.c",
        "-c no-such-file.c",
        "--no-such-option",
    ] {
        let (ours, theirs) = (run(path, &format!("rmacc {line}")), run(path, &format!("cc {line}")));
        assert_eq!(
            (ours.status, ours.stdout, ours.stderr),
            (theirs.status, theirs.stdout, theirs.stderr),
            "{line}"
        );
    }
    // What configure scripts probe: an output of the usual name, objects apart, the preprocessor, a library, a compiler by name.
    good(path, "rmacc prog.c");
    runs(path, "./a.out");
    good(path, "rmacc -g -O2 -c prog.c");
    good(path, "rmacc -o prog prog.o -lm");
    runs(path, "./prog");
    assert!(good(path, "rmacc -E prog.c").contains("MPI_Comm_rank"));
    good(path, "rmacc -shared -fPIC prog.c -o libprog.so");
    good(path, "rmacc -cc=cc -MD -MF prog.d -c prog.c");
    assert!(fs::read_to_string(path.join("prog.d")).unwrap().contains("include/mpi.h"));
    let missing = run(path, "env RMA_CC=no-such-compiler rmacc prog.c");
    assert_eq!(missing.status.code(), Some(127), "{missing:?}");
    assert!(missing.stderr.contains("no-such-compiler") && missing.stderr.contains("RMA_CC"), "{missing:?}");
    let circle = run(path, "env RMA_CC=rmacc rmacc prog.c");
    assert!(circle.stderr.contains("this wrapper itself"), "{circle:?}");
}

#[test]
fn what_is_not_implemented_is_named() {
    if is_second_pass() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // No table of this project has MPI-IO.
    let text = "#include <mpi.h>\nint main(void) { return MPI_File_delete(\"x\", MPI_INFO_NULL); }\n";
    fs::write(directory.path().join("io.c"), text).unwrap();
    let ended = run(directory.path(), "rmacc io.c");
    assert!(!ended.status.success() && ended.stderr.contains("MPI_File_delete"), "{ended:?}");
}

#[test]
fn a_configure_script_takes_the_wrapper() {
    if is_second_pass() || !has("autoconf") {
        return;
    }
    let directory = workshop();
    let path = directory.path();
    let script = "AC_INIT([t], [1])\nAC_CONFIG_SRCDIR([prog.c])\nAC_PROG_CC\nAC_PROG_CPP\n\
                  AC_CHECK_HEADER([mpi.h], [], [AC_MSG_ERROR([no header])])\n\
                  AC_CHECK_FUNC([MPI_Init], [], [AC_MSG_ERROR([no library])])\n\
                  AC_CHECK_FUNC([MPI_File_delete], [AC_MSG_ERROR([too much])])\n\
                  AC_CHECK_SIZEOF([MPI_Status], [], [#include <mpi.h>])\n\
                  AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    fs::write(path.join("configure.ac"), script).unwrap();
    fs::write(
        path.join("Makefile.in"),
        "size = @ac_cv_sizeof_MPI_Status@\nprog: prog.c\n\t@CC@ @CFLAGS@ prog.c -o prog\n",
    )
    .unwrap();
    let script = good(path, "autoconf -o - configure.ac");
    fs::write(path.join("configure"), script).unwrap();
    good(path, "sh configure CC=rmacc");
    let makefile = fs::read_to_string(path.join("Makefile")).unwrap();
    assert!(makefile.contains("\trmacc ") && makefile.contains("size = "), "{makefile}");
    assert!(fs::read_to_string(path.join("config.log")).unwrap().contains("ac_cv_sizeof_MPI_Status=32"));
}

#[test]
fn cmake_finds_the_library_in_every_way() {
    if is_second_pass() || !has("cmake") {
        return;
    }
    let prefix = prefix();
    let ways = [
        ("find_package(MPI REQUIRED COMPONENTS C)", "MPI::MPI_C", vec!["-DMPI_C_COMPILER=rmacc".to_owned()]),
        ("find_package(MPI REQUIRED COMPONENTS C)", "", vec!["-DCMAKE_C_COMPILER=rmacc".to_owned()]),
        (
            "find_package(rma 0.1 REQUIRED)",
            "rma::mpi_abi",
            vec![format!("-DCMAKE_PREFIX_PATH={}", prefix.display())],
        ),
    ];
    for (find, target, options) in ways {
        let directory = workshop();
        let path = directory.path();
        let text = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(t C)\n{find}\nadd_executable(prog prog.c)\n\
             target_link_libraries(prog {target})\n"
        );
        fs::write(path.join("CMakeLists.txt"), text).unwrap();
        good(path, &format!("cmake -B build {}", options.join(" ")));
        good(path, "cmake --build build");
        let linked = run(path, "env -u LD_LIBRARY_PATH build/prog");
        assert_eq!(linked.stdout, "0 of 1\n", "{find} {options:?}: {linked:?}");
        runs(path, "build/prog");
    }
    a_prefix_with_spaces_is_found(&prefix);
    let directory = workshop();
    let text = "cmake_minimum_required(VERSION 3.13)\nproject(t C)\nfind_package(rma 99 REQUIRED)\n";
    fs::write(directory.path().join("CMakeLists.txt"), text).unwrap();
    let ended = run(directory.path(), &format!("cmake -B build -DCMAKE_PREFIX_PATH={}", prefix.display()));
    assert!(!ended.status.success() && ended.stderr.contains("\"99\""), "{ended:?}");
}

/// By what the wrapper says of itself, and by the files for CMake.
fn a_prefix_with_spaces_is_found(prefix: &Path) {
    let beside = tempfile::tempdir_in(prefix.parent().unwrap()).unwrap();
    let spaced = beside.path().join("a place with spaces");
    assert!(Command::new("cp").arg("-al").arg(prefix).arg(&spaced).status().unwrap().success());
    for (find, target, option) in [
        ("MPI", "MPI::MPI_C", format!("-DMPI_C_COMPILER={}/bin/rmacc", spaced.display())),
        ("rma", "rma::mpi_abi", format!("-DCMAKE_PREFIX_PATH={}", spaced.display())),
    ] {
        let directory = workshop();
        let text = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(t C)\nfind_package({find} REQUIRED)\n\
             add_executable(prog prog.c)\ntarget_link_libraries(prog {target})\n"
        );
        fs::write(directory.path().join("CMakeLists.txt"), text).unwrap();
        let found = command(prefix, directory.path(), "cmake").line("-B build").words([&option]).run();
        assert!(found.status.success(), "{option}: {found:?}");
        good(directory.path(), "cmake --build build");
        assert_eq!(good(directory.path(), "env -u LD_LIBRARY_PATH build/prog"), "0 of 1\n");
    }
}

#[test]
fn pkg_config_gives_flags_that_work() {
    if is_second_pass() || !has("pkg-config") {
        return;
    }
    let directory = workshop();
    let folder = prefix().join("lib/pkgconfig");
    let flags = good(
        directory.path(),
        &format!("env PKG_CONFIG_PATH={} pkg-config --cflags --libs rma", folder.display()),
    );
    good(directory.path(), &format!("cc prog.c -o prog {}", flags.trim()));
    runs(directory.path(), "./prog");
}

#[test]
fn the_engine_for_embedders_is_there() {
    if is_second_pass() || !has("pkg-config") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let folder = prefix().join("lib/pkgconfig");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/embed-c");
    let flags = format!("env PKG_CONFIG_PATH={} pkg-config --cflags --libs rma-embed", folder.display());
    let flags = good(directory.path(), &flags);
    let files = ["main.c", "channel.c", "host.c"].map(|name| sources.join(name).display().to_string());
    let warnings = "-Wall -Wextra -Werror -std=c11 -D_GNU_SOURCE";
    good(directory.path(), &format!("cc {warnings} {} -o toy {}", files.join(" "), flags.trim()));
    assert!(good(directory.path(), "./toy").contains("every byte is where it should be"));
}

#[test]
fn an_installation_can_be_moved() {
    if is_second_pass() {
        return;
    }
    let directory = workshop();
    let moved = directory.path().join("a place with spaces");
    let copied = Command::new("cp").arg("-a").arg(prefix()).arg(&moved).status().unwrap();
    assert!(copied.success());
    let built = command(&moved, directory.path(), "rmacc").line("prog.c -o prog").run();
    assert!(built.status.success(), "{built:?}");
    let shown = command(&moved, directory.path(), "rmacc").line("-show").run().stdout;
    assert!(shown.contains("-I\"") && shown.contains("a place with spaces/include\""), "{shown}");
    let ran = command(&moved, directory.path(), "rmarun").line("-n 2 ./prog").run();
    assert!(ran.status.success(), "{ran:?}");
    fs::rename(&moved, directory.path().join("elsewhere")).unwrap();
    let lost = command(&moved, directory.path(), "./prog").run();
    assert!(!lost.status.success() && lost.stderr.contains("libmpi_abi.so.1"), "{lost:?}");
}

/// Hydra of the system, and those that a variable names, as for the tests of the launcher.
#[test]
fn the_same_program_starts_under_hydra() {
    if is_second_pass() {
        return;
    }
    let mut launchers: Vec<PathBuf> =
        has("mpiexec.hydra").then(|| "mpiexec.hydra".into()).into_iter().collect();
    let named = std::env::var_os("RMA_TEST_HYDRA").unwrap_or_default();
    launchers.extend(std::env::split_paths(&named).filter(|path| path.is_file()));
    let directory = workshop();
    good(directory.path(), "rmacc prog.c -o prog");
    for launcher in launchers {
        let output =
            good(directory.path(), &format!("env HYDRA_LAUNCHER=fork {} -n 3 ./prog", launcher.display()));
        let mut lines: Vec<_> = output.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0 of 3", "1 of 3", "2 of 3"], "{}", launcher.display());
    }
}

#[test]
fn settings_and_pages_are_there() {
    if is_second_pass() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let text = good(path, "rma-info channel");
    assert!(text.contains("standard ABI 1.0") && text.contains("\nRMA_CHANNEL = auto\n"), "{text}");
    let wrong = run(path, "env RMA_SLOTS=0 rma-info --json");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(wrong.stderr.contains("RMA_SLOTS") && wrong.stderr.contains("from 1 to 1048576"), "{wrong:?}");
    assert!(wrong.stdout.contains("\"variables\""), "{wrong:?}");
    assert!(good(path, "rmarun --version").starts_with("rmarun "));
    for page in [
        "man1/rmacc.1",
        "man1/rmacxx.1",
        "man1/rmafc.1",
        "man1/rmarun.1",
        "man1/rma-info.1",
        "man1/rma-guest.1",
        "man1/rma-trace.1",
        "man7/rma.7",
    ] {
        assert!(prefix().join("share/man").join(page).is_file(), "{page}");
    }
}
