//! The command: builds everything, then installs it.

use super::files::{Content, Item, install};
use super::{packages, stub};
use crate::workspace::{INSTALLED, Workspace};
use crate::{Outcome, abi, fortran};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Build with optimization and install below a directory.
///
/// Installs the C library libmpi_abi.so.1, mpi.h, mpi-ext.h, mpix_rma.h, the compiler wrappers rmacc, rmacxx and rmafc, the launcher rmarun, rma-info, rma-trace,
/// files for pkg-config and CMake, and manual pages; for libraries that embed the engine librma.so.0 and rma.h, and for programs of other libraries rma-guest and librma_guest.so. The directory can be moved afterwards.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory to install below; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,

    /// Build without optimization, as tests are.
    #[arg(long)]
    dev: bool,

    /// Add the names mpicc, mpicxx, mpifort, mpif90, mpiexec and mpirun.
    #[arg(long)]
    mpi_names: bool,
}

/// What is built: packages, and programs in them.
const PACKAGES: [&str; 5] = ["rma-mpi", "rma-capi", "rma-embed", "rma-guest", "rma-tools"];
const PROGRAMS: [&str; 7] = ["rmacc", "rmacxx", "rmafc", "rmarun", "rma-guest", "rma-info", "rma-trace"];
/// Writes the manual pages; not installed.
const MANUAL: &str = "rma-man";
/// As cargo names it.
const LIBRARY: &str = "libmpi_abi.so";
/// The engine for embedders: as cargo names it, what programs look for, and what linkers do.
const EMBED: [&str; 3] = ["librma_embed.so", "librma.so.0", "librma.so"];
/// What programs of other libraries load in front of them; it looks for [`LIBRARY`] beside itself.
const GUEST: &str = "librma_guest.so";
/// The header of the engine for embedders.
const EMBED_HEADER: &str = "crates/rma-embed/include/rma.h";
/// What programs include for what is no part of the standard.
const EXTENSIONS_HEADER: &str = "crates/rma-capi/include/mpi-ext.h";
const NOTIFICATION_HEADER: &str = "crates/rma-capi/include/mpix_rma.h";
/// What the programs are called where MPI is looked for.
const MPI_NAMES: [(&str, &str); 6] = [
    ("mpicc", "rmacc"),
    ("mpicxx", "rmacxx"),
    ("mpifort", "rmafc"),
    ("mpif90", "rmafc"),
    ("mpiexec", "rmarun"),
    ("mpirun", "rmarun"),
];

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let prefix = std::path::absolute(&args.prefix)
        .map_err(|error| format!("--prefix {}: {error}", args.prefix.display()))?;
    let status = if args.dev { workspace.build_all().status() } else { build(workspace).status() };
    if !status.map_err(|error| format!("cargo build could not be started: {error}"))?.success() {
        return Ok(ExitCode::FAILURE);
    }
    let built = workspace.target().join(if args.dev { "debug" } else { INSTALLED });
    let mut items = programs(&built)?;
    items.extend(library(workspace, &built)?);
    items.extend(fortran(workspace)?);
    items.extend(embed(workspace, &built)?);
    let guest = Content::Program(read(&built.join(GUEST))?);
    items.push(Item { path: format!("lib/{GUEST}"), content: guest });
    items.extend(manual(&built, &workspace.target().join("man"))?);
    items.extend(package_files());
    if args.mpi_names {
        items.extend(MPI_NAMES.map(|(name, program)| link(&format!("bin/{name}"), program)));
    }
    install(&prefix, &items)?;
    print!("{}", farewell(&prefix, items.len()));
    Ok(ExitCode::SUCCESS)
}

fn build(workspace: &Workspace) -> Command {
    let mut build = workspace.build_installed();
    build.args(["--lib", "--features", "rma-mpi/launcher"]);
    build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    build.args(PROGRAMS.iter().chain([&MANUAL]).flat_map(|program| ["--bin", program]));
    build
}

fn programs(built: &Path) -> Result<Vec<Item>, String> {
    PROGRAMS
        .iter()
        .map(|name| {
            Ok(Item { path: format!("bin/{name}"), content: Content::Program(read(&built.join(name))?) })
        })
        .collect()
}

/// The library with its header, and beside it what programs are linked with: see [`stub`].
fn library(workspace: &Workspace, built: &Path) -> Result<Vec<Item>, String> {
    let file = built.join(LIBRARY);
    let header = abi::header_of(workspace, &file)?;
    let extensions = read(&workspace.root().join(EXTENSIONS_HEADER))?;
    let notification = read(&workspace.root().join(NOTIFICATION_HEADER))?;
    let stub = stub::build(&abi::implemented_in(workspace, &file)?, &workspace.target().join("stub"))?;
    Ok(vec![
        Item { path: format!("lib/{}", abi::SONAME), content: Content::Program(read(&file)?) },
        link(&format!("lib/{LIBRARY}"), abi::SONAME),
        Item { path: format!("lib/link/{LIBRARY}"), content: Content::Program(stub) },
        link(&format!("lib/link/{}", abi::SONAME), "../libmpi_abi.so.1"),
        Item { path: "include/mpi.h".to_owned(), content: Content::Data(header.into_bytes()) },
        Item { path: "include/mpi-ext.h".to_owned(), content: Content::Data(extensions) },
        Item { path: "include/mpix_rma.h".to_owned(), content: Content::Data(notification) },
    ])
}

