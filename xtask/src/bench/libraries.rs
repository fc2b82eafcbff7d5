//! Which MPI libraries are here, and the benchmark program built with each.
//!
//! A library is a compiler wrapper and a launcher. Known places: our own `rmacc` and `rmarun`, Debian's `mpicc.mpich` and
//! `mpicc.openmpi`, an `mpicc` in the path that is neither, what `--install-peers` has installed, and directories named on
//! the command line. What does not build or start is left out with a line that says so. An older build of this library
//! (`--beside`) is started as ours is, and counts as another library. With `--guest` each other library is there a second time, with the
//! guest in front.

use super::job::Runner;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BUILD_LIMIT: Duration = Duration::from_secs(60);
/// For a job of one rank that does nothing.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// Whose conventions a library follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Ours,
    Mpich,
    OpenMpi,
}

/// A library that was found.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    /// Short, unique, made of letters, digits and points: `mpich-5.0.2`.
    pub(crate) key: String,
    /// For people: `MPICH 5.0.2`.
    pub(crate) name: String,
    pub(crate) family: Family,
    /// Not an older build of ours either: what is measured, not what it is measured beside.
    pub(crate) is_ours: bool,
    /// What it says it is.
    pub(crate) version: String,
    pub(crate) compiler: PathBuf,
    pub(crate) launcher: PathBuf,
    /// The benchmark program, built with it.
    pub(crate) program: PathBuf,
    /// The guest in front of it.
    pub(crate) guest: Option<PathBuf>,
}

/// Compiler and launcher, before anything was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    compiler: PathBuf,
    launcher: PathBuf,
}

/// Names of compiler and launcher of the same library, in a directory of programs.
const PAIRS: [(&str, &[&str]); 4] = [
    ("rmacc", &["rmarun"]),
    ("mpicc.mpich", &["mpiexec.mpich", "mpiexec.hydra"]),
    ("mpicc.openmpi", &["mpiexec.openmpi", "orterun"]),
    ("mpicc", &["mpiexec"]),
];

/// Options of the C compiler; the same for all.
const FLAGS: [&str; 4] = ["-std=gnu11", "-O2", "-Wall", "-pthread"];

/// What the key of a library with the guest has at its end.
pub(crate) const WITH_GUEST: &str = "-guest";

/// What the key of an older build has at its end.
pub(crate) const OLDER: &str = "-before";

/// Finds the libraries below these prefixes and in the path, and builds the program with each of them; ours comes
/// first, then by name and version.
pub(crate) fn find(
    runner: &Runner,
    sources: &Path,
    prefixes: &[PathBuf],
    (older, guest): (Option<&Path>, Option<&Path>),
) -> Result<Vec<Library>, String> {
    let mut places: Vec<PathBuf> = prefixes.iter().map(|prefix| prefix.join("bin")).collect();
    places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut libraries: Vec<Library> = Vec::new();
    for candidate in candidates(&places) {
        let program = runner.directory().join(format!("rma-bench-{}", libraries.len()));
        match build(runner, sources, &candidate, program)? {
            Ok(library) if libraries.iter().any(|known| known.key == library.key) => {}
            Ok(library) => libraries.push(library),
            Err(reason) => eprintln!("{} is left out: {reason}", candidate.compiler.display()),
        }
    }
    if let Some(guest) = guest {
        let hosts = libraries.iter().filter(|library| !library.is_ours);
        let with_guest: Vec<Library> = hosts.map(|host| host.with_guest(guest)).collect();
        libraries.extend(with_guest);
    }
    if let Some(prefix) = older {
        libraries.push(find_older(runner, sources, prefix)?);
    }
    libraries.sort_by_key(|library| (!library.is_ours, library.key.clone()));
    Ok(libraries)
}

impl Library {
    fn with_guest(&self, guest: &Path) -> Self {
        Self {
            key: format!("{}{WITH_GUEST}", self.key),
            name: format!("{} with guest", self.name),
            guest: Some(guest.to_owned()),
            ..self.clone()
        }
    }
}

/// The older build of ours below this prefix.
fn find_older(runner: &Runner, sources: &Path, prefix: &Path) -> Result<Library, String> {
    let fails = |reason: String| format!("--beside {}: {reason}", prefix.display());
    let found =
        candidates(&[prefix.join("bin")]).into_iter().find(|candidate| candidate.compiler.ends_with("rmacc"));
    let candidate = found.ok_or_else(|| fails("bin/rmacc and bin/rmarun are not there".to_owned()))?;
    let library =
        build(runner, sources, &candidate, runner.directory().join("rma-bench-older"))?.map_err(fails)?;
    Ok(Library {
        key: format!("{}{OLDER}", library.key),
        name: format!("{} before", library.name),
        is_ours: false,
        ..library
    })
}

/// Every pair of compiler and launcher in these directories, the same file once.
fn candidates(places: &[PathBuf]) -> Vec<Candidate> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for place in places {
        for (compiler, launchers) in PAIRS {
            let compiler = place.join(compiler);
            let launcher = launchers.iter().map(|name| place.join(name)).find(|path| path.is_file());
            let (Some(launcher), Ok(identity)) = (launcher, fs::canonicalize(&compiler)) else { continue };
            // A plain name that leads to a wrapper with a name of its own is the same library again.
            if !seen.contains(&identity) {
                seen.push(identity);
                found.push(Candidate { compiler, launcher });
            }
        }
    }
    found
}

