//! Programs in C on the library: the examples, and one full of mistakes; both under valgrind, too, where it is.

mod support;

use std::ffi::OsStr;
use std::path::PathBuf;
use support::{compile, examples, has, library, run};

/// Compiles a program from these files, and runs it, plainly and under valgrind.
fn check(files: &[PathBuf], output: &str) {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let files: Vec<_> = files.iter().cloned().chain([library()]).collect();
    compile("cc", &["-std=c11", "-O1", "-g"], &files, &program);
    assert_eq!(run(directory.path(), &[program.as_os_str()]), output);
    if has("valgrind") {
        let options =
            ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];
        let words: Vec<_> = options.iter().map(OsStr::new).chain([program.as_os_str()]).collect();
        assert_eq!(run(directory.path(), &words), output);
    }
}

#[test]
fn the_example_finds_every_byte_where_it_should_be() {
    let files = ["main.c", "channel.c", "host.c"].map(|name| examples().join(name));
    check(&files, "4 processes of a toy have put, got and accumulated; every byte is where it should be\n");
}

/// A program with an event loop and message queues.
#[test]
fn the_example_of_queues_finds_every_row() {
    let files = ["embed-queue/main.c", "embed-c/channel.c", "embed-c/host.c"];
    let files = files.map(|name| examples().with_file_name(name));
    check(&files, "3 processes have drawn 30 tickets; every row is where it should be\n");
}

#[test]
fn bad_arguments_and_bad_tables_are_answers() {
    check(&[PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/arguments.c")], "");
}
