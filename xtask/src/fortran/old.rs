//! The calls of MPI-1 that old programs have: in the module `mpi` and in `mpif.h`, with default integers for addresses and attributes.
//!
//! They are written by hand, each as a procedure of the module: a head, the declarations of its arguments, an empty line, and what it does.
//! `MPI_Address` is not among them, since no default integer holds an address.

use super::include::used;
use std::fmt::Write;

/// The procedures.
pub(super) const PROCEDURES: &str = include_str!("../../../crates/rma-capi/fortran/mpi1.inc");
/// The part in C that they call.
pub(super) const INTERFACE: &str = "  private :: abi_keyval_create
  interface
    subroutine abi_keyval_create(copy_fn, delete_fn, keyval, extra_state, ierror) bind(C)
      import
      implicit none
      type(c_funptr), value :: copy_fn, delete_fn
      integer(c_int), intent(out) :: keyval
      integer(c_int), intent(in) :: extra_state
      integer(c_int), intent(out) :: ierror
    end subroutine
  end interface

";

/// The names of the procedures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PROCEDURES.lines().filter_map(|line| line.strip_prefix("  end subroutine "))
}

/// Procedures outside of modules that call the module's.
pub(super) fn externals() -> String {
    let mut text = String::new();
    for procedure in PROCEDURES.split_inclusive("\n\n  subroutine ") {
        let procedure = procedure.trim_end_matches("  subroutine ").trim_start_matches("  subroutine ");
        let (declared, _) = procedure.split_once("\n\n").unwrap_or((procedure, ""));
        let (head, declarations) = declared.split_at(declared.find(")\n").map_or(0, |at| at + 2));
        let name = head.split('(').next().unwrap_or_default();
        let arguments = head[name.len()..].trim_end();
        let used = used(&format!("inner => {name}"));
        let _ = writeln!(
            text,
            "  subroutine {head}{used}{declarations}\n    call inner{arguments}\n  end subroutine {name}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi;
    use crate::workspace::Workspace;
    use std::collections::BTreeSet;

    #[test]
    fn every_removed_call_but_one_has_a_procedure() {
        let tables = abi::tables(&Workspace::find().unwrap()).unwrap();
        let is_old = |function: &&abi::Function| ["deprecated", "removed"].contains(&function.group.as_str());
        let removed = tables.functions.iter().filter(is_old);
        let mut removed: BTreeSet<&str> = removed.map(|function| function.name.as_str()).collect();
        assert!(removed.remove("MPI_Address"));
        let functions = ["MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"];
        assert_eq!(names().collect::<BTreeSet<_>>(), &removed | &BTreeSet::from(functions));
    }

    #[test]
    fn procedures_outside_of_modules_have_the_same_arguments() {
        let text = externals();
        for name in names() {
            assert!(text.contains(&format!("  subroutine {name}(")), "{name}");
            assert!(text.contains(&format!("inner => {name}\n")), "{name}");
            assert!(text.contains(&format!("  end subroutine {name}\n")), "{name}");
        }
        assert!(
            text.contains("    call inner(keyval, ierror)\n  end subroutine MPI_Keyval_free\n"),
            "{text}"
        );
        assert_eq!(text.matches("call inner(").count(), names().count());
    }
}
