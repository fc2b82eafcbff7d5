//! The functions of MPI outside the library: the table of their names, and what comes from it.

use super::tables::{Tables, rows};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What such a function does for programs that were built with another library.
const ANSWERS: [&str; 4] = ["error", "code", "success", "number"];

const OPENING: &str = "\
//! The names of what is not supported. Written by `cargo xtask abi --write` from `abi/unsupported.tsv`.

use super::refuse::{refuse, unsupported};
use std::ffi::c_int;

";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unsupported {
    pub(super) group: String,
    pub(super) name: String,
    /// One of [`ANSWERS`].
    pub(super) answer: String,
    /// Its parameters in C, where bindings of other languages are made from the header; or any.
    pub(super) parameters: Option<String>,
}

/// Reads the table; a function of the library is not in it.
pub(super) fn parse(text: &str, tables: &Tables) -> Result<Vec<Unsupported>, String> {
    let mut names: BTreeSet<&str> = tables.functions.iter().map(|function| function.name.as_str()).collect();
    let mut read = Vec::new();
    for cells in rows(text, "group\tname\tanswer\tparameters")? {
        let [group, name, answer, parameters] = cells[..] else {
            unreachable!("rows have as many cells as the heading")
        };
        if !names.insert(name) {
            return Err(format!("the function {name} is not supported, and in a table before"));
        }
        if !name.starts_with("MPI_") || !ANSWERS.contains(&answer) {
            return Err(format!("the row of {name} is not understood"));
        }
        let parameters = (parameters != "any").then(|| parameters.to_owned());
        let [group, name, answer] = [group, name, answer].map(str::to_owned);
        read.push(Unsupported { group, name, answer, parameters });
    }
    Ok(read)
}

/// The text of the file that declares the functions.
pub(super) fn generate(unsupported: &[Unsupported]) -> String {
    let mut text = format!("{OPENING}unsupported! {{\n");
    for answer in ANSWERS {
        let _ = writeln!(text, "    {answer} {{");
        for function in unsupported.iter().filter(|function| function.answer == answer) {
            let _ = writeln!(text, "        {}", function.name);
        }
        text.push_str("    }\n");
    }
    text + "}\n"
}

/// Functions that a library should say are not supported, and does not: a line for each.
pub(super) fn missing(unsupported: &[Unsupported], exports: &BTreeSet<String>) -> Vec<String> {
    let missing = unsupported.iter().filter(|function| !exports.contains(&function.name));
    missing
        .map(|function| format!("the library does not say that {} is not supported", function.name))
        .collect()
}

/// What is not supported, by groups.
pub(super) fn summary(unsupported: &[Unsupported], names: bool) -> String {
    let mut text = format!("not supported: {} functions of MPI outside the table", unsupported.len());
    let mut groups: Vec<_> = unsupported.iter().map(|function| function.group.as_str()).collect();
    groups.dedup();
    for group in groups {
        let of_group = unsupported.iter().filter(|function| function.group == group);
        let list: Vec<_> = of_group.map(|function| function.name.as_str()).collect();
        let _ = write!(text, "\n  {group}: {}", list.len());
        if names {
            let _ = write!(text, " ({})", list.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "group\tname\tanswer\tparameters\nfiles\tMPI_File_open\terror\tany\ntools\tMPI_T_event_read\tcode\tint a\n";

    fn tables() -> Tables {
        Tables::parse("name\ttype\tvalue\n", "group\tname\treturns\tparameters\nrma\tMPI_Put\tint\tint a\n")
            .unwrap()
    }

    #[test]
    fn rows_are_read_declared_and_counted() {
        let read = parse(ROWS, &tables()).unwrap();
        let text = generate(&read);
        assert!(
            text.contains("error {\n        MPI_File_open\n    }\n    code {\n        MPI_T_event_read\n"),
            "{text}"
        );
        assert!(text.ends_with("    success {\n    }\n    number {\n    }\n}\n"), "{text}");
        assert_eq!(missing(&read, &BTreeSet::from(["MPI_File_open".to_owned()])).len(), 1);
        assert!(
            summary(&read, false).ends_with("2 functions of MPI outside the table\n  files: 1\n  tools: 1")
        );
        assert!(summary(&read, true).contains("files: 1 (MPI_File_open)"));
    }

    #[test]
    fn what_is_supported_or_not_understood_is_refused() {
        for (row, why) in [
            ("rma\tMPI_Put\terror", "MPI_Put is not supported, and in a table before"),
            ("files\tMPI_File_open\terror", "in a table before"),
            ("files\tMPI_File_close\tjoy", "not understood"),
            ("files\tFile_close\terror", "not understood"),
        ] {
            let error = parse(&format!("{ROWS}{row}\tany\n"), &tables()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