/// The sources of Fortran's part, which `rmafc` compiles where it is used.
fn fortran(workspace: &Workspace) -> Result<Vec<Item>, String> {
    let sources = fortran::sources(&abi::tables(workspace)?)?.into_iter();
    let folder = |name| if name == fortran::INCLUDED { "include" } else { "share/rma/fortran" };
    let item = |source: fortran::Source| Item {
        path: format!("{}/{}", folder(source.name), source.name),
        content: Content::Data(source.text.into_bytes()),
    };
    Ok(sources.map(item).collect())
}

/// The engine for embedders, and its header.
fn embed(workspace: &Workspace, built: &Path) -> Result<Vec<Item>, String> {
    let [built_name, soname, name] = EMBED;
    let header = read(&workspace.root().join(EMBED_HEADER))?;
    Ok(vec![
        Item { path: format!("lib/{soname}"), content: Content::Program(read(&built.join(built_name))?) },
        link(&format!("lib/{name}"), soname),
        Item { path: "include/rma.h".to_owned(), content: Content::Data(header) },
    ])
}

/// The pages, written to a scratch directory by the program that knows them.
fn manual(built: &Path, scratch: &Path) -> Result<Vec<Item>, String> {
    let failed = |error| format!("{}: {error}", scratch.display());
    if scratch.exists() {
        std::fs::remove_dir_all(scratch).map_err(failed)?;
    }
    let status = Command::new(built.join(MANUAL)).arg(scratch).status();
    if !status.map_err(|error| format!("{MANUAL} could not be started: {error}"))?.success() {
        return Err("the manual pages could not be written".to_owned());
    }
    let mut items = Vec::new();
    for section in std::fs::read_dir(scratch).map_err(failed)? {
        let section = section.map_err(failed)?;
        for page in std::fs::read_dir(section.path()).map_err(failed)? {
            let page = page.map_err(failed)?;
            let names =
                [section.file_name(), page.file_name()].map(|name| name.to_string_lossy().into_owned());
            let path = format!("share/man/{}", names.join("/"));
            items.push(Item { path, content: Content::Data(read(&page.path())?) });
        }
    }
    Ok(items)
}

fn package_files() -> Vec<Item> {
    let version = env!("CARGO_PKG_VERSION");
    let data =
        |path: &str, text: String| Item { path: path.to_owned(), content: Content::Data(text.into_bytes()) };
    vec![
        data("lib/pkgconfig/rma.pc", packages::pkg_config(version)),
        data("lib/pkgconfig/rma-embed.pc", packages::pkg_config_of_embed(version)),
        data("lib/cmake/rma/rma-config.cmake", packages::cmake_config().to_owned()),
        data("lib/cmake/rma/rma-config-version.cmake", packages::cmake_version(version)),
    ]
}

fn link(path: &str, target: &'static str) -> Item {
    Item { path: path.to_owned(), content: Content::Link(target) }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What to do next.
fn farewell(prefix: &Path, files: usize) -> String {
    let folder = prefix.join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut text = format!("{files} files installed below {}\n", prefix.display());
    if !std::env::split_paths(&path).any(|entry| entry == folder) {
        text += &format!("export PATH={}:$PATH\n", for_a_shell(&folder));
    }
    text + "rmacc prog.c -o prog && rmarun -n 4 ./prog\n"
}

/// A path as one word of a shell's line.
fn for_a_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_alphanumeric() || "-_+.,/:@%".contains(char);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_one_of_the_packages() {
        let workspace = Workspace::find().unwrap();
        for program in PROGRAMS.iter().chain([&MANUAL]) {
            let packages =
                workspace.packages().iter().filter(|package| PACKAGES.contains(&package.name.as_str()));
            let mut programs = packages.flat_map(|package| &package.programs);
            assert!(programs.any(|known| known.name == *program), "{program}");
        }
    }

    #[test]
    fn the_farewell_says_how_to_go_on() {
        let text = farewell(Path::new("/no/such/prefix"), 3);
        assert!(text.contains("3 files") && text.contains("export PATH=/no/such/prefix/bin:$PATH"), "{text}");
        let text = farewell(Path::new("/no/one's prefix"), 3);
        assert!(text.contains(r"export PATH='/no/one'\''s prefix/bin':$PATH"), "{text}");
    }
}
