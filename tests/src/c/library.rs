//! Libraries that the programs are built with: this one as it is installed, and others that the machine has.

use super::source::{Source, sources};
use crate::installed::prefix;
use crate::job::{Job, program};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use tempfile::TempDir;

/// A compiler and a launcher that belong together.
#[derive(Debug)]
pub struct Library {
    /// What programs call it in their first comments.
    pub name: &'static str,
    compiler: PathBuf,
    launcher: Vec<String>,
    variables: Vec<(&'static str, String)>,
    /// Whether it is this library, of which more is expected.
    pub is_ours: bool,
}

/// What became of a program when it was built.
#[derive(Debug)]
pub enum Built {
    /// It can be run.
    Program(PathBuf),
    /// It uses calls that the library does not have.
    Missing(BTreeSet<String>),
    /// It cannot be compiled, and this is why.
    Wrong(String),
}

/// What every library compiles with. A call that the header lacks is found by the linker, which names all of them.
const FLAGS: [&str; 8] = [
    "-std=gnu11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-error=implicit-function-declaration",
    "-pthread",
];

impl Library {
    /// This library, as `cargo xtask test` has installed it.
    pub fn ours() -> Self {
        let prefix = prefix();
        Self {
            name: "rma",
            compiler: prefix.join("bin/rmacc"),
            launcher: vec![prefix.join("bin/rmarun").display().to_string()],
            variables: Vec::new(),
            is_ours: true,
        }
    }

    /// MPICH as Debian has it, if it is installed.
    pub fn mpich() -> Option<Self> {
        Some(Self {
            name: "mpich",
            compiler: find("mpicc.mpich")?,
            launcher: vec![find("mpiexec.hydra")?.display().to_string()],
            // The cache of registrations of the UCX below it takes new windows for old ones.
            variables: vec![("UCX_RCACHE_ENABLE", "n".to_owned())],
            is_ours: false,
        })
    }

    /// Open MPI as Debian has it, if it is installed.
    pub fn open_mpi() -> Option<Self> {
        // Its one-sided component over RDMA does not work over the shared memory of every machine.
        Self::open_mpi_with("^rdma")
    }

    /// The same with these components for its windows.
    pub fn open_mpi_with(components: &str) -> Option<Self> {
        Some(Self::open_mpi_at(find("mpicc.openmpi")?, &find("mpiexec.openmpi")?, components))
    }

    /// The Open MPI that `cargo xtask guest --install-hosts` has installed, with these components for its windows.
    pub fn newest_open_mpi(components: &str) -> Option<Self> {
        let compiler = target().join("peers/openmpi/bin/mpicc");
        let launcher = compiler.with_file_name("mpirun");
        compiler.is_file().then(|| Self::open_mpi_at(compiler, &launcher, components))
    }

    fn open_mpi_at(compiler: PathBuf, launcher: &Path, components: &str) -> Self {
        let words = ["--allow-run-as-root", "--oversubscribe", "--mca", "osc", components];
        let launcher = launcher.display().to_string();
        Self {
            name: "openmpi",
            compiler,
            launcher: std::iter::once(launcher).chain(words.map(str::to_owned)).collect(),
            variables: Vec::new(),
            is_ours: false,
        }
    }

    /// The MPICH that `cargo xtask guest --install-hosts` has installed, with its own ABI.
    pub fn newest_mpich() -> Option<Self> {
        let compiler = target().join("peers/mpich/bin/mpicc");
        let launcher = compiler.with_file_name("mpiexec").display().to_string();
        compiler.is_file().then(|| Self {
            name: "mpich",
            compiler,
            launcher: vec![launcher],
            variables: Vec::new(),
            is_ours: false,
        })
    }

    /// An MPICH with the standard ABI: the one that `RMA_TEST_MPICC_ABI` names, or what
    /// `cargo xtask bench --install-peers` has installed.
    pub fn mpich_abi() -> Option<Self> {
        let compiler = match std::env::var_os("RMA_TEST_MPICC_ABI") {
            Some(path) => PathBuf::from(path),
            None => target().join("peers/mpich/bin/mpicc_abi"),
        };
        let launcher = compiler.with_file_name("mpiexec");
        compiler.is_file().then(|| Self {
            name: "mpich-abi",
            launcher: vec![launcher.display().to_string()],
            compiler,
            variables: Vec::new(),
            is_ours: false,
        })
    }

    /// Another library with the guest in front of it, as cargo has built the guest and the library that it loads.
    ///
    /// # Panics
    /// When one of the two is not built.
    pub fn with_guest(self, name: &'static str) -> Self {
        let folder = program("rmarun").parent().expect("programs lie in a folder").to_owned();
        for file in ["librma_guest.so", "libmpi_abi.so"] {
            assert!(folder.join(file).is_file(), "{file} is not built: `cargo xtask guest` builds it");
        }
        let guest = folder.join("librma_guest.so").display().to_string();
        let words = match self.name {
            "openmpi" => ["-x".to_owned(), format!("LD_PRELOAD={guest}")].to_vec(),
            _ => ["-genv".to_owned(), "LD_PRELOAD".to_owned(), guest].to_vec(),
        };
        let launcher = self.launcher.into_iter().chain(words).collect();
        Self { name, launcher, ..self }
    }

