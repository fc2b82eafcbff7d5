//! What programs in C meet beside the calls themselves: the list of what they have not freed, and functions that the library
//! does not have.

#![allow(missing_docs)]

use rma_tests::installed::{command, prefix};
use rma_tests::job::{Ended, is_second_pass};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Leaves one object of every kind behind, and frees some that must not be listed.
const FORGETFUL: &str = r#"
#include <mpi.h>
#include <stddef.h>

static void handler(MPI_Comm *comm, int *code, ...) { (void)comm; (void)code; }
static void add(void *in, void *inout, int *len, MPI_Datatype *type) { (void)in; (void)inout; (void)len; (void)type; }

int main(int argc, char **argv) {
    MPI_Info early, late;
    MPI_Group group;
    MPI_Datatype types[3];
    MPI_Errhandler forgotten, attached;
    MPI_Comm twin, other;
    MPI_Win win, freed;
    MPI_Request receive, duplicate;
    MPI_Op op;
    int key, in;
    long *memory;
    MPI_Info_create(&early);
    MPI_Init(&argc, &argv);
    MPI_Info_dup(early, &late);
    MPI_Info_free(&late);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Type_contiguous(3, MPI_INT, &types[0]);
    MPI_Type_vector(3, 1, 2, MPI_INT, &types[1]);
    MPI_Type_contiguous(3, MPI_INT, &types[2]);
    MPI_Type_set_name(types[1], "column");
    MPI_Comm_create_errhandler(handler, &forgotten);
    MPI_Comm_create_errhandler(handler, &attached);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, attached);
    MPI_Errhandler_free(&attached);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_name(twin, "twin");
    MPI_Comm_idup(MPI_COMM_WORLD, &other, &duplicate);
    MPI_Wait(&duplicate, MPI_STATUS_IGNORE);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "halo");
    MPI_Win_lock_all(0, win);
    MPI_Win_create(&in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &freed);
    MPI_Win_free(&freed);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &receive);
    MPI_Op_create(add, 1, &op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    MPI_Win_free_keyval(&key);
    return MPI_Finalize();
}
"#;

/// What is not freed, in the order of the list.
const FORGOTTEN: [&str; 11] = [
    "1 window \"halo\", made by MPI_Win_allocate, in the epoch that MPI_Win_lock_all opened",
    "1 request, made by MPI_Irecv",
    "1 communicator \"twin\", made by MPI_Comm_dup",
    "1 communicator, made by MPI_Comm_idup",
    "2 datatypes, made by MPI_Type_contiguous",
    "1 datatype \"column\", made by MPI_Type_vector",
    "1 group, made by MPI_Comm_group",
    "1 operation, made by MPI_Op_create",
    "1 error handler, made by MPI_Comm_create_errhandler",
    "1 keyval, made by MPI_Comm_create_keyval",
    "1 info object, made by MPI_Info_create",
];

/// Calls functions of MPI that the library does not have.
const LOCKED_ALL_THE_SAME: &str = r#"
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Info info;
    MPI_Win win;
    void *base;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    for (int i = 0; i < 2; i++) {
        MPI_Win_lock_all(0, win);
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    return MPI_Finalize();
}
"#;

/// Calls what is not there.
const USES: &str = r#"
#include <mpi.h>

int main(void) {
    MPI_File file;
    char name[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, name);
    return MPI_File_open(MPI_COMM_WORLD, "a", 0, MPI_INFO_NULL, &file);
}
"#;

const MORE: &str = r#"
#include <mpi.h>
#include <stdio.h>

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file);
int MPI_File_toint(MPI_File file);
int MPI_Open_port(MPI_Info info, char *port_name);

int main(int argc, char **argv) {
    MPI_File file;
    int number, class, code;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Init(&argc, &argv);
    printf("%d\n", MPI_File_toint(MPI_FILE_NULL) == (int)(size_t)MPI_FILE_NULL);
    fflush(stdout);
    if (argc > 1)
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc > 2)
        MPI_Open_port(MPI_INFO_NULL, text);
    code = MPI_File_open(MPI_COMM_WORLD, "a", 0, MPI_INFO_NULL, &file);
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &number);
    printf("%d %s\n", class == MPI_ERR_UNSUPPORTED_OPERATION, text);
    return MPI_Finalize();
}
"#;

/// Another library, which has them.
const OTHER: &str = "
int MPI_Init(void) { return 0; }
int MPI_Finalize(void) { return 0; }
int MPI_Comm_set_errhandler(void) { return 0; }
int MPI_Error_class(void) { return 0; }
int MPI_Error_string(void) { return 0; }
int MPI_File_open(void) { return 0; }
int MPI_File_toint(void) { return 0; }
int MPI_Open_port(void) { return 0; }
";

fn workshop(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(directory.path().join(name), text).unwrap());
    directory
}

/// Runs a line of words without spaces in them.
fn run(directory: &Path, line: &str) -> Ended {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    command(&prefix(), directory, name).line(rest).run()
}

fn good(directory: &Path, line: &str) -> Ended {
    let ended = run(directory, line);
    assert!(ended.status.success(), "{line}: {ended:?}");
    ended
}

