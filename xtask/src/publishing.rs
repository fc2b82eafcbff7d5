//! `cargo xtask package`: what would be published, as it would be.
//!
//! Knows nothing of a registry's account: it packs, and at wish builds what it has packed. Works without a network.

use crate::Outcome;
use crate::workspace::Workspace;
use serde_json::Value;
use std::process::{Command, ExitCode};

/// What an index shows of a package, and what tells its user how to use it.
const FIELDS: [&str; 6] = ["description", "license", "readme", "documentation", "rust_version", "edition"];
const LISTS: [&str; 2] = ["keywords", "categories"];
/// What lies in each package beside its code.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Pack the crates that are published, each after those that it depends on, and check what an index asks of them.
///
/// Nothing is sent anywhere. The packages lie in target/package then.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also build each package from what was packed, and check everything with the oldest compiler that they promise to build with,
    /// where rustup has it.
    #[arg(long)]
    build: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let metadata = metadata(workspace)?;
    let findings = findings(workspace, &metadata)?;
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    let is_packed = pack(workspace, &metadata, args.build)?;
    let is_good =
        findings.is_empty() && is_packed && (!args.build || is_good_for_oldest(workspace, &metadata)?);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What cargo knows of this workspace and of all that it depends on, on this machine.
fn metadata(workspace: &Workspace) -> Result<Value, String> {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    workspace.metadata(&["--offline", "--filter-platform", &host])
}

/// The packages that are published, as cargo knows them.
fn published(metadata: &Value) -> impl Iterator<Item = &Value> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.filter(|package| package["source"].is_null() && package["publish"].is_null())
}

/// What is missing or wrong.
fn findings(workspace: &Workspace, metadata: &Value) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    for package in published(metadata) {
        let name = text(&package["name"]);
        let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
        let missing = FIELDS.iter().filter(|field| package[**field].is_null());
        let missing = missing.chain(LISTS.iter().filter(|list| is_empty(&package[**list])));
        findings.extend(missing.map(|field| format!("{name}: no {field}")));
        findings.extend(package["dependencies"].as_array().into_iter().flatten().filter_map(|dependency| {
            // Those of tests may have none: they are left out of what is published.
            let is_used = !dependency["path"].is_null() && dependency["kind"] != "dev";
            (is_used && dependency["req"] == "*")
                .then(|| format!("{name}: no version of {}", text(&dependency["name"])))
        }));
        let listed = listed(workspace, name)?;
        let missing = FILES.iter().filter(|file| !listed.lines().any(|line| line == **file));
        findings.extend(missing.map(|file| format!("{name}: {file} is not packed")));
    }
    findings.extend(installed(metadata));
    findings.extend(too_new(metadata));
    Ok(findings)
}

/// Programs that `cargo install` would put down without being asked for them. The launcher is asked for by its feature.
fn installed(metadata: &Value) -> impl Iterator<Item = String> {
    published(metadata).flat_map(|package| {
        let targets = package["targets"].as_array().into_iter().flatten();
        let programs = targets.filter(|target| target["kind"][0] == "bin");
        let expected = |target: &Value| match text(&target["name"]) {
            "rmarun" => target["required-features"] == serde_json::json!(["launcher"]),
            name => {
                name.starts_with("rma-test-")
                    && target["required-features"] == serde_json::json!(["test-programs"])
            }
        };
        let unexpected = programs.filter(move |target| !expected(target));
        unexpected.map(|target| format!("`cargo install` would put down {}", text(&target["name"])))
    })
}

