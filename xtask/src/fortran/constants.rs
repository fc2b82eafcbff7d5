//! The constants of the table as Fortran has them.

use super::module::Style;
use crate::abi::{Constant, Kind, Tables};
use std::fmt::Write;

/// Texts are blank padded in Fortran, so that the longest is one shorter than in C.
const LONGEST: &str = "MPI_MAX_";

/// All constants with a name in Fortran.
pub(super) fn generate(tables: &Tables, style: Style) -> String {
    let mut text = String::from(
        "  integer, parameter :: MPI_ADDRESS_KIND = c_intptr_t\n  \
         integer, parameter :: MPI_COUNT_KIND = c_int64_t\n  \
         integer, parameter :: MPI_OFFSET_KIND = c_int64_t\n  \
         integer, parameter :: MPI_INTEGER_KIND = c_int\n  \
         integer(c_int), parameter :: MPI_STATUS_SIZE = 8\n  \
         integer(c_int), parameter :: MPI_SOURCE = 1\n  \
         integer(c_int), parameter :: MPI_TAG = 2\n  \
         integer(c_int), parameter :: MPI_ERROR = 3\n  \
         logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.\n  \
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.\n\n",
    );
    if style == Style::Types {
        for handle in super::parameters::HANDLES {
            let _ = writeln!(
                text,
                "  type, bind(C) :: {handle}\n    integer(c_int) :: MPI_VAL\n  end type {handle}\n"
            );
        }
    }
    for constant in &tables.constants {
        text += &line(constant, tables, style).unwrap_or_default();
    }
    text + "\n"
}

/// Variables whose places mean something to the calls: name, shape, shape as integers.
const PLACES: [(&str, &str, &str); 7] = [
    ("MPI_BOTTOM", "", ""),
    ("MPI_IN_PLACE", "", ""),
    ("MPI_BUFFER_AUTOMATIC", "", ""),
    ("MPI_UNWEIGHTED", "(1)", "(1)"),
    ("MPI_WEIGHTS_EMPTY", "(1)", "(1)"),
    ("MPI_STATUS_IGNORE", "", "(MPI_STATUS_SIZE)"),
    ("MPI_STATUSES_IGNORE", "(1)", "(MPI_STATUS_SIZE, 1)"),
];

/// These variables: common blocks with the names of the part in C. The modules and the include file share them, and of all global
/// names only those of common blocks may be declared more than once (Fortran 2018, 19.2).
pub(super) fn places(style: Style) -> String {
    let mut text = String::new();
    for (name, shape, of_integers) in PLACES {
        let (kind, shape) = match style {
            Style::Types if name.contains("STATUS") => ("type(MPI_Status)", shape),
            Style::Types => ("integer(c_int)", shape),
            Style::Integers => ("integer(c_int)", of_integers),
        };
        let block = format!("ABI_{name}");
        let _ = writeln!(text, "  {kind}, target :: {name}{shape}\n  common /{block}/ {name}");
        let _ = writeln!(text, "  bind(C, name=\"{}\") :: /{block}/", block.to_lowercase());
    }
    text + "\n"
}

fn line(constant: &Constant, tables: &Tables, style: Style) -> Option<String> {
    let (name, mut value) = (&constant.name, constant.value);
    if name.starts_with("MPI_T_") || name.starts_with("MPI_F_") {
        return None;
    }
    let kind = match &constant.kind {
        Kind::Alias(of) => &tables.constants.iter().find(|other| other.name == *of)?.kind,
        kind => kind,
    };
    Some(match kind {
        Kind::Int => {
            value -= i64::from(name.starts_with(LONGEST));
            format!("  integer(c_int), parameter :: {name} = {value}\n")
        }
        Kind::Offset => format!("  integer(MPI_OFFSET_KIND), parameter :: {name} = {value}\n"),
        Kind::Handle(_) if style == Style::Integers => {
            format!("  integer(c_int), parameter :: {name} = {value}\n")
        }
        Kind::Handle(handle) => format!("  type({handle}), parameter :: {name} = {handle}({value})\n"),
        Kind::Pointer(_) | Kind::Choice(_) | Kind::Alias(_) | Kind::TypeAlias(_) => return None,
    })
}
