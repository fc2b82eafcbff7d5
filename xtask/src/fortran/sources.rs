//! Which functions have a procedure, and the files that are installed.

use super::module::{self, Style};
use super::{include, parameters, shim};
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
const SUPPORT: [(&str, &str); 6] = [
    ("support.h", include_str!("../../../crates/rma-capi/fortran/support.h")),
    ("arguments.c", include_str!("../../../crates/rma-capi/fortran/arguments.c")),
    ("attributes.c", include_str!("../../../crates/rma-capi/fortran/attributes.c")),
    ("callbacks.c", include_str!("../../../crates/rma-capi/fortran/callbacks.c")),
    ("choice.c", include_str!("../../../crates/rma-capi/fortran/choice.c")),
    ("kept.c", include_str!("../../../crates/rma-capi/fortran/kept.c")),
];

/// The file that programs include.
pub(crate) const INCLUDED: &str = "mpif.h";

/// All files.
pub(crate) fn sources(tables: &Tables) -> Result<Vec<Source>, String> {
    let functions = functions(tables)?;
    let mut files: Vec<_> =
        SUPPORT.iter().map(|(name, text)| Source { name, text: (*text).to_owned() }).collect();
    files.push(Source { name: "handles.h", text: handles(tables) });
    for (name, prefix) in ["calls.c", "profiled.c"].into_iter().zip(module::PREFIXES) {
        files.push(Source { name, text: shim::generate(&functions, prefix)? });
    }
    files.push(Source { name: "mpi_f08.f90", text: module::generate(tables, &functions, Style::Types)? });
    // Large counts are in the other module only, as the standard has it.
    let small: Vec<_> = functions.iter().copied().filter(|function| !function.name.ends_with("_c")).collect();
    files.push(Source { name: "mpi.f90", text: module::generate(tables, &small, Style::Integers)? });
    files.push(Source { name: "mpif.f90", text: include::externals(&small)? });
    files.push(Source { name: INCLUDED, text: include::generate(tables, &small)? });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::workspace::Workspace;

    fn text<'a>(files: &'a [Source], name: &str) -> &'a str {
        &files.iter().find(|file| file.name == name).unwrap().text
    }

    #[test]
    fn every_function_has_a_procedure_or_a_reason() {
        let tables = abi::tables(&Workspace::find().unwrap()).unwrap();
        assert_eq!(findings(&tables), [""; 0]);
        let files = sources(&tables).unwrap();
        for function in functions(&tables).unwrap() {
            for (file, prefix) in ["calls.c", "profiled.c"].into_iter().zip(module::PREFIXES) {
                let name = format!("{prefix}{}", function.name);
                let symbol = match function.returns.as_str() {
                    "int" => module::symbol(&name),
                    _ => name,
                };
                let named = format!("name=\"{symbol}\"");
                assert!(text(&files, "mpi_f08.f90").contains(&named), "{symbol}");
                let is_called = text(&files, file).contains(&format!("void {symbol}("));
                assert_eq!(is_called, function.returns == "int", "{symbol}");
            }
        }
        // The standard's limit.
        let lines = ["mpi_f08.f90", "mpi.f90", "mpif.f90"].iter().flat_map(|name| text(&files, name).lines());
        assert_eq!(lines.filter(|line| line.len() > 132).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn what_is_included_is_good_in_both_source_forms() {
        let tables = abi::tables(&Workspace::find().unwrap()).unwrap();
        let files = sources(&tables).unwrap();
        let included = text(&files, INCLUDED);
        for line in included.lines().filter(|line| !line.starts_with('!')) {
            let (statement, rest) = line.split_at(line.len().min(72));
            assert!(matches!(rest, "" | "&") && statement.is_ascii(), "{line}");
            assert!(statement.starts_with("      ") || statement.starts_with("     &"), "{line}");
        }
        let wrapped = text(&files, "mpif.f90");
        for name in ["MPI_Op_create", "MPI_COMM_DUP_FN", "MPI_Info_get"] {
            assert!(wrapped.contains(&format!("subroutine {name}(")), "{name}");
        }
        assert!(!included.contains("PMPI_"));
    }

    /// Functions as other rows of the standard have them.
    #[test]
    fn what_no_rule_covers_is_said() {
        let of = |rows: &str| {
            Tables::parse("name\ttype\tvalue\n", &format!("group\tname\treturns\tparameters\n{rows}"))
                .unwrap()
        };
        let tables = of("x\tMPI_Pcontrol\tint\tconst int level, ...\n\
             x\tMPI_Session_create_errhandler\tint\tMPI_Session_errhandler_function *session_errhandler_fn, MPI_Errhandler *errhandler\n\
             x\tMPI_Session_get_nth_pset\tint\tMPI_Session session, MPI_Info info, int n, int *pset_len, char *pset_name\n\
             x\tMPI_Session_fromint\tMPI_Session\tint session\n\
             x\tMPI_Pack_external\tint\tconst char datarep[], const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, MPI_Aint outsize, MPI_Aint *position\n");
        let files = sources(&tables).unwrap();
        let calls = text(&files, "calls.c");
        assert!(calls.contains("MPI_Pcontrol(*level)"), "{calls}");
        assert!(calls.contains("abi_session_errhandler_function(session_errhandler_fn)"), "{calls}");
        assert!(
            calls.contains("MPI_Pack_external(datarep_c, inbuf_c.address, (int)inbuf_c.count, inbuf_c.type, outbuf_c.address"),
            "{calls}"
        );
        assert!(text(&files, "handles.h").contains("ABI_HAS_MPI_Session"));
        let error = sources(&of("x\tMPI_New\tint\tMPI_Strange thing\n")).unwrap_err();
        assert!(error.contains("MPI_New: no rule says what"), "{error}");
    }
}