    /// A job of one of the programs, started by a command that starts the launcher; and the folder that the program lies in.
    ///
    /// # Panics
    /// When there is no such program, or it cannot be built.
    pub fn one_program(&self, ranks: u32, command: &Path, name: &str) -> (Job, TempDir) {
        let source =
            sources().into_iter().find(|source| source.name == name).expect("there is such a program");
        let directory = workshop();
        let Built::Program(program) = self.compile(&source, directory.path()) else {
            panic!("{name} cannot be built with {}", self.name);
        };
        (self.started_by(ranks, command, &program), directory)
    }

    /// The same of a program in Fortran, with these words for its compiler; `None` when the library has none.
    ///
    /// # Panics
    /// When it cannot be built.
    pub fn fortran_program(
        &self,
        ranks: u32,
        command: &Path,
        source: &Path,
        words: &[&str],
    ) -> Option<(Job, TempDir)> {
        let name = self.compiler.file_name()?.to_str()?.replace("mpicc", "mpif90");
        let compiler = Some(self.compiler.with_file_name(name)).filter(|path| path.is_file())?;
        let directory = workshop();
        let program = directory.path().join("program");
        let mut compile = Command::new(compiler);
        compile.args(words).arg(source).arg("-o").arg(&program).current_dir(directory.path());
        let output = compile.output().expect("the compiler can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some((self.started_by(ranks, command, &program), directory))
    }

    /// A shared object of one file, built against the library's header.
    ///
    /// # Panics
    /// When it cannot be built.
    pub fn shared_object(&self, source: &Path, to: &Path) {
        let mut compile = Command::new(&self.compiler);
        let output = compile.args(["-shared", "-fPIC", "-O1"]).arg(source).arg("-o").arg(to).output();
        let output = output.expect("the compiler can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn started_by(&self, ranks: u32, command: &Path, program: &Path) -> Job {
        let mut started = Command::new(command);
        started.args(&self.launcher).args(["-n", &ranks.to_string()]).arg(program);
        let variables = self.variables.iter().map(|(name, value)| (*name, value.as_str()));
        Job::command(started).variables(&variables.collect::<Vec<_>>())
    }

    /// Builds all programs into a directory, two at a time.
    ///
    /// # Panics
    /// When the compiler cannot be started.
    pub fn build(&self, sources: &[Source], directory: &Path) -> Vec<Built> {
        let next = Mutex::new(0..sources.len());
        let built: Mutex<Vec<Option<Built>>> = Mutex::new(sources.iter().map(|_| None).collect());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let Some(index) = next.lock().expect("no builder panics with it").next() else {
                            break;
                        };
                        let result = self.compile(&sources[index], directory);
                        built.lock().expect("no builder panics with it")[index] = Some(result);
                    }
                });
            }
        });
        let built = built.into_inner().expect("no builder panics with it");
        built.into_iter().map(|result| result.expect("every program was built")).collect()
    }

    fn compile(&self, source: &Source, directory: &Path) -> Built {
        let program = directory.join(&source.name);
        let mut command = Command::new(&self.compiler);
        command.args(FLAGS).arg(&source.path).arg("-o").arg(&program);
        if !self.is_ours {
            // Headers of others are theirs to keep free of warnings.
            command.arg("-Wno-error");
        }
        let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", self.compiler.display()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.success() {
            true if said.is_empty() || !self.is_ours => Built::Program(program),
            true => Built::Wrong(said),
            false => {
                let calls = undefined(&said);
                if calls.is_empty() { Built::Wrong(said) } else { Built::Missing(calls) }
            }
        }
    }

    /// A job of a program that was built, with words in front of it.
    pub fn job(&self, ranks: u32, words: &[&str], program: &Path) -> Job {
        let mut command = Command::new(&self.launcher[0]);
        command.args(&self.launcher[1..]).args(["-n", &ranks.to_string()]).args(words).arg(program);
        let mut job = Job::command(command);
        for (name, value) in &self.variables {
            job = job.variables(&[(name, value)]);
        }
        job
    }
}

/// A directory for programs, beside those of other tests.
///
/// # Panics
/// When it cannot be made.
pub fn workshop() -> TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

/// The names that the linker did not find.
fn undefined(said: &str) -> BTreeSet<String> {
    let names = said.lines().filter_map(|line| line.split_once("undefined reference to `"));
    names.map(|(_, rest)| rest.trim_end_matches('\'').to_owned()).collect()
}

/// Cargo's target directory.
fn target() -> PathBuf {
    let rmarun = program("rmarun");
    rmarun.parent().and_then(Path::parent).expect("programs lie two folders deep").to_owned()
}

/// A program in the path.
fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_names_what_is_missing() {
        let said = "/usr/bin/ld: /tmp/x.o: in function `main':\n\
                    a.c:5:(.text+0x1): undefined reference to `MPI_B'\n\
                    a.c:6:(.text+0x9): undefined reference to `MPI_A'\n\
                    a.c:7:(.text+0x9): undefined reference to `MPI_B'\n";
        assert_eq!(undefined(said), ["MPI_A", "MPI_B"].map(str::to_owned).into());
        assert!(undefined("a.c:5: error: expected ';'").is_empty());
    }
}
