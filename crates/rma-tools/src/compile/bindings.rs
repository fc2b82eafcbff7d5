//! Fortran's modules and their part in C, compiled by the compiler that a program is compiled with.
//!
//! A module fits one version of one compiler, so it is compiled when it is first needed: below the installation if that can be
//! written to, or else in the user's cache. The folder's name says for what; it appears whole, and only one process makes it.

use rustix::fs::{FlockOperation, flock};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where the sources lie below an installation.
const SOURCES: &str = "share/rma/fortran";
/// Files whose objects belong to the library: modules, each of which uses those before it, and what `mpif.h` names.
const MODULES: [&str; 3] = ["mpi_f08", "mpi", "mpif"];
/// The library's name for the linker.
pub(super) const LIBRARY: &str = "mpi_abi_f08";
/// Compilers that are looked for, in this order.
const COMPILERS: [&str; 4] = ["gfortran", "flang", "flang-new", "ifx"];

/// The compiler when none is named: the first that is there.
pub(super) fn default_compiler() -> &'static str {
    COMPILERS.iter().find(|name| found(OsStr::new(name)).is_some()).unwrap_or(&COMPILERS[0])
}

/// Where a program is that is named as in a shell.
fn found(program: &OsStr) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The folder that a compiler lies in, behind all links: beside it are its headers.
fn home(compiler: &OsStr) -> PathBuf {
    let path = found(compiler).and_then(|path| path.canonicalize().ok());
    path.as_deref().and_then(Path::parent).unwrap_or(Path::new("/usr/bin")).to_owned()
}

/// The folder of the module and the library for a compiler; makes it if it is not there.
pub(super) fn folder(prefix: &Path, compiler: &[OsString]) -> Result<PathBuf, String> {
    let sources = Sources::read(&prefix.join(SOURCES))?;
    let name = sources.name_for(compiler)?;
    let mut places = vec![prefix.join("lib/fortran")];
    places.extend(cache());
    if let Some(found) = places.iter().map(|place| place.join(&name)).find(|folder| folder.is_dir()) {
        return Ok(found);
    }
    let mut refused = Vec::new();
    for place in &places {
        match Lock::take(place, &name) {
            Ok(lock) => return sources.compile(prefix, compiler, &place.join(&name), &lock),
            Err(error) => refused.push(format!("{}: {error}", place.display())),
        }
    }
    Err(format!("there is no place for the compiled module mpi_f08: {}", refused.join("; ")))
}

/// The user's cache, if there is one.
fn cache() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("rma/fortran"))
}

/// The right to make a folder, for as long as it lives.
#[derive(Debug)]
struct Lock {
    _file: File,
}

impl Lock {
    fn take(place: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(place)?;
        let file = File::create(place.join(format!("{name}.lock")))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(Self { _file: file })
    }
}

/// What is compiled.
#[derive(Debug)]
struct Sources {
    folder: PathBuf,
    /// Files in C.
    c: Vec<PathBuf>,
    /// Tells one set of sources from another.
    hash: u64,
}

impl Sources {
    fn read(folder: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        let entries = fs::read_dir(folder).map_err(failed)?;
        let mut files = Vec::new();
        for entry in entries {
            files.push(entry.map_err(failed)?.path());
        }
        files.sort();
        let mut hash = START;
        for file in &files {
            hash = mixed(hash, &fs::read(file).map_err(failed)?);
        }
        let c = files.into_iter().filter(|file| file.extension() == Some(OsStr::new("c"))).collect();
        Ok(Self { folder: folder.to_owned(), c, hash })
    }

    /// What the folder for a compiler is called: its program, and a number for its version, the sources and
    /// where the installation is.
    fn name_for(&self, compiler: &[OsString]) -> Result<String, String> {
        let output = run(Command::new(&compiler[0]).args(&compiler[1..]).arg("--version"))?;
        let start = mixed(self.hash, self.folder.as_os_str().as_encoded_bytes());
        let words = compiler.iter().fold(start, |hash, word| mixed(hash, word.as_encoded_bytes()));
        let hash = mixed(words, &output.stdout);
        let program = Path::new(&compiler[0]).file_name().unwrap_or_default();
        Ok(format!("{}-{hash:016x}", program.to_string_lossy()))
    }

