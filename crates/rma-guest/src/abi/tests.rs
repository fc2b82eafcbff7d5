//! The tables beside the headers of the libraries that are installed, by programs that their own compilers make of both.

use super::combiners::COMBINERS;
use super::constants::{Constants, Family, MPICH, OPEN_MPI};
use std::fmt::{Display, Write as _};
use std::path::PathBuf;
use std::process::Command;

/// The rows of a table of handles, with the names that stand behind them.
fn handles() -> Vec<(&'static str, &'static str, &'static str)> {
    let row = |line: &'static str| {
        let (row, name) = line.split_once("//")?;
        let field = |key: &str| {
            let (_, rest) = row.split_once(key)?;
            Some(rest.split([',', ' ', '}']).next()?.trim_matches('"'))
        };
        Some((name.trim(), field("mpich: ")?, field("open_mpi: ")?))
    };
    include_str!("handles.rs").lines().filter_map(row).collect()
}

fn classes() -> Vec<(&'static str, [&'static str; 3])> {
    let row = |line: &'static str| {
        let (row, name) = line.split_once("//")?;
        let mut numbers = row.trim().strip_prefix('[')?.trim_end_matches("],").split(", ");
        Some((name.trim(), [numbers.next()?, numbers.next()?, numbers.next()?]))
    };
    include_str!("classes.rs").lines().filter_map(row).collect()
}

/// Names in order of the fields.
const NUMBERS: [(&str, &[&str]); 10] = [
    ("", &["MPI_PROC_NULL", "MPI_UNDEFINED"]),
    (
        "",
        &[
            "MPI_MODE_NOCHECK",
            "MPI_MODE_NOPRECEDE",
            "MPI_MODE_NOPUT",
            "MPI_MODE_NOSTORE",
            "MPI_MODE_NOSUCCEED",
        ],
    ),
    ("", &["MPI_LOCK_EXCLUSIVE", "MPI_LOCK_SHARED"]),
    ("", &["MPI_WIN_BASE", "MPI_WIN_SIZE", "MPI_WIN_DISP_UNIT", "MPI_WIN_CREATE_FLAVOR", "MPI_WIN_MODEL"]),
    ("MPI_WIN_FLAVOR_", &["CREATE", "ALLOCATE", "DYNAMIC", "SHARED"]),
    ("MPI_WIN_", &["UNIFIED", "SEPARATE"]),
    ("MPI_THREAD_", &["SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"]),
    ("MPI_ORDER_", &["C", "FORTRAN"]),
    ("MPI_DISTRIBUTE_", &["NONE", "BLOCK", "CYCLIC", "DFLT_DARG"]),
    ("MPI_MAX_", &["ERROR_STRING", "INFO_VAL"]),
];

const OF_COMBINERS: [&str; 16] = [
    "NAMED",
    "DUP",
    "CONTIGUOUS",
    "VECTOR",
    "HVECTOR",
    "INDEXED",
    "HINDEXED",
    "INDEXED_BLOCK",
    "HINDEXED_BLOCK",
    "STRUCT",
    "SUBARRAY",
    "DARRAY",
    "F90_REAL",
    "F90_COMPLEX",
    "F90_INTEGER",
    "RESIZED",
];

fn compare(text: &mut String, name: impl Display, value: impl Display) {
    let _ = writeln!(text, "#ifdef {name}\nSAME({name}, {value});\n#endif");
}

fn program(family: Family, constants: &Constants) -> String {
    let mut text = String::from("#include <mpi.h>\n#include <stdio.h>\n#include <stdint.h>\n");
    let word = if family == Family::Mpich { "(long long)(unsigned)" } else { "(long long)(intptr_t)" };
    let _ = writeln!(
        text,
        "#define SAME(a, b) do {{ seen++; if ({word}(a) != {word}(b)) \
         printf(\"%s is %llx, not %s\\n\", #a, {word}(a), #b); }} while (0)\nint main(void) {{ int seen = 0;"
    );
    for (name, mpich, open_mpi) in handles() {
        match family {
            Family::Mpich if mpich != "0" => compare(&mut text, name, mpich),
            Family::OpenMpi if !open_mpi.is_empty() => compare(&mut text, name, format!("&{open_mpi}")),
            // What is not in the table is no datatype of the host's.
            _ => compare(&mut text, name, "MPI_DATATYPE_NULL"),
        }
    }
    let c = constants;
    let numbers: [&[i32]; 10] = [
        &[c.proc_null, c.undefined],
        &c.asserts,
        &c.locks,
        &c.window_keys,
        &c.flavors,
        &c.models,
        &c.threads,
        &c.orders,
        &c.distributions,
        &[c.error_text as i32, c.info_value as i32],
    ];
    for ((head, names), numbers) in NUMBERS.iter().zip(numbers) {
        assert_eq!(names.len(), numbers.len());
        for (name, number) in names.iter().zip(numbers) {
            // Some are enumerators.
            let _ = writeln!(text, "SAME({head}{name}, {number});");
        }
    }
    for ((numbers, _), name) in COMBINERS.iter().zip(OF_COMBINERS) {
        let _ = writeln!(text, "SAME(MPI_COMBINER_{name}, {});", numbers[family as usize]);
    }
    for (name, numbers) in classes() {
        compare(&mut text, name, numbers[family as usize]);
    }
    if family == Family::Mpich {
        for (name, handle) in [
            ("MPI_COMM_WORLD", c.comm_world),
            ("MPI_COMM_SELF", c.comm_self),
            ("MPI_COMM_NULL", c.comm_null),
            ("MPI_REQUEST_NULL", c.request_null),
            ("MPI_INFO_NULL", c.info_null),
            ("MPI_BYTE", c.byte),
            ("MPI_INT", c.int),
            ("MPI_MIN", c.min),
            ("MPI_ERRORS_ARE_FATAL", c.fatal[0]),
            ("MPI_ERRORS_ABORT", c.fatal[1]),
            ("MPI_ERRORS_RETURN", c.errors_return),
        ] {
            compare(&mut text, name, handle);
        }
    }
    text + "printf(\"seen %d\\n\", seen); return 0; }\n"
}

fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[test]
fn tables_are_those_of_the_headers_that_are_installed() {
    for (compiler, family, constants) in
        [("mpicc.mpich", Family::Mpich, &MPICH), ("mpicc.openmpi", Family::OpenMpi, &OPEN_MPI)]
    {
        let Some(path) = find(compiler) else {
            println!("skipped: {compiler} is not installed here");
            continue;
        };
        let folder = std::env::temp_dir().join(format!("rma-guest-{compiler}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, built) = (folder.join("tables.c"), folder.join("tables"));
        std::fs::write(&source, program(family, constants)).unwrap();
        let compiled = Command::new(path).arg("-w").arg(&source).arg("-o").arg(&built).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let said = Command::new(&built).output().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let (wrong, seen): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| !line.starts_with("seen "));
        assert_eq!(wrong, [""; 0], "{compiler}");
        let seen: u32 = seen[0]["seen ".len()..].parse().unwrap();
        assert!(seen > 150, "{compiler}: {seen}");
    }
}
