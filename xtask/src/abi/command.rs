//! The command: builds the library, compares, and with `--write` writes what is generated.

use super::library::Library;
use super::signatures::Compared;
use super::tables::Tables;
use super::unsupported::Unsupported;
use super::{constants, header, probe, unsupported};
use crate::Outcome;
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const PACKAGE: &str = "rma-capi";
/// As cargo names it.
const LIBRARY: &str = "libmpi_abi.so";
/// What says first how many functions there are.
const FIRST_PAGE: &str = "README.md";

/// Check the C library against the tables of the ABI, or write the files that come from them.
///
/// Builds the library, then compares its exported names, the parameters of its functions, its header and its constants with
/// crates/rma-capi/abi, and the header with what the C and C++ compilers make of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the constants and the header instead of comparing them.
    #[arg(long)]
    write: bool,

    /// Name the functions of MPI that are not implemented or not supported, not only their numbers.
    #[arg(long)]
    missing: bool,
}

/// Where things lie.
#[derive(Debug)]
struct Places {
    constants: PathBuf,
    unsupported: PathBuf,
    include: PathBuf,
    header: PathBuf,
    library: PathBuf,
    scratch: PathBuf,
}

/// `others` finds what is wrong with what else is written from the tables.
pub(crate) fn run(workspace: &Workspace, args: &Args, others: fn(&Tables) -> Vec<String>) -> Outcome {
    let crate_directory = workspace.root().join("crates").join(PACKAGE);
    let places = Places {
        constants: crate_directory.join("src/abi/constants.rs"),
        unsupported: crate_directory.join("src/calls/unsupported/names.rs"),
        include: crate_directory.join("include"),
        header: crate_directory.join("include/mpi.h"),
        library: workspace.target().join("debug").join(LIBRARY),
        scratch: workspace.target().join("abi"),
    };
    let tables = tables(workspace)?;

    let unsupported = unsupported(workspace, &tables)?;
    let mut findings = Vec::new();
    findings.extend(settle(&places.constants, &constants::generate(&tables), args.write)?);
    findings.extend(settle(&places.unsupported, &unsupported::generate(&unsupported), args.write)?);
    let status = workspace.build_all().status();
    if !status.map_err(|error| format!("cargo build could not be started: {error}"))?.success() {
        return Ok(ExitCode::FAILURE);
    }
    let mut compared = Compared::default();
    entry_points(&tables, &crate_directory.join("src"), &mut compared)?;
    findings.append(&mut compared.findings);
    let library = Library::read(&places.library)?;
    let implemented = library.implemented(&tables);
    findings.extend(library.findings(&tables, &unsupported));
    findings.extend(uncounted(&read(&workspace.root().join(FIRST_PAGE))?, &implemented));
    findings.extend(others(&tables));
    findings.extend(unsupported::missing(&unsupported, &library.exports));
    findings.extend(settle(
        &places.header,
        &header::generate(&tables, &implemented, &unsupported),
        args.write,
    )?);
    std::fs::create_dir_all(&places.scratch)
        .map_err(|error| format!("{}: {error}", places.scratch.display()))?;
    findings.extend(probe::findings(
        &tables,
        &implemented,
        &places.include,
        &places.library,
        &places.scratch,
    )?);

    println!("{}", missing(&tables, &implemented, args.missing));
    println!("{}", unsupported::summary(&unsupported, args.missing));
    if findings.is_empty() {
        println!(
            "{} constants, {} functions, the parameters of {}: as the tables say",
            tables.constants.len(),
            implemented.len(),
            compared.count
        );
        return Ok(ExitCode::SUCCESS);
    }
    findings.iter().for_each(|finding| println!("{finding}"));
    Err(format!("{} differences from the ABI", findings.len()))
}

/// A finding when the first page has another number of functions.
fn uncounted(page: &str, implemented: &BTreeSet<String>) -> Option<String> {
    let count = implemented.iter().filter(|name| name.starts_with("MPI_")).count();
    let says = format!("{count} functions");
    (!page.contains(&says)).then(|| format!("{FIRST_PAGE} does not say that the library has {says} of MPI"))
}

/// The functions of the table that a built library exports.
pub(crate) fn implemented_in(workspace: &Workspace, library: &Path) -> Result<BTreeSet<String>, String> {
    Ok(Library::read(library)?.implemented(&tables(workspace)?))
}

/// The header for what a built library exports.
pub(crate) fn header_of(workspace: &Workspace, library: &Path) -> Result<String, String> {
    let (tables, library) = (tables(workspace)?, Library::read(library)?);
    let unsupported = unsupported(workspace, &tables)?;
    Ok(header::generate(&tables, &library.implemented(&tables), &unsupported))
}

