//! Section 1: the programs.

use crate::{guest, info, timeline};
use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use std::io;

/// Of all pages.
pub(super) const MANUAL: &str = "rma manual";

pub(super) fn source() -> String {
    format!("rma {}", env!("CARGO_PKG_VERSION"))
}

pub(super) fn rmarun() -> io::Result<Vec<u8>> {
    let mut rest = Roff::new();
    rest.control("SH", ["NOTES"]);
    rest.text([roman(
        "Lines of different ranks are never mixed. Rank 0 has the launcher's standard input, the others read its end. \
         Signals that end, stop or continue the launcher, and SIGUSR2, reach all ranks; SIGUSR1 has the launcher say what they \
         wait for. Whatever the \
         ranks have started ends with the job, also when the launcher is killed.",
    )]);
    see_also(&mut rest, &["rmacc(1)", "rma-info(1)", "rma(7)"]);
    page(rma::launch::Options::command(), &rest)
}

pub(super) fn rma_info() -> io::Result<Vec<u8>> {
    let mut rest = Roff::new();
    see_also(&mut rest, &["rmarun(1)", "rma(7)"]);
    page(info::InfoOptions::command(), &rest)
}

pub(super) fn rma_guest() -> io::Result<Vec<u8>> {
    let mut rest = Roff::new();
    see_also(&mut rest, &["rma-info(1)", "rma(7)"]);
    page(guest::GuestOptions::command(), &rest)
}

pub(super) fn rma_trace() -> io::Result<Vec<u8>> {
    let mut rest = Roff::new();
    see_also(&mut rest, &["rmarun(1)", "rma(7)"]);
    page(timeline::TimelineOptions::command(), &rest)
}

/// A page for a program whose command line clap reads, with these sections at its end.
fn page(command: clap::Command, rest: &Roff) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).manual(MANUAL).source(source()).render(&mut page)?;
    rest.to_writer(&mut page)?;
    Ok(page)
}

/// The wrappers read no command line of their own, so this page is written by hand.
pub(super) fn rmacc() -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["rmacc", "1", "", &source(), MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman(
        "rmacc, rmacxx, rmafc - compile and link C, C++ and Fortran programs of the rma library",
    )]);
    page.control("SH", ["SYNOPSIS"]);
    page.text([bold("rmacc"), roman(" [-cc="), italic("COMPILER"), roman("] "), italic("ARGUMENTS")]);
    page.control("br", []);
    page.text([bold("rmacxx"), roman(" [-cxx="), italic("COMPILER"), roman("] "), italic("ARGUMENTS")]);
    page.control("br", []);
    page.text([bold("rmafc"), roman(" [-fc="), italic("COMPILER"), roman("] "), italic("ARGUMENTS")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "Runs the compiler with all arguments, in order and unchanged, and adds what programs of the library need: behind \
         them the directory of mpi.h, and when something is linked the library and the directory where it is found when \
         the program runs. LD_LIBRARY_PATH overrides that directory. The exit status is the compiler's. The wrapper finds \
         the library from its own place, so an installation can be moved. rmafc compiles the module mpi_f08 when a compiler \
         is first used: below lib/fortran of the installation, or in the user's cache.",
    )]);
    page.control("SH", ["OPTIONS"]);
    page.text([roman("All options are the compiler's, but for these:")]);
    for (option, text) in [
        ("-cc=COMPILER, -cxx=COMPILER, -fc=COMPILER", "Use this compiler; words are separated by spaces."),
        ("-show", "Print the command instead of running it; also -showme."),
        ("-compile-info, -link-info", "Print the compiler and what it gets for compiling, or for linking."),
        ("-showme:compile, -showme:link", "Print only what is added for compiling, or for linking."),
        (
            "-showme:incdirs, -showme:libdirs, -showme:libs",
            "Print the directory of the header, that of the library, or the library's name.",
        ),
    ] {
        page.control("TP", []);
        page.text([bold(option)]);
        page.text([roman(text)]);
    }
    page.control("SH", ["ENVIRONMENT"]);
    for (name, text) in [
        ("RMA_CC", "The C compiler, with arguments if need be; cc otherwise. -cc= comes first."),
        ("RMA_CXX", "The C++ compiler; c++ otherwise. -cxx= comes first."),
        (
            "RMA_FC",
            "The Fortran compiler; the first of gfortran, flang, flang-new and ifx otherwise. -fc= comes first.",
        ),
    ] {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(text)]);
    }
    page.control("SH", ["EXAMPLES"]);
    for line in [
        "rmacc -O2 prog.c -o prog && rmarun -n 4 ./prog",
        "./configure CC=rmacc",
        "cmake -DCMAKE_C_COMPILER=rmacc ..   # or find_package(MPI) with -DMPI_C_COMPILER=rmacc",
    ] {
        page.control("PP", []);
        page.control("EX", []);
        page.text([roman(line)]);
        page.control("EE", []);
    }
    see_also(&mut page, &["rmarun(1)", "rma(7)"]);
    page.render().into_bytes()
}

pub(super) fn see_also(page: &mut Roff, pages: &[&str]) {
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(pages.join(", "))]);
}
