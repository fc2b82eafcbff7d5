//! Other MPI libraries from PyPI, each in a virtual environment of its own below the target directory: their packages put
//! files of the same names into the same places.

use crate::process::succeed;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The packages, which are the newest releases that their projects have built.
const PACKAGES: [&str; 2] = ["mpich", "openmpi"];

/// Installs or updates the packages.
pub(crate) fn install(target: &Path) -> Result<ExitCode, String> {
    for package in PACKAGES {
        let prefix = prefix(target, package);
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&prefix))?;
        succeed(Command::new(prefix.join("bin/python")).args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--upgrade",
            package,
        ]))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the installed ones lie.
pub(crate) fn installed(target: &Path) -> impl Iterator<Item = PathBuf> {
    PACKAGES.map(|package| prefix(target, package)).into_iter().filter(|prefix| prefix.is_dir())
}

fn prefix(target: &Path, package: &str) -> PathBuf {
    target.join("peers").join(package)
}
