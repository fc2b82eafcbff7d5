//! What to run, and against which installation.

use super::place::Place;
use super::{arrays, crates, mpi4py, mpich, petsc};
use crate::Outcome;
use crate::process::succeed;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Build suites of others against this library and run them: minutes each, and a network is needed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Suites: mpi4py needs Python 3.11 or later with venv and pip, as do arrays (Global Arrays) and petsc; mpich, arrays and petsc take their sources from Debian, petsc also BLAS; crates needs libclang.
    #[arg(
        long,
        value_name = "SUITE",
        value_delimiter = ',',
        default_value = "mpi4py,mpich,crates,arrays,petsc"
    )]
    suite: Vec<Suite>,

    /// Numbers of ranks, where a suite does not say.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4])]
    ranks: Vec<u32>,

    /// An installation to use; otherwise one is made below the target directory.
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,

    /// Unpacked sources of a package of Debian (mpich, ga or petsc), instead of those that apt-get brings.
    #[arg(long, value_name = "PACKAGE=DIR", value_parser = sources)]
    sources: Vec<(String, PathBuf)>,

    /// Only tests, or modules of them, whose name has this in it.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    Mpi4py,
    Mpich,
    Crates,
    Arrays,
    Petsc,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let folder = workspace.target().join("programs");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let prefix = match &args.prefix {
        Some(prefix) => std::path::absolute(prefix).map_err(|error| error.to_string())?,
        None => {
            let prefix = folder.join("prefix");
            let xtask = std::env::current_exe().map_err(|error| error.to_string())?;
            succeed(Command::new(xtask).arg("install").arg("--prefix").arg(&prefix))?;
            prefix
        }
    };
    let Args { name, ranks, sources, .. } = args;
    let place = Place { folder, prefix, name: name.as_deref(), ranks, sources };
    let mut is_good = true;
    for suite in &args.suite {
        is_good &= match suite {
            Suite::Mpi4py => mpi4py::run(&place)?,
            Suite::Mpich => mpich::run(&place)?,
            Suite::Crates => crates::run(&place)?,
            Suite::Arrays => arrays::run(&place)?,
            Suite::Petsc => petsc::run(&place)?,
        };
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A package and a folder.
fn sources(given: &str) -> Result<(String, PathBuf), String> {
    let (package, folder) = given.split_once('=').ok_or("a package, =, and a folder are wanted")?;
    Ok((package.to_owned(), folder.into()))
}

#[cfg(test)]
mod tests {
    use super::super::outcomes::known;
    use super::*;

    #[test]
    fn every_known_failure_has_a_reason() {
        for table in [mpi4py::KNOWN, mpich::KNOWN, crates::KNOWN, arrays::KNOWN, petsc::KNOWN] {
            assert!(known(table).unwrap().values().all(|reason| reason.len() > 10));
        }
    }
}
