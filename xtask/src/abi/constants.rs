//! The constants as Rust has them: `crates/rma-capi/src/abi/constants.rs`.

use super::tables::{Kind, Tables};
use std::fmt::Write;

const OPENING: &str = "\
//! The constants of the MPI 5.0 standard ABI. Written by `cargo xtask abi --write` from the tables in `abi/`.

#![allow(dead_code)] // the whole table, also what no call needs yet

use super::types::*;
use std::ffi::c_int;

";

/// The text of the file: handles have their type, addresses are numbers.
pub(super) fn generate(tables: &Tables) -> String {
    let mut text = OPENING.to_owned();
    for constant in &tables.constants {
        let (kind, value) = match &constant.kind {
            Kind::Int | Kind::Choice(_) => ("c_int", constant.text.clone()),
            Kind::Offset => ("MPI_Offset", constant.text.clone()),
            Kind::Handle(name) => (name.as_str(), format!("{name}({:#x})", constant.value)),
            Kind::Pointer(_) => ("usize", constant.text.clone()),
            Kind::Alias(of) => (kind_of(tables, of), of.clone()),
            Kind::TypeAlias(_) => continue,
        };
        let _ = writeln!(text, "pub(crate) const {}: {kind} = {value};", constant.name);
    }
    text
}

/// The Rust type of the constant that an alias stands for.
fn kind_of<'a>(tables: &'a Tables, name: &str) -> &'a str {
    match tables.constants.iter().find(|constant| constant.name == name).map(|constant| &constant.kind) {
        Some(Kind::Handle(handle)) => handle,
        Some(Kind::Pointer(_)) => "usize",
        Some(Kind::Offset) => "MPI_Offset",
        _ => "c_int",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_form() {
        let constants = "name\ttype\tvalue\nMPI_SUM\tMPI_Op\t0x00000021\nMPI_ANY_TAG\tint\t-2\n\
                         MPI_ORDER_C\tint\t0xC\nMPI_HERE\tMPI_Offset\t-1\nMPI_IN_PLACE\tvoid*\t1\nMPI_PLUS\talias\tMPI_SUM\n\
                         MPI_ABI_Count\talias\tMPI_ABI_Offset\n";
        let tables = Tables::parse(constants, "group\tname\treturns\tparameters\n").unwrap();
        assert_eq!(
            generate(&tables).strip_prefix(OPENING).unwrap(),
            "pub(crate) const MPI_SUM: MPI_Op = MPI_Op(0x21);\n\
             pub(crate) const MPI_ANY_TAG: c_int = -2;\n\
             pub(crate) const MPI_ORDER_C: c_int = 0xC;\n\
             pub(crate) const MPI_HERE: MPI_Offset = -1;\n\
             pub(crate) const MPI_IN_PLACE: usize = 1;\n\
             pub(crate) const MPI_PLUS: MPI_Op = MPI_SUM;\n"
        );
    }
}
