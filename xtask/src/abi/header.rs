//! The header `mpi.h`, written from the tables.
//!
//! It declares the functions that are asked for, in the order and the groups of the table, each with its
//! profiling twin. Types are those of the ABI (MPI 5.0, chapter 20): the names of the structures behind
//! handles matter, because C++ puts them into the names of functions. Removed names, and what Fortran needs, are there
//! for programs that ask for them by a macro.

use super::tables::{Constant, ENUMERATIONS, HANDLES, Kind, Tables};
use super::unsupported::Unsupported;
use std::collections::BTreeSet;
use std::fmt::Write;

const OPENING: &str = "\
/* The C interface of MPI, in the standard ABI of MPI 5.0. Written by `cargo xtask abi --write`: do not edit.
 *
 * A function that the library lacks is an error of the compiler that says so, unless MPIX_OWN_MISSING is defined. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

/// What is not there is declared where an attribute makes each use an error; a configure script that asks for it finds nothing.
const MISSING: &str = "
#if !defined(MPIX_OWN_MISSING) && defined(__has_attribute)
#if __has_attribute(unavailable)
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
#define MPIX_ANY (...)
#else
#define MPIX_ANY ()
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Wstrict-prototypes\"
#endif
#define MPIX_MISSING(group)                                                                    \\
    __attribute__((unavailable(\"not in this library (\" group \"); rma-info --missing lists what is not\")))
";
const MISSING_END: &str = "\
#if !defined(__cplusplus) && !(__STDC_VERSION__ >= 202311L)
#pragma GCC diagnostic pop
#endif
#undef MPIX_ANY
#undef MPIX_MISSING
#endif
#endif
";

const CLOSING: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// Groups that a program has to ask for: the macro, and what stands in front of the functions.
const OPT_IN: [(&str, &str, &str); 2] = [
    (
        "fortran",
        FORTRAN,
        "typedef int MPI_Fint;\n\n\
         #define MPI_F_STATUS_SIZE 8\n\
         #define MPI_F_SOURCE 0\n\
         #define MPI_F_TAG 1\n\
         #define MPI_F_ERROR 2\n\
         #define MPI_F_STATUS_IGNORE ((MPI_Fint *)0)\n\
         #define MPI_F_STATUSES_IGNORE ((MPI_Fint *)0)\n\n\
         typedef MPI_Status MPI_F08_status;\n\n\
         #define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)0)\n\
         #define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)0)\n\n",
    ),
    (
        "removed",
        REMOVED,
        "typedef MPI_Comm_errhandler_function MPI_Handler_function;\n\n\
         #define MPI_LB ((MPI_Datatype)0x00000401)\n\
         #define MPI_UB ((MPI_Datatype)0x00000402)\n\n",
    ),
];
/// Asks for `MPI_Fint` and the conversions of handles, which are for an `INTEGER` of 32 bits.
pub(super) const FORTRAN: &str = "RMA_MPI_FINT";
/// Asks for the names that the standard has removed.
pub(super) const REMOVED: &str = "RMA_MPI_1";

/// The handles of the tool interface.
const TOOL_HANDLES: [&str; 6] = [
    "MPI_T_enum",
    "MPI_T_cvar_handle",
    "MPI_T_pvar_handle",
    "MPI_T_pvar_session",
    "MPI_T_event_registration",
    "MPI_T_event_instance",
];

/// What stands between the handles and the constants.
const TYPES: &str = "\
typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

typedef void(MPI_User_function)(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef void(MPI_User_function_c)(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype);

typedef void(MPI_Comm_errhandler_function)(MPI_Comm *comm, int *error_code, ...);
typedef void(MPI_File_errhandler_function)(MPI_File *file, int *error_code, ...);
typedef void(MPI_Session_errhandler_function)(MPI_Session *session, int *error_code, ...);
typedef void(MPI_Win_errhandler_function)(MPI_Win *win, int *error_code, ...);

typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;

typedef int(MPI_Grequest_query_function)(void *extra_state, MPI_Status *status);
typedef int(MPI_Grequest_free_function)(void *extra_state);
typedef int(MPI_Grequest_cancel_function)(void *extra_state, int complete);

typedef int(MPI_Datarep_conversion_function)(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                                             MPI_Offset position, void *extra_state);
typedef int(MPI_Datarep_conversion_function_c)(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
                                               MPI_Offset position, void *extra_state);
typedef int(MPI_Datarep_extent_function)(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state);

typedef int(MPIX_Gather_function)(const void *mine, int length, void *all, void *extra_state);

";

/// What stands behind the enumerations.
const EVENTS: &str = "
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance event_instance, MPI_T_event_registration event_registration,
                                      MPI_T_cb_safety cb_safety, void *user_data);
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                           void *user_data);
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration event_registration,
                                              int source_index, MPI_T_cb_safety cb_safety, void *user_data);

";

/// Objects that carry attributes: the part of the callbacks' names, handle type and name of the first parameter.
const ATTRIBUTES: [(&str, &str, &str); 4] = [
    ("Comm_", "MPI_Comm", "comm"),
    ("Type_", "MPI_Datatype", "datatype"),
    ("Win_", "MPI_Win", "win"),
    // The first form of them all, which the oldest names of constants still have.
    ("", "MPI_Comm", "comm"),
];

/// The text of the header that declares these functions, and those as ones that nothing may use.
pub(super) fn generate(tables: &Tables, declared: &BTreeSet<String>, unsupported: &[Unsupported]) -> String {
    let mut text = OPENING.to_owned();
    types(tables, &mut text);
    constants(&tables.constants, &mut text);
    functions(tables, declared, &mut text);
    text.push_str(MISSING);
    for function in unsupported {
        let Unsupported { group, name, parameters, .. } = function;
        let parameters = parameters.as_ref().map_or_else(|| " MPIX_ANY".to_owned(), |all| format!("({all})"));
        let _ = writeln!(text, "int {name}{parameters} MPIX_MISSING(\"{group}\");");
    }
    text + MISSING_END + CLOSING
}

fn types(tables: &Tables, text: &mut String) {
    text.push_str("typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\n");
    // One row of the table says that a count is as wide as an offset.
    for constant in &tables.constants {
        if let Kind::TypeAlias(of) = &constant.kind {
            let [new, of] = [&constant.name, of].map(|name| name.replace("MPI_ABI_", "MPI_"));
            let _ = writeln!(text, "typedef {of} {new};");
        }
    }
    text.push('\n');
    for handle in HANDLES.iter().chain(&TOOL_HANDLES) {
        let _ = writeln!(text, "typedef struct {} *{handle};", handle.replace("MPI_", "MPI_ABI_"));
    }
    text.push('\n');
    text.push_str(TYPES);
    enumerations(&tables.constants, text);
    for (object, handle, parameter) in ATTRIBUTES {
        let (copy, delete) = match object {
            "" => ("MPI_Copy_function".to_owned(), "MPI_Delete_function".to_owned()),
            _ => (format!("MPI_{object}copy_attr_function"), format!("MPI_{object}delete_attr_function")),
        };
        let _ = writeln!(
            text,
            "typedef int({copy})({handle} {parameter}, int keyval, void *extra_state, void *attribute_val_in,\n    \
             void *attribute_val_out, int *flag);\n\
             typedef int({delete})({handle} {parameter}, int keyval, void *attribute_val, void *extra_state);"
        );
    }
}

/// The enumerations with their values, and the callbacks that take them.
fn enumerations(constants: &[Constant], text: &mut String) {
    for name in ENUMERATIONS {
        let of_it = constants.iter().filter(|constant| constant.kind == Kind::Choice(name.to_owned()));
        let values: Vec<_> = of_it.map(|value| format!("    {} = {}", value.name, value.text)).collect();
        if values.is_empty() {
            return;
        }
        let _ = writeln!(text, "typedef enum {name} {{\n{}\n}} {name};", values.join(",\n"));
    }
    text.push_str(EVENTS);
}

fn constants(constants: &[Constant], text: &mut String) {
    let mut last = None;
    for constant in constants {
        let value = match &constant.kind {
            Kind::Int if constant.value < 0 => format!("({})", constant.text),
            Kind::Int | Kind::Alias(_) => constant.text.clone(),
            // The preprocessor knows the name, and the compiler its type.
            Kind::Choice(_) => constant.name.clone(),
            Kind::Offset => format!("((MPI_Offset){})", constant.text),
            Kind::Handle(kind) | Kind::Pointer(kind) => format!("(({kind}){})", constant.text),
            Kind::TypeAlias(_) => continue,
        };
        if last.replace(&constant.kind) != Some(&constant.kind) {
            text.push('\n');
        }
        let _ = writeln!(text, "#define {:<35} {value}", constant.name);
    }
}

fn functions(tables: &Tables, declared: &BTreeSet<String>, text: &mut String) {
    let mut group = "";
    for function in tables.functions.iter().filter(|function| declared.contains(&function.name)) {
        if group != function.group {
            text.push_str(end_of(group));
            group = &function.group;
            let _ = writeln!(text, "\n/* {group} */");
            if let Some((_, asks, before)) = opt_in(group) {
                let _ = write!(text, "#ifdef {asks}\n{before}");
            }
        }
        for twin in ["", "P"] {
            let space = if function.returns.ends_with('*') { "" } else { " " };
            let _ = writeln!(
                text,
                "{}{space}{twin}{}({});",
                function.returns, function.name, function.parameters
            );
        }
    }
    text.push_str(end_of(group));
}

fn opt_in(group: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    OPT_IN.iter().find(|(name, ..)| *name == group)
}

fn end_of(group: &str) -> &'static str {
    if opt_in(group).is_some() { "#endif\n" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(declared: &[&str]) -> String {
        let constants = "name\ttype\tvalue\nMPI_SUM\tMPI_Op\t0x00000021\nMPI_ANY_TAG\tint\t-2\nMPI_HERE\tMPI_Offset\t-1\n\
                         MPI_IN_PLACE\tvoid*\t1\nMPI_PLUS\talias\tMPI_SUM\nMPI_ABI_Count\talias\tMPI_ABI_Offset\n";
        let functions = "group\tname\treturns\tparameters\nrma\tMPI_Put\tint\tint a\nrma\tMPI_Get\tint\tint b\n\
                         fortran\tMPI_Op_c2f\tMPI_Fint\tMPI_Op op\ntime\tMPI_Wtime\tdouble\tvoid\n";
        let declared = declared.iter().map(|name| (*name).to_owned()).collect();
        let [group, name, answer] = ["files", "MPI_File_open", "error"].map(str::to_owned);
        let parameters = None;
        let unsupported = [Unsupported { group, name, answer, parameters }];
        generate(&Tables::parse(constants, functions).unwrap(), &declared, &unsupported)
    }

    #[test]
    fn constants_have_the_form_of_their_kind() {
        let header = header(&[]);
        let defines: Vec<_> = header.lines().filter(|line| line.starts_with("#define MPI_")).collect();
        let words: Vec<Vec<_>> = defines.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            words,
            [
                vec!["#define", "MPI_H_ABI"],
                vec!["#define", "MPI_SUM", "((MPI_Op)0x00000021)"],
                vec!["#define", "MPI_ANY_TAG", "(-2)"],
                vec!["#define", "MPI_HERE", "((MPI_Offset)-1)"],
                vec!["#define", "MPI_IN_PLACE", "((void*)1)"],
                vec!["#define", "MPI_PLUS", "MPI_SUM"],
            ]
        );
        assert!(header.contains("typedef MPI_Offset MPI_Count;\n"));
    }

    #[test]
    fn what_is_asked_for_stands_between_its_macro_and_the_end_of_that() {
        for declared in [&["MPI_Op_c2f"][..], &["MPI_Op_c2f", "MPI_Wtime"]] {
            let header = header(declared);
            let (_, block) = header.split_once("#ifdef RMA_MPI_FINT\ntypedef int MPI_Fint;\n").unwrap();
            let (block, _) = block.split_once("#endif\n").unwrap();
            assert!(block.ends_with("MPI_Fint MPI_Op_c2f(MPI_Op op);\nMPI_Fint PMPI_Op_c2f(MPI_Op op);\n"));
        }
    }

    #[test]
    fn only_what_exists_is_declared_and_with_its_twin() {
        let declared = header(&["MPI_Get", "MPI_Wtime"]);
        let end = "\n/* rma */\nint MPI_Get(int b);\nint PMPI_Get(int b);\n\n/* time */\n\
                   double MPI_Wtime(void);\ndouble PMPI_Wtime(void);\n";
        let missing = format!("{MISSING}int MPI_File_open MPIX_ANY MPIX_MISSING(\"files\");\n{MISSING_END}");
        assert!(declared.ends_with(&format!("{end}{missing}{CLOSING}")), "{declared}");
        // Types of functions that there are not are declared all the same: bindings and configure scripts name them.
        assert!(declared.contains("typedef int(MPI_Datarep_extent_function)("));
        assert!(!header(&[]).contains("int MPI_Get(") && !declared.contains("MPI_Put"));
    }
}
