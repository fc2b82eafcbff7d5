//! `rma(7)`: the library, and every variable that sets it.

use super::programs::{MANUAL, see_also, source};
use clap_mangen::roff::{Roff, bold, roman};
use rma::config::Configuration;
use rma_core::config::Unit;

pub(super) fn page() -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["rma", "7", "", &source(), MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman("rma - MPI one-sided communication")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "A library with the standard ABI of MPI 5.0 for programs that expose memory to each other and read, write and \
         update it. C and C++ programs are built with rmacc(1) and started with rmarun(1), or with any launcher that speaks \
         PMI-1. A program that was built for the standard ABI of another MPI runs with this library when the dynamic linker \
         finds libmpi_abi.so.1 of this one, for example through LD_LIBRARY_PATH. A program that is started without a \
         launcher is a job of one process. A function that mpi.h does not declare is not implemented.",
    )]);
    page.control("SH", ["ENVIRONMENT"]);
    page.text([roman(
        "All processes of a job need the same values. A value that is not legal ends the program with a message that says \
         what is legal. Numbers take the suffixes K, M and G, powers of 1024. rma-info(1) prints the values in force.",
    )]);
    for setting in Configuration::default().settings() {
        let row = setting.variable;
        let range = match row.unit {
            Unit::Switch | Unit::Choice => setting.range,
            Unit::Count | Unit::Bytes | Unit::Microseconds | Unit::Seconds => {
                format!("{}, {}", row.unit, setting.range)
            }
        };
        page.control("TP", []);
        page.text([bold(row.name), roman(format!(" = {}  ({range})", setting.default))]);
        page.text([roman(sentence(row.text))]);
        page.text([roman(format!("Default: {}.", row.reason))]);
    }
    see_also(&mut page, &["rmacc(1)", "rmarun(1)", "rma-info(1)"]);
    page.render().into_bytes()
}

/// A clause of a table as a sentence; one that begins with a value stays as it is.
fn sentence(clause: &str) -> String {
    let is_value = clause.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    let mut letters = clause.chars();
    match letters.next() {
        Some(first) if !is_value => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        _ => format!("{clause}."),
    }
}