/// Whether the oldest compiler has nothing against the code; also where it is not installed.
fn is_good_for_oldest(workspace: &Workspace, metadata: &Value) -> Result<bool, String> {
    let (major, minor) = oldest(metadata);
    let toolchain = format!("{major}.{minor}");
    let rustup = |words: &[&str]| {
        let mut rustup = Command::new("rustup");
        rustup.args(["run", &toolchain]).args(words);
        rustup
    };
    let version = rustup(&["rustc", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!(
            "Rust {toolchain} is not installed (rustup toolchain install {toolchain}): not checked with it"
        );
        return Ok(true);
    }
    let mut check = rustup(&["cargo", "check", "--quiet", "--workspace", "--all-targets", "--offline"]);
    check.current_dir(workspace.root()).env("CARGO_TARGET_DIR", workspace.target().join("oldest"));
    let status = check.status().map_err(|error| format!("rustup could not be started: {error}"))?;
    Ok(status.success())
}

/// The oldest compiler that our packages promise to build with.
fn oldest(metadata: &Value) -> (u32, u32) {
    published(metadata).map(|package| version(&package["rust_version"])).max().unwrap_or_default()
}

/// Packages that need a newer compiler than we say that we do.
fn too_new(metadata: &Value) -> Vec<String> {
    let ours = oldest(metadata);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let newer = packages.filter(|package| version(&package["rust_version"]) > ours);
    let line =
        |package: &Value| format!("{} needs Rust {}", text(&package["name"]), text(&package["rust_version"]));
    newer.map(line).collect()
}

fn version(value: &Value) -> (u32, u32) {
    let mut numbers = text(value).split('.').map(|number| number.parse().unwrap_or_default());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The files of a package.
fn listed(workspace: &Workspace, name: &str) -> Result<String, String> {
    let mut list = workspace.cargo("package");
    let output = list.args(["--list", "--offline", "--allow-dirty", "--package", name]).output();
    let output = output.map_err(|error| format!("cargo package could not be started: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Packs all of them; cargo does so in the order in which they can be published.
fn pack(workspace: &Workspace, metadata: &Value, is_built: bool) -> Result<bool, String> {
    let mut pack: Command = workspace.cargo("package");
    pack.args(["--quiet", "--offline", "--allow-dirty"]);
    if !is_built {
        pack.arg("--no-verify");
    }
    pack.args(published(metadata).flat_map(|package| ["--package", text(&package["name"])]));
    let output = pack.output().map_err(|error| format!("cargo package could not be started: {error}"))?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    /// Packages from outside that a program which communicates may bring.
    const LIMIT: usize = 20;

    #[test]
    fn each_crate_can_be_published() {
        let workspace = Workspace::find().unwrap();
        let metadata = metadata(&workspace).unwrap();
        assert_eq!(findings(&workspace, &metadata).unwrap(), [""; 0]);
        let names: BTreeSet<_> = published(&metadata).map(|package| text(&package["name"])).collect();
        assert!(
            names.contains("rma-mpi") && names.contains("rma-core") && !names.contains("xtask"),
            "{names:?}"
        );
        assert!(pack(&workspace, &metadata, false).unwrap());
    }

    #[test]
    fn what_is_missing_is_found() {
        let package = |name: &str, program: &str, rust: &str| {
            json!({
                "name": name, "source": null, "publish": null, "rust_version": rust, "dependencies": [],
                "targets": [{ "name": program, "kind": ["bin"], "required-features": ["launcher"] }],
            })
        };
        let outside = json!({ "name": "c", "source": "registry", "publish": null, "rust_version": "1.90.1" });
        let metadata =
            json!({ "packages": [package("a", "rmarun", "1.88"), package("b", "tool", "1.88"), outside] });
        assert_eq!(installed(&metadata).collect::<Vec<_>>(), ["`cargo install` would put down tool"]);
        assert_eq!(too_new(&metadata), ["c needs Rust 1.90.1"]);
    }

    #[test]
    fn a_program_that_communicates_brings_few_packages_and_no_command_line() {
        for package in ["rma-mpi", "rma-embed"] {
            let mut tree = Workspace::find().unwrap().cargo("tree");
            tree.args(["--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
            let output = tree.args(["--package", package]).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let tree = String::from_utf8(output.stdout).unwrap();
            // A package of this workspace has a path.
            let outside: BTreeSet<_> = tree
                .lines()
                .filter(|line| !line.contains(" (/"))
                .filter_map(|line| line.split(' ').next())
                .collect();
            assert!(outside.contains("smallvec"), "{tree}");
            assert!(outside.len() <= LIMIT, "{} packages: {outside:?}", outside.len());
            for unwanted in ["clap", "console", "indicatif", "png", "signal-hook"] {
                assert!(!outside.contains(&unwanted), "cargo tree -p {package} -e normal -i {unwanted}");
            }
        }
    }
}