/// Builds the program and asks it which library it runs on, or says why that does not work.
fn build(
    runner: &Runner,
    sources: &Path,
    candidate: &Candidate,
    program: PathBuf,
) -> Result<Result<Library, String>, String> {
    let mut files: Vec<PathBuf> = fs::read_dir(sources)
        .map_err(|error| format!("{} could not be read: {error}", sources.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    let mut compile = Command::new(&candidate.compiler);
    compile.args(FLAGS).args(files).arg("-o").arg(&program);
    let built = runner.run(&mut compile, BUILD_LIMIT)?;
    if !built.passed() {
        return Ok(Err(format!("the program does not build: {}", built.reason())));
    }
    let family = match family(runner, &candidate.launcher)? {
        Ok(family) => family,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut probe = Command::new(&candidate.launcher);
    probe.args(fixed_arguments(family)).args(["-n", "1"]).arg(&program).args(["--cases", ""]);
    let probed = runner.run(&mut probe, PROBE_LIMIT)?;
    let Some(version) = library_line(&probed.stdout) else {
        return Ok(Err(format!("the program does not start: {}", probed.reason())));
    };
    let (name, key) = names(family, &version);
    let Candidate { compiler, launcher } = candidate.clone();
    let is_ours = family == Family::Ours;
    Ok(Ok(Library { key, name, family, is_ours, version, compiler, launcher, program, guest: None }))
}

/// What a launcher of that family needs on every machine: nothing is pinned, so that all are treated alike.
pub(crate) fn fixed_arguments(family: Family) -> &'static [&'static str] {
    match family {
        Family::Ours | Family::Mpich => &[],
        Family::OpenMpi => &["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
    }
}

/// What a launcher says of itself, or why it is of no use.
fn family(runner: &Runner, launcher: &Path) -> Result<Result<Family, String>, String> {
    if launcher.file_name().is_some_and(|name| name == "rmarun") {
        return Ok(Ok(Family::Ours));
    }
    let said = runner.run(Command::new(launcher).arg("--version"), PROBE_LIMIT)?;
    let is = |word: &str| said.stdout.contains(word);
    Ok(if is("HYDRA") {
        Ok(Family::Mpich)
    } else if is("OpenRTE") || is("Open MPI") || is("PRRTE") {
        Ok(Family::OpenMpi)
    } else {
        Err(format!("{} is an unknown launcher", launcher.display()))
    })
}

/// The value of the line that the program prints first.
fn library_line(output: &str) -> Option<String> {
    output.lines().find_map(|line| {
        let json: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(json["library"].as_str()?.to_owned())
    })
}

/// Name and key, from what a library says it is.
fn names(family: Family, version: &str) -> (String, String) {
    let number = version
        .split([' ', ','])
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or_default();
    let (name, key) = match family {
        Family::Ours => ("rma", "rma"),
        Family::Mpich => ("MPICH", "mpich"),
        Family::OpenMpi => ("Open MPI", "openmpi"),
    };
    match family {
        Family::Ours => (name.to_owned(), key.to_owned()),
        Family::Mpich | Family::OpenMpi => (format!("{name} {number}"), format!("{key}-{number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_what_libraries_say() {
        let (name, key) = names(Family::Mpich, "MPICH Version:      5.0.2 MPICH Release date: Fri");
        assert_eq!((name.as_str(), key.as_str()), ("MPICH 5.0.2", "mpich-5.0.2"));
        let (name, key) = names(Family::OpenMpi, "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4");
        assert_eq!((name.as_str(), key.as_str()), ("Open MPI 4.1.4", "openmpi-4.1.4"));
        assert_eq!(names(Family::Ours, "rma 0.1.0").1, "rma");
    }

    #[test]
    fn pairs_are_found_once() {
        let directory = std::env::temp_dir().join(format!("xtask-libraries-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        for name in ["mpicc.mpich", "mpiexec.hydra", "rmacc", "mpiexec"] {
            fs::write(directory.join(name), "").unwrap();
        }
        let _ = std::os::unix::fs::symlink(directory.join("mpicc.mpich"), directory.join("mpicc"));
        let found = candidates(&[directory.clone(), directory.clone()]);
        fs::remove_dir_all(&directory).unwrap();
        // rmacc has no launcher beside it, and mpicc is mpicc.mpich again.
        let expected =
            Candidate { compiler: directory.join("mpicc.mpich"), launcher: directory.join("mpiexec.hydra") };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn an_older_build_that_is_not_there_is_named() {
        let directory = std::env::temp_dir().join(format!("xtask-older-{}", std::process::id()));
        let runner = Runner::new(directory.clone()).unwrap();
        let error = find_older(&runner, &directory, &directory.join("away")).unwrap_err();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            error,
            format!("--beside {}/away: bin/rmacc and bin/rmarun are not there", directory.display())
        );
    }

    #[test]
    fn the_first_line_names_the_library() {
        let output = "warning: x\n{\"library\": \"MPICH Version: 4.0\"}\n";
        assert_eq!(library_line(output).as_deref(), Some("MPICH Version: 4.0"));
        assert_eq!(library_line("{}"), None);
    }
}