    /// Compiles beside the place, then puts the folder there by one rename. What one that was killed has left there goes first: it has the
    /// same name, and only the owner of the lock writes there.
    fn compile(
        &self,
        prefix: &Path,
        compiler: &[OsString],
        place: &Path,
        _lock: &Lock,
    ) -> Result<PathBuf, String> {
        if place.is_dir() {
            return Ok(place.to_owned());
        }
        let mut written = place.as_os_str().to_owned();
        written.push(".new");
        let written = PathBuf::from(written);
        let failed = |error: io::Error| format!("{}: {error}", written.display());
        let _ = fs::remove_dir_all(&written);
        fs::create_dir_all(&written).map_err(failed)?;
        let made = self
            .commands(prefix, compiler)
            .iter_mut()
            .try_for_each(|command| run(command.current_dir(&written)).map(|_| ()));
        if let Err(why) = made {
            let _ = fs::remove_dir_all(&written);
            return Err(why);
        }
        fs::rename(&written, place).map_err(failed)?;
        Ok(place.to_owned())
    }

    /// What is run in the folder. Compilers of Fortran put modules where they run.
    fn commands(&self, prefix: &Path, compiler: &[OsString]) -> [Command; 3] {
        let fortran = || {
            let mut command = Command::new(&compiler[0]);
            command.args(&compiler[1..]).args(["-O2", "-fPIC"]);
            command
        };
        let with = |option: &str, path: PathBuf| {
            let mut word = OsString::from(option);
            word.push(path);
            word
        };
        let mut modules = fortran();
        modules.arg("-c").args(MODULES.map(|module| self.folder.join(module).with_extension("f90")));
        // The compiler of GNU compiles C too, with its own header of descriptors.
        let name = Path::new(&compiler[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut c = match std::env::var_os("RMA_CC") {
            Some(chosen) if !chosen.is_empty() => Command::new(chosen),
            _ if name.contains("gfortran") => Command::new(&compiler[0]),
            _ => Command::new("cc"),
        };
        if !name.contains("gfortran") {
            c.arg(with("-I", home(&compiler[0]).join("../include/flang")));
        }
        c.args(["-O2", "-fPIC", "-std=gnu11", "-c"]).arg(with("-I", prefix.join("include"))).args(&self.c);
        let mut link = fortran();
        link.args(["-shared", "-o"]).arg(format!("lib{LIBRARY}.so"));
        link.args(MODULES.map(|module| format!("{module}.o")));
        link.args(
            self.c
                .iter()
                .filter_map(|file| file.file_stem())
                .map(|stem| with("", PathBuf::from(stem).with_extension("o"))),
        );
        link.arg(with("-L", prefix.join("lib/link"))).arg("-lmpi_abi").arg("-Wl,--enable-new-dtags");
        link.arg(with("-Wl,-rpath,", prefix.join("lib"))).arg("-lpthread");
        [modules, c, link]
    }
}

/// Runs a command that says nothing unless it fails.
fn run(command: &mut Command) -> Result<Output, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        format!("cannot run {program}: {error} (RMA_FC or -fc= names a compiler of Fortran)")
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{program} cannot compile the module mpi_f08 or its part in C ({}):\n{said}", output.status))
}

/// Where the hash begins.
const START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of Fowler, Noll and Vo: it tells versions apart, and keeps out no attacker.
fn mixed(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_killed_call_has_left_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let (folder, compiler) = (scratch.path().join("made"), scratch.path().join("gfortran"));
        fs::write(&compiler, "#!/bin/sh\n: > \"made-by-$$\"\n").unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
        let name = "gfortran-12.2-0123";
        let lock = Lock::take(&folder, name).unwrap();
        fs::create_dir(folder.join(format!("{name}.new"))).unwrap();
        fs::write(folder.join(format!("{name}.new/half")), "").unwrap();
        let sources = Sources { folder: scratch.path().to_owned(), c: Vec::new(), hash: START };
        let made = sources.compile(scratch.path(), &[compiler.into()], &folder.join(name), &lock).unwrap();
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&folder), [OsString::from(name), format!("{name}.lock").into()]);
        assert!(!names(&made).contains(&"half".into()) && names(&made).len() == 3);
    }
}
