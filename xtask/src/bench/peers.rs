//! Other MPI libraries from PyPI, each in a virtual environment of its own below the target directory: their packages put
//! files of the same names into the same places.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The packages, which are the newest releases that their projects have built.
const PACKAGES: [&str; 2] = ["mpich", "openmpi"];

/// Installs or updates the packages.
pub(crate) fn install(target: &Path) -> Result<ExitCode, String> {
    for package in PACKAGES {
        let prefix = prefix(target, package);
        run(Command::new("python3").args(["-m", "venv"]).arg(&prefix))?;
        run(Command::new(prefix.join("bin/python")).args([
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

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed: {status}")),
        Err(error) => Err(format!("{program} could not be started: {error}")),
    }
}
