//! The examples of crates that bind MPI: rsmpi, which is called `mpi`, and ferrompi. They check themselves.

use super::outcomes::Outcomes;
use super::place::{Place, said};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Examples that are known to fail, and why.
pub(super) const KNOWN: &str = include_str!("../../../tests/programs/crates.tsv");
/// Name, version and features of a crate, and the package that is made from the header.
const CRATES: [[&str; 4]; 2] =
    [["mpi", "0.8.2", "derive,complex", "mpi-sys"], ["ferrompi", "0.7.0", "rma", "ferrompi"]];
/// Longest that an example may take, in seconds.
const LIMIT_S: u32 = 60;
/// A package that depends on a crate, so that cargo brings its sources.
const MANIFEST: &str = "[package]\nname = \"fetching\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n";

/// Builds and runs them; says whether all failures are known.
pub(super) fn run(place: &Place<'_>) -> Result<bool, String> {
    let mut is_good = true;
    for [name, version, features, bound] in CRATES {
        let folder = place.folder.join(name);
        let (sources, target) = (fetch(&folder, name, version)?, folder.join("target"));
        let cargo = |arguments: &[&str]| {
            let mut cargo = Command::new("cargo");
            cargo.current_dir(&sources).args(arguments).arg("--target-dir").arg(&target);
            // They ask for the integers that Fortran has for handles.
            let asked = "-DRMA_MPI_FINT";
            cargo.env("MPICC", place.program("rmacc"));
            cargo.env("CFLAGS", asked).env("BINDGEN_EXTRA_CLANG_ARGS", asked);
            cargo
        };
        // What was made of another installation's header is not seen to be old.
        said(&mut cargo(&["clean", "--package", bound]))?;
        // Some examples may not be compiled; the others are run all the same.
        let (_, built) = said(&mut cargo(&["build", "--keep-going", "--examples", "--features", features]))?;
        let outcomes = examples(place, name, &sources, &target.join("debug/examples"))?;
        is_good &= outcomes.end(name);
        if outcomes.is_all_bad() {
            return Err(format!("{name} is not compiled:\n{built}"));
        }
    }
    Ok(is_good)
}

/// Runs the examples of a crate.
fn examples(place: &Place<'_>, of: &str, sources: &Path, built: &Path) -> Result<Outcomes, String> {
    let mut outcomes = Outcomes::new(KNOWN)?;
    for name in names(&sources.join("examples"))? {
        let key = format!("{of}/{name}");
        // Some look whether they are alone, as under another library's launcher.
        for ranks in place.ranks.iter().filter(|ranks| **ranks > 1 && place.wants(&key)) {
            let mut job = place.launch(*ranks, LIMIT_S);
            job.env("LD_LIBRARY_PATH", place.prefix.join("lib")).arg(built.join(&name));
            let (is_good, text) = said(&mut job)?;
            outcomes.note(&key, &format!(" on {ranks} ranks"), is_good, || text.replace('\n', " | "));
        }
    }
    Ok(outcomes)
}

/// The folder of a crate's sources.
fn fetch(folder: &Path, name: &str, version: &str) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(folder.join("Cargo.toml"), format!("{MANIFEST}{name} = \"={version}\"\n"))
        .map_err(failed)?;
    std::fs::write(folder.join("lib.rs"), "").map_err(failed)?;
    let mut cargo = Command::new("cargo");
    let output =
        cargo.current_dir(folder).args(["metadata", "--format-version", "1"]).output().map_err(failed)?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = packages.iter().find(|package| package["name"] == name);
    let manifest = package.and_then(|package| package["manifest_path"].as_str()).map(Path::new);
    manifest
        .and_then(Path::parent)
        .map(Path::to_owned)
        .ok_or_else(|| format!("cargo does not bring the crate {name}"))
}

/// The names of the files in a folder, without their ends.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}
