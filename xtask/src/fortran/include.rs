//! `mpif.h`, the include file of old programs: constants and interfaces that are good in both source forms of Fortran.
//!
//! The interfaces lead to the same functions in C as the modules'. Where a module's procedure stands between, a procedure outside
//! of modules calls it, since what is included can contain none.

use super::constants;
use super::module::{Procedure, Style, procedures, with_addresses, with_integers};
use super::old;
use super::parameters::Class;
use super::text::statement;
use crate::abi::{Function, Tables};
use std::fmt::Write;

/// The last column of the fixed form. A sign behind it continues the free form.
const LAST: usize = 72;
/// Kinds of numbers of constants and variables, where no module is used.
const NUMBERS: [(&str, &str); 5] = [
    ("integer(c_int)", "integer"),
    ("integer(MPI_OFFSET_KIND)", "integer(8)"),
    ("= c_intptr_t", "= 8"),
    ("= c_int64_t", "= 8"),
    ("= c_int\n", "= 4\n"),
];
/// Names of interfaces, which see nothing of what is around them.
const NAMES: [(&str, &str); 6] = [
    ("import\n", "use, intrinsic :: iso_c_binding\n"),
    ("(MPI_ADDRESS_KIND)", "(c_int64_t)"),
    ("(MPI_COUNT_KIND)", "(c_int64_t)"),
    ("(MPI_OFFSET_KIND)", "(c_int64_t)"),
    ("(MPI_STATUS_SIZE, *)", "(8, *)"),
    ("character(len=*)", "character(kind=c_char, len=*)"),
];
/// Attribute functions that the modules have.
const FUNCTIONS: &str = include_str!("../../../crates/rma-capi/fortran/procedures.inc");
/// Interfaces of calls that the tables do not have.
const OTHERS: &str = include_str!("../../../crates/rma-capi/fortran/others.inc");

/// The text of the include file.
pub(super) fn generate(tables: &Tables, functions: &[&Function]) -> Result<String, String> {
    let mut text = constants::generate(tables, Style::Integers) + &constants::places(Style::Integers);
    for name in FUNCTIONS.lines().filter_map(|line| line.trim().strip_prefix("end subroutine ")) {
        let _ = writeln!(text, "  external :: {name}");
    }
    for name in old::names() {
        let _ = writeln!(text, "  external :: {name}");
    }
    text = replaced(text, &NUMBERS);
    let mut interfaces = String::new();
    for procedure in procedures(functions, Style::Integers, "")? {
        interfaces += &procedure.included()?;
    }
    let is_about = |line: &&str| !line.trim().trim_start_matches("end ").starts_with("interface");
    for line in OTHERS.lines().filter(is_about) {
        let _ = writeln!(interfaces, "{}", line.replace("_f08ts", ""));
    }
    text += &format!("  interface\n{}  end interface\n", replaced(interfaces, &NAMES));
    let head =
        "! Constants and interfaces, for both source forms. Written by `cargo xtask install`: do not edit.\n";
    Ok(head.to_owned() + &in_both_forms(&text))
}

fn replaced(text: String, names: &[(&str, &str)]) -> String {
    names.iter().fold(text, |text, (name, other)| text.replace(name, other))
}

/// The procedures outside of modules that the interfaces of the include file name.
pub(super) fn externals(functions: &[&Function]) -> Result<String, String> {
    let mut text = String::from(
        "! What mpif.h names beside the part in C. Written by `cargo xtask install`: do not edit.\n\n",
    );
    for procedure in procedures(functions, Style::Integers, "")? {
        if procedure.is_wrapped() {
            text += &procedure.external();
        }
    }
    for line in FUNCTIONS.lines() {
        let _ = writeln!(text, "{line}");
        if line.ends_with("ierror)") {
            text += &used("MPI_SUCCESS");
        }
    }
    text += &old::externals();
    Ok(with_integers(&text))
}

/// What a procedure outside of a module begins with.
pub(super) fn used(what: &str) -> String {
    let names = "MPI_ADDRESS_KIND, MPI_COUNT_KIND, MPI_OFFSET_KIND, MPI_STATUS_SIZE";
    let used = statement(4, &format!("use mpi, only: {names}, {what}"));
    format!("    use, intrinsic :: iso_c_binding, only: c_int\n{used}    implicit none\n")
}

impl Procedure<'_> {
    /// Its interface as it is included.
    fn included(&self) -> Result<String, String> {
        let name = self.name();
        Ok(if self.is_function() {
            self.c_function(&name)?
        } else if self.is_wrapped() {
            format!(
                "{}    import\n    implicit none\n{}    end subroutine\n",
                self.head(),
                self.declarations()
            )
        } else {
            // The pointer's type would have to be imported.
            with_addresses(&self.c_interface(&name))
        })
    }

    /// A procedure outside of modules that calls the module's.
    fn external(&self) -> String {
        let name = self.name();
        let call = statement(4, &format!("call inner({})", self.arguments().join(", ")));
        let used = used(&format!("inner => {name}"));
        format!("{}{used}{}{call}  end subroutine {name}\n\n", self.head(), self.declarations())
    }

    fn head(&self) -> String {
        statement(2, &format!("subroutine {}({})", self.name(), self.arguments().join(", ")))
    }

    fn declarations(&self) -> String {
        let present = self.parameters.iter().filter(|parameter| !matches!(parameter.class, Class::Absent(_)));
        let declared: String = present.map(|parameter| self.declaration(parameter)).collect();
        format!("{declared}      {} :: ierror\n", self.outcome())
    }
}

/// Lines of the free form in the columns that both forms have.
fn in_both_forms(text: &str) -> String {
    let mut lines = String::new();
    let mut whole = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with('!') {
            let _ = writeln!(lines, "{line}");
            continue;
        }
        match line.strip_suffix('&') {
            Some(start) => whole += start,
            None => {
                lines += &broken(&std::mem::take(&mut whole), line);
            }
        }
    }
    lines
}

/// A statement, broken at its blanks.
fn broken(start: &str, end: &str) -> String {
    let mut lines = String::new();
    let mut line = " ".repeat(6);
    for part in start.split_inclusive(' ').chain(end.split_inclusive(' ')) {
        if line.len() + part.trim_end().len() > LAST {
            // A blank on either side, so that no two words become one.
            let _ = writeln!(lines, "{:LAST$}&", line.trim_end());
            line = "     & ".to_owned();
        }
        line += part;
    }
    lines + line.trim_end() + "\n"
}
