//! Where a suite is built and what of it, and the commands that all of them need.

use crate::process::succeed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Archives of a package's sources end so, before the name of their compression.
const ARCHIVE: &str = ".orig.tar";

/// Where a suite is built, against what, and what of it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) folder: PathBuf,
    pub(super) prefix: PathBuf,
    /// A part of the names of the tests to run; all without one.
    pub(super) name: Option<&'a str>,
    /// Where a suite does not say.
    pub(super) ranks: &'a [u32],
    /// A folder for each package of Debian whose sources are there.
    pub(super) sources: &'a [(String, PathBuf)],
}

impl Place<'_> {
    /// A program of the installation.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.prefix.join("bin").join(name)
    }

    /// Whether a test of this name is to be run.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.name.is_none_or(|part| name.contains(part))
    }

    /// The folder of a package's sources: one that was named, or else what Debian has.
    pub(super) fn sources(&self, package: &str) -> Result<PathBuf, String> {
        if let Some((_, folder)) = self.sources.iter().find(|(name, _)| name == package) {
            return std::path::absolute(folder).map_err(|error| error.to_string());
        }
        let archive = || {
            let names = std::fs::read_dir(&self.folder).ok()?.flatten().map(|entry| entry.file_name());
            let mut names = names.filter_map(|name| name.into_string().ok());
            names.find(|name| name.starts_with(&format!("{package}_")) && name.contains(ARCHIVE))
        };
        if archive().is_none() {
            let mut get = Command::new("apt-get");
            get.current_dir(&self.folder).args(["source", "--download-only", package]);
            let instead = format!("--sources {package}=DIR names a folder with the sources");
            succeed(&mut get)
                .map_err(|error| format!("{error}: where no source packages can be had, {instead}"))?;
        }
        let archive = archive().ok_or_else(|| format!("apt-get has brought no sources of {package}"))?;
        // What an archive unpacks into bears any name, so a folder is made for it.
        let folder = self.folder.join(format!("{package}-sources"));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if only_folder(&folder).is_none() {
            succeed(Command::new("tar").current_dir(&folder).arg("xf").arg(self.folder.join(archive)))?;
        }
        only_folder(&folder).ok_or_else(|| format!("{} has not one folder in it", folder.display()))
    }

    /// Python with a place of its own for packages.
    pub(super) fn python(&self) -> Result<PathBuf, String> {
        let folder = self.folder.join("python");
        if !folder.is_dir() {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        }
        Ok(folder.join("bin"))
    }

    /// The launcher with so many ranks, whose job ends after a time.
    pub(super) fn launch(&self, ranks: u32, limit_s: u32) -> Command {
        let mut command = Command::new(self.program("rmarun"));
        command.arg("--timeout").arg(limit_s.to_string()).arg("-n").arg(ranks.to_string());
        command.stdin(std::process::Stdio::null());
        command
    }
}

/// What a folder holds, if that is one folder.
fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.flatten();
    let only = entries.next()?.path();
    (entries.next().is_none() && only.is_dir()).then_some(only)
}

/// Runs a command and answers whether it was good, and all that it has said.
pub(super) fn said(command: &mut Command) -> Result<(bool, String), String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program} could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), text.into_owned()))
}

/// Runs a command, and answers with the end of what it has said when it fails.
pub(super) fn quietly(command: &mut Command) -> Result<(), String> {
    let (is_good, text) = said(command)?;
    if is_good { Ok(()) } else { Err(last_lines(&text, 20).join("\n")) }
}

/// The last lines of a text, as many at most.
pub(super) fn last_lines(text: &str, most: usize) -> Vec<&str> {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}

/// The package installer of a Python.
pub(super) fn pip(python: &Path) -> Command {
    let mut command = Command::new(python.join("python"));
    command.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
    command
}

/// Unpacks a file into a folder, unless the folder that comes of it is there.
pub(super) fn unpack(folder: &Path, file: &Path, into: &str) -> Result<PathBuf, String> {
    let made = folder.join(into);
    if !made.is_dir() {
        succeed(Command::new("tar").current_dir(folder).arg("xf").arg(file))?;
    }
    Ok(made)
}
