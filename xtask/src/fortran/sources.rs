//! Which functions have a procedure, and the files that are installed.

use super::module::{self, Style};
use super::{parameters, shim};
use crate::abi::{Function, Tables, rows};
use std::fmt::Write;

/// A file below the directory of the sources.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// Functions without a procedure: a group, a function, or the end of names behind a star, and why.
const LEFT_OUT: &str = include_str!("../../../crates/rma-capi/abi/fortran.tsv");
/// The part in C that is not generated.
const SUPPORT: [(&str, &str); 5] = [
    ("support.h", include_str!("../../../crates/rma-capi/fortran/support.h")),
    ("arguments.c", include_str!("../../../crates/rma-capi/fortran/arguments.c")),
    ("callbacks.c", include_str!("../../../crates/rma-capi/fortran/callbacks.c")),
    ("choice.c", include_str!("../../../crates/rma-capi/fortran/choice.c")),
    ("kept.c", include_str!("../../../crates/rma-capi/fortran/kept.c")),
];

/// All files.
pub(crate) fn sources(tables: &Tables) -> Result<Vec<Source>, String> {
    let functions = functions(tables)?;
    let mut files: Vec<_> =
        SUPPORT.iter().map(|(name, text)| Source { name, text: (*text).to_owned() }).collect();
    files.push(Source { name: "handles.h", text: handles(tables) });
    files.push(Source { name: "calls.c", text: shim::generate(&functions)? });
    files.push(Source { name: "mpi_f08.f90", text: module::generate(tables, &functions, Style::Types)? });
    Ok(files)
}

/// What is wrong with the table of what is left out, or with a function that no rule covers.
pub(crate) fn findings(tables: &Tables) -> Vec<String> {
    let left_out = match rows(LEFT_OUT, "of\treason") {
        Ok(rows) => rows,
        Err(why) => return vec![why],
    };
    let stale =
        left_out.iter().filter(|row| !tables.functions.iter().any(|function| is_of(function, row[0])));
    let stale = stale.map(|row| format!("abi/fortran.tsv: no function is {}", row[0]));
    stale.chain(sources(tables).err()).collect()
}

/// The functions that have a procedure.
fn functions(tables: &Tables) -> Result<Vec<&Function>, String> {
    let left_out = rows(LEFT_OUT, "of\treason")?;
    let has = |function: &&Function| !left_out.iter().any(|row| is_of(function, row[0]));
    Ok(tables.functions.iter().filter(has).collect())
}

fn is_of(function: &Function, what: &str) -> bool {
    match what.strip_prefix('*') {
        Some(end) => function.name.ends_with(end),
        None => function.name == what || function.group == what,
    }
}

/// Conversions for the handles that the library has.
fn handles(tables: &Tables) -> String {
    let mut text = String::from(
        "/* The handles that have integers. Written by `cargo xtask install`: do not edit. */\n",
    );
    for handle in parameters::HANDLES {
        let short = handle.replace("Datatype", "Type");
        if tables.functions.iter().any(|function| function.name == format!("{short}_fromint")) {
            let _ = writeln!(text, "ABI_HANDLE({handle}, {short})\n#define ABI_HAS_{handle}");
        }
    }
    text
}
