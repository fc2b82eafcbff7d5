//! What cargo knows about this workspace: where it lies, its packages, their programs and dependencies.
//!
//! Everything comes from one `cargo metadata` without dependency resolution, so it needs no network and no lock file.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The launcher, a bin of the package `rma-mpi`.
pub(crate) const LAUNCHER: &str = "rmarun";

/// The profile that installed files are built with.
pub(crate) const INSTALLED: &str = "installed";
/// Each function begins on a line of the cache there. Elsewhere a call on mapped memory takes up to a tenth more or less time with each change of
/// code before it.
const ALIGNED: &str = r#"build.rustflags=["-C", "llvm-args=-align-all-functions=6"]"#;

/// The workspace as cargo describes it.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name in cargo.
    pub(crate) name: String,
    /// Its manifest, relative to the root of the workspace.
    pub(crate) manifest: String,
    /// What can be run of it.
    pub(crate) programs: Vec<Program>,
    /// Names of the packages it depends on that are not part of this workspace, in any role.
    pub(crate) third_party: Vec<String>,
}

/// Something of a package that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Name of the executable.
    pub(crate) name: String,
    /// Whether it is an example; otherwise it is a bin.
    pub(crate) is_example: bool,
}

impl Workspace {
    /// The workspace that cargo runs this program for, or was built from when it is started without cargo.
    pub(crate) fn find() -> Result<Self, String> {
        // The manifest's directory is `<root>/xtask`. A target directory that is shared or moved may hold the program of another clone.
        let manifest =
            std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().ok_or("xtask lies at the root of a file system")?;
        let json = metadata(root, &["--no-deps"])?;
        Self::from_metadata(&json).ok_or_else(|| "cargo metadata lacks a field".to_owned())
    }

    /// What cargo knows of this workspace.
    pub(crate) fn metadata(&self, arguments: &[&str]) -> Result<Value, String> {
        metadata(&self.root, arguments)
    }

    fn from_metadata(json: &Value) -> Option<Self> {
        let root = PathBuf::from(json["workspace_root"].as_str()?);
        let packages = json["packages"]
            .as_array()?
            .iter()
            .map(|p| Package::from_metadata(p, &root))
            .collect::<Option<_>>()?;
        Some(Self { target: json["target_directory"].as_str()?.into(), packages, root })
    }

    /// The directory of the workspace's manifest.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory that cargo builds into.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The members.
    pub(crate) fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// A cargo command on this workspace; the current directory stays the caller's.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        cargo(&self.root, subcommand)
    }

    /// A build of the launcher, to which more can be added. The feature that has it is none of what a program depends on. With the name of
    /// its package before it, cargo takes it for one of what the package's tests depend on, which is the package itself.
    pub(crate) fn build_launcher(&self) -> Command {
        let mut build = self.cargo("build");
        build.args(["--package", "rma-mpi", "--features", "launcher", "--bin", LAUNCHER]);
        build
    }

    /// A build of what is installed, to which the packages are to be added.
    pub(crate) fn build_installed(&self) -> Command {
        let mut build = self.cargo("build");
        build.args(["--profile", INSTALLED, "--config", ALIGNED]);
        build
    }

    /// Builds all that is not a test, for development. What is built of one package alone has other features of its dependencies, and
    /// so has all of them built once more.
    pub(crate) fn build_all(&self) -> Command {
        let mut build = self.cargo("build");
        build.args(["--workspace", "--lib", "--bins", "--examples"]);
        build
    }
}

impl Package {
    fn from_metadata(json: &Value, root: &Path) -> Option<Self> {
        let manifest = Path::new(json["manifest_path"].as_str()?);
        let mut programs = Vec::new();
        for target in json["targets"].as_array()? {
            let kinds = target["kind"].as_array()?;
            let is = |kind: &str| kinds.iter().any(|k| k.as_str() == Some(kind));
            if is("bin") || is("example") {
                programs
                    .push(Program { name: target["name"].as_str()?.to_owned(), is_example: is("example") });
            }
        }
        let mut third_party: Vec<String> = json["dependencies"]
            .as_array()?
            .iter()
            .filter(|dependency| dependency["path"].is_null())
            .map(|dependency| Some(dependency["name"].as_str()?.to_owned()))
            .collect::<Option<_>>()?;
        third_party.sort();
        third_party.dedup();
        Some(Self {
            name: json["name"].as_str()?.to_owned(),
            manifest: manifest.strip_prefix(root).ok()?.to_str()?.to_owned(),
            programs,
            third_party,
        })
    }
}

/// A cargo command on the workspace at `root`, with the environment as the user set it: `cargo run`, which started this
/// program, has added variables about the package xtask that do not concern what is built next.
fn cargo(root: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").as_deref().unwrap_or(OsStr::new("cargo")));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_NAME", "CARGO_CRATE_NAME"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(&*name);
        }
    }
    command.arg(subcommand).arg("--manifest-path").arg(root.join("Cargo.toml"));
    command
}

fn metadata(root: &Path, arguments: &[&str]) -> Result<Value, String> {
    let mut metadata = cargo(root, "metadata");
    metadata.args(["--format-version", "1"]).args(arguments).stderr(Stdio::inherit());
    let output =
        metadata.output().map_err(|error| format!("cargo metadata could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed ({})", output.status));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata printed what is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_gives_programs_and_third_party_dependencies() {
        let json = serde_json::json!({
            "workspace_root": "/w",
            "target_directory": "/t",
            "packages": [{
                "name": "a",
                "manifest_path": "/w/crates/a/Cargo.toml",
                "targets": [
                    { "name": "a", "kind": ["lib"] },
                    { "name": "prog", "kind": ["bin"] },
                    { "name": "show", "kind": ["example"] },
                ],
                "dependencies": [
                    { "name": "slab" },
                    { "name": "b", "path": "/w/crates/b" },
                    { "name": "mio", "kind": "dev" },
                    { "name": "mio" },
                ],
            }],
        });
        let workspace = Workspace::from_metadata(&json).unwrap();
        assert_eq!(workspace.target(), Path::new("/t"));
        let [package] = workspace.packages() else { panic!("one package") };
        assert_eq!(package.manifest, "crates/a/Cargo.toml");
        assert_eq!(package.third_party, ["mio", "slab"]);
        assert_eq!(
            package.programs,
            [
                Program { name: "prog".to_owned(), is_example: false },
                Program { name: "show".to_owned(), is_example: true }
            ]
        );
        assert!(Workspace::from_metadata(&serde_json::json!({ "packages": [] })).is_none());
    }

    #[test]
    fn this_workspace_is_found() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.packages().iter().any(|p| p.name == "xtask" && p.manifest == "xtask/Cargo.toml"));
    }
}
