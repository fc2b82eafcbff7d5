//! What to run, and against which installation.

use super::place::Place;
use super::{crates, mpi4py, mpich};
use crate::Outcome;
use crate::process::succeed;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Build suites of others against this library and run them: minutes each, and a network is needed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Suites: mpi4py needs Python 3.11 or later with venv and pip; mpich takes its sources from Debian; crates needs libclang.
    #[arg(long, value_name = "SUITE", value_delimiter = ',', default_value = "mpi4py,mpich,crates")]
    suite: Vec<Suite>,

    /// Numbers of ranks, where a suite does not say.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4])]
    ranks: Vec<u32>,

    /// An installation to use; otherwise one is made below the target directory.
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,

    /// MPICH's sources, unpacked; otherwise those of Debian's package.
    #[arg(long, value_name = "DIR")]
    mpich: Option<PathBuf>,

    /// Only tests, or modules of them, whose name has this in it.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    Mpi4py,
    Mpich,
    Crates,
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
    let Args { name, ranks, mpich, .. } = args;
    let place = Place { folder, prefix, name: name.as_deref(), ranks, mpich: mpich.as_deref() };
    let mut is_good = true;
    for suite in &args.suite {
        is_good &= match suite {
            Suite::Mpi4py => mpi4py::run(&place)?,
            Suite::Mpich => mpich::run(&place)?,
            Suite::Crates => crates::run(&place)?,
        };
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::super::place::known;
    use super::*;

    #[test]
    fn every_known_failure_has_a_reason() {
        for table in [mpi4py::KNOWN, mpich::KNOWN, crates::KNOWN] {
            assert!(known(table).unwrap().values().all(|reason| reason.len() > 10));
        }
    }
}