#[test]
fn what_is_not_freed_is_listed_with_the_calls_that_made_it() {
    let directory = workshop(&[("forgetful.c", FORGETFUL)]);
    let path = directory.path();
    good(path, "rmacc -Wall -Werror forgetful.c -o forgetful");
    for channel in ["auto", "tcp"] {
        let quiet = good(path, &format!("env RMA_CHANNEL={channel} rmarun -n 2 ./forgetful"));
        assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
        let reported = good(path, &format!("env RMA_DEBUG=1 RMA_CHANNEL={channel} rmarun -n 2 ./forgetful"));
        for rank in 0..2 {
            let start = format!("rma: rank {rank}: ");
            let lines: Vec<_> =
                reported.stderr.lines().filter_map(|line| line.strip_prefix(&start)).collect();
            assert_eq!(lines[0], "12 objects were not freed before MPI_Finalize:", "{reported:?}");
            assert_eq!(
                lines[1..].iter().map(|line| line.trim()).collect::<Vec<_>>(),
                FORGOTTEN,
                "{reported:?}"
            );
        }
    }
}

#[test]
fn a_hint_that_is_not_kept_is_told_once() {
    let directory = workshop(&[("locked.c", LOCKED_ALL_THE_SAME)]);
    let path = directory.path();
    good(path, "rmacc -Wall -Werror locked.c -o locked");
    let quiet = good(path, "rmarun -n 2 ./locked");
    assert_eq!(quiet.stderr, "");
    let reported = good(path, "env RMA_DEBUG=1 rmarun -n 2 ./locked");
    let lines: Vec<_> = reported.stderr.lines().collect();
    let line = "rma: MPI_Win_lock_all locks a window whose hint no_locks says that it is never locked";
    assert_eq!(lines, [line; 2], "{reported:?}");
}

#[test]
fn a_program_that_needs_more_is_not_linked() {
    if is_second_pass() {
        return;
    }
    let directory = workshop(&[("more.c", MORE), ("uses.c", USES)]);
    // The compiler says it, and where a program brings names of its own the linker.
    let (unavailable, undefined) = (
        run(directory.path(), "rmacc uses.c -o uses"),
        run(directory.path(), "rmacc -DMPIX_OWN_MISSING more.c -o more"),
    );
    for (name, group) in [("MPI_File_open", "files"), ("MPI_Open_port", "processes")] {
        let words = format!("undefined reference to `{name}'");
        assert!(!undefined.status.success() && undefined.stderr.contains(&words), "{undefined:?}");
        let words = format!("not in this library ({group}); rma-info --missing lists what is not");
        let mut lines = unavailable.stderr.lines();
        assert!(lines.any(|line| line.contains(name) && line.contains(&words)), "{unavailable:?}");
    }
    let listed = good(directory.path(), "rma-info --missing").stdout;
    assert!(listed.contains("\nfiles (") && listed.contains(" MPI_File_open"), "{listed}");
}

#[test]
fn a_program_of_another_library_hears_what_is_not_there() {
    if is_second_pass() {
        return;
    }
    let directory = workshop(&[("more.c", MORE), ("other.c", OTHER)]);
    let path = directory.path();
    let include = prefix().join("include");
    good(path, "cc -w -shared -fPIC other.c -o libmpi_abi.so -Wl,-soname,libmpi_abi.so.1");
    let compile =
        format!("cc -DMPIX_OWN_MISSING -I{} more.c -o more -L. -lmpi_abi -Wl,-z,now", include.display());
    good(path, &compile);
    let ours = format!("env LD_LIBRARY_PATH={}", prefix().join("lib").display());
    let ended = run(path, &format!("{ours} ./more"));
    assert!(!ended.status.success() && ended.stdout == "1\n", "{ended:?}");
    assert!(ended.stderr.contains("MPI_File_open: this library does not have the function"), "{ended:?}");
    let returned = good(path, &format!("{ours} ./more return"));
    let line = returned.stdout.lines().nth(1).unwrap();
    assert!(line.starts_with("1 MPI_ERR_UNSUPPORTED_OPERATION") && line.contains("MPI_File_open"), "{line}");
}

/// Speaks over TCP.
const TALK: &str = r#"
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"#;

/// Events reach standard error down to the level that is asked for, with the rank; by default a good run has none.
#[test]
fn events_are_lines_with_the_rank_down_to_a_level() {
    if is_second_pass() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("talk.c"), TALK).unwrap();
    let built = command(&prefix(), directory.path(), "rmacc").line("talk.c -o talk").run();
    assert!(built.status.success(), "{built:?}");
    let said = |level: &[(&str, &str)]| {
        let job = command(&prefix(), directory.path(), "rmarun").line("-n 2 --channel tcp ./talk");
        let ended = job.variables(level).run();
        assert!(ended.status.success(), "{ended:?}");
        ended.stderr
    };
    assert_eq!(said(&[]), "");
    assert_eq!(said(&[("RMA_LOG", "warn")]), "");
    let debug = said(&[("RMA_LOG", "debug")]);
    assert!(debug.contains("rma: rank 0: debug: connected, peer: 1\n"), "{debug}");
    let wrong = command(&prefix(), directory.path(), "rmarun").line("-n 1 -x RMA_LOG=loud ./talk").run();
    assert!(!wrong.status.success() && wrong.stderr.contains("RMA_LOG"), "{wrong:?}");
}