/// The tables, read.
pub(crate) fn tables(workspace: &Workspace) -> Result<Tables, String> {
    let directory = workspace.root().join("crates").join(PACKAGE).join("abi");
    let table = |name: &str| read(&directory.join(name));
    Tables::parse(&table("constants.tsv")?, &table("functions.tsv")?)?.with_types(&table("types.tsv")?)
}

fn unsupported(workspace: &Workspace, tables: &Tables) -> Result<Vec<Unsupported>, String> {
    let path = workspace.root().join("crates").join(PACKAGE).join("abi/unsupported.tsv");
    unsupported::parse(&read(&path)?, tables)
}

/// Compares the entry points in the sources below a directory with the table.
fn entry_points(tables: &Tables, directory: &Path, compared: &mut Compared) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", directory.display());
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            entry_points(tables, &path, compared)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            compared.add(tables, &path.display().to_string(), &read(&path)?);
        }
    }
    Ok(())
}

/// Writes a generated file, or says how it differs.
fn settle(path: &Path, text: &str, write: bool) -> Result<Option<String>, String> {
    let is = std::fs::read_to_string(path).unwrap_or_default();
    if is == text {
        return Ok(None);
    }
    if !write {
        return Ok(Some(format!(
            "{} is not what the tables and the library give: {} (cargo xtask abi --write)",
            path.display(),
            first_difference(&is, text)
        )));
    }
    let failed = |error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    std::fs::write(path, text).map_err(failed)?;
    println!("wrote {}", path.display());
    Ok(None)
}

fn first_difference(is: &str, should: &str) -> String {
    let (mut left, mut right) = (is.lines(), should.lines());
    for number in 1.. {
        let (is, should) = (left.next(), right.next());
        if is != should || is.is_none() {
            let show = |line: Option<&str>| line.map_or("nothing".to_owned(), |line| format!("{line:?}"));
            return format!("line {number} is {}, not {}", show(is), show(should));
        }
    }
    unreachable!("the loop has no end of its own")
}

/// What of the table is not there yet.
fn missing(tables: &Tables, implemented: &BTreeSet<String>, names: bool) -> String {
    let missing: Vec<_> =
        tables.functions.iter().filter(|function| !implemented.contains(&function.name)).collect();
    if missing.is_empty() {
        return "every function of the table is implemented".to_owned();
    }
    let mut text = format!("not implemented: {} of {} functions", missing.len(), tables.functions.len());
    let mut groups: Vec<_> = missing.iter().map(|function| function.group.as_str()).collect();
    groups.dedup();
    for group in groups {
        let names_of: Vec<_> =
            missing.iter().filter(|function| function.group == group).map(|f| f.name.as_str()).collect();
        text += &format!("\n  {group}: {}", names_of.len());
        if names {
            text += &format!(" ({})", names_of.join(", "));
        }
    }
    text
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_has_the_number_of_functions() {
        let names = ["MPI_Put", "MPI_Get", "MPIX_Put_notify"].map(str::to_owned);
        let implemented = BTreeSet::from(names);
        assert_eq!(uncounted("all of it: 2 functions", &implemented), None);
        assert!(uncounted("all of it: 3 functions", &implemented).unwrap().contains("2 functions"));
    }

    #[test]
    fn what_is_missing_is_counted_and_named() {
        let functions = "group\tname\treturns\tparameters\nrma\tMPI_Put\tint\tint a\nrma\tMPI_Get\tint\tint b\n\
                         time\tMPI_Wtime\tdouble\tvoid\n";
        let tables = Tables::parse("name\ttype\tvalue\n", functions).unwrap();
        let some = BTreeSet::from(["MPI_Put".to_owned()]);
        assert_eq!(missing(&tables, &some, false), "not implemented: 2 of 3 functions\n  rma: 1\n  time: 1");
        assert!(missing(&tables, &some, true).contains("rma: 1 (MPI_Get)"));
        let all = tables.functions.iter().map(|function| function.name.clone()).collect();
        assert_eq!(missing(&tables, &all, false), "every function of the table is implemented");
    }

    #[test]
    fn a_stale_file_is_told_by_its_first_line() {
        let path = std::env::temp_dir().join(format!("rma-abi-stale-{}", std::process::id()));
        std::fs::write(&path, "a\nb\n").unwrap();
        assert_eq!(settle(&path, "a\nb\n", false), Ok(None));
        let finding = settle(&path, "a\nc\n", false).unwrap().unwrap();
        assert!(finding.contains("line 2 is \"b\", not \"c\""), "{finding}");
        let finding = settle(&path, "a\nb\nc\n", false).unwrap().unwrap();
        assert!(finding.contains("line 3 is nothing, not \"c\""), "{finding}");
        assert_eq!(settle(&path, "new\n", true), Ok(None));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
        std::fs::remove_file(&path).unwrap();
    }
}
