//! Why a rank could not be started: because of its program, or because the launcher lacks something of the system.
//!
//! Only what an exec answers is told of the program, in the words and with the status of a shell. The rest is the launcher's, with
//! the limit that is reached or what the system refuses.

use super::job::SYSTEM_ERROR;
use crate::descriptors::explain_for;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where a rank that is not the first reads nothing.
pub(super) const NULL: &str = "/dev/null";

/// Why a rank could not be started.
#[derive(Debug)]
pub(super) struct StartError {
    pub(super) rank: u32,
    /// Ranks of the job.
    pub(super) size: u32,
    pub(super) step: StartStep,
    pub(super) cause: io::Error,
}

/// What was refused.
#[derive(Debug)]
pub(super) enum StartStep {
    /// The launcher's own ends of the rank's streams.
    Descriptors,
    /// To open [`NULL`].
    Null,
    /// A process.
    Process,
    /// This directory, to start in.
    Directory(PathBuf),
    /// The program of this name, which is a file of this name if it is not looked for in PATH.
    Program(OsString, PathBuf),
    /// A descriptor that tells of the process's end.
    Watch,
}

impl StartStep {
    /// What an error of starting a process means: by the standard library those of its descriptors, of fork(2) and of
    /// execve(2) look alike.
    pub(super) fn of_spawn(cause: &io::Error, program: OsString, directory: Option<&Path>) -> Self {
        match Errno::from_io_error(cause) {
            Some(Errno::MFILE | Errno::NFILE) => Self::Descriptors,
            Some(Errno::AGAIN | Errno::NOMEM | Errno::SRCH) => Self::Process,
            _ => match directory {
                Some(directory) if !can_enter(directory) => Self::Directory(directory.to_owned()),
                directory => {
                    let file = directory.unwrap_or(Path::new("")).join(&program);
                    Self::Program(program, file)
                }
            },
        }
    }
}

/// About how many descriptors a launcher has for so many ranks: five for each, and some of its own.
pub(super) fn descriptors_for(ranks: u32) -> u64 {
    64 + 6 * u64::from(ranks)
}

/// An error of a launcher of so many ranks; if a descriptor was not to be had, with the limit and what is needed.
pub(super) fn explain(error: &io::Error, ranks: u32) -> String {
    explain_for(error, || format!("about {} are needed for {ranks} ranks", descriptors_for(ranks)))
}

/// Why fork(2) has failed.
pub(super) fn no_process(cause: &io::Error) -> String {
    match Errno::from_io_error(cause) {
        Some(Errno::AGAIN) => {
            let limit = getrlimit(Resource::Nproc).current;
            let limit = limit.map_or_else(|| "no number".to_owned(), |limit| limit.to_string());
            let cgroup = cgroup_limit().map_or_else(String::new, |limit| format!(": {limit}"));
            format!(
                "the limit of processes is reached (RLIMIT_NPROC, ulimit -u: {limit} for this user; or pids.max of the \
                 cgroup{cgroup})"
            )
        }
        Some(Errno::NOMEM) => "the system has no memory for one more process".to_owned(),
        _ => cause.to_string(),
    }
}

/// The smallest pids.max of the cgroups that this process is in, where they have one.
fn cgroup_limit() -> Option<u64> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limit = |cgroup: &Path| {
        let text = fs::read_to_string(Path::new("/sys/fs/cgroup").join(cgroup).join("pids.max"));
        text.ok()?.trim().parse().ok()
    };
    Path::new(own).ancestors().filter_map(limit).min()
}

impl StartError {
    /// The exit status: that which shells use for a program that cannot run, or that of a launcher the system refuses something.
    pub(super) fn exit_code(&self) -> u8 {
        match self.step {
            StartStep::Program(..) if self.cause.kind() == io::ErrorKind::NotFound => 127,
            StartStep::Program(..) | StartStep::Directory(_) => 126,
            StartStep::Descriptors | StartStep::Null | StartStep::Process | StartStep::Watch => SYSTEM_ERROR,
        }
    }

    /// What the launcher lacks.
    fn shortage(&self) -> String {
        let cause = explain(&self.cause, self.size);
        match self.step {
            StartStep::Null => format!("cannot open {NULL}: {cause}"),
            StartStep::Process => format!("cannot start a process: {}", no_process(&self.cause)),
            StartStep::Watch => {
                let hint = match Errno::from_io_error(&self.cause) {
                    Some(Errno::NOSYS | Errno::PERM) => {
                        " (Linux has it from 5.3 on; a seccomp profile, as containers have, may refuse it)"
                    }
                    _ => "",
                };
                format!("cannot watch its process by pidfd_open(2): {cause}{hint}")
            }
            _ => format!("cannot make its streams: {cause}"),
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, file) = match &self.step {
            StartStep::Program(program, file) => (Path::new(program), file),
            StartStep::Directory(directory) => {
                return write!(f, "cannot start ranks in {} (--wdir): {}", directory.display(), self.cause);
            }
            _ => return write!(f, "cannot start rank {}: {}", self.rank, self.shortage()),
        };
        write!(f, "cannot run {}: ", program.display())?;
        match self.cause.kind() {
            io::ErrorKind::NotFound if !program.as_os_str().as_encoded_bytes().contains(&b'/') => {
                f.write_str("there is no program of that name in PATH")?;
                if file.exists() {
                    write!(f, " (there is one here: ./{})", program.display())?;
                }
                Ok(())
            }
            io::ErrorKind::NotFound if file.exists() => {
                f.write_str("the interpreter that it names is not there")
            }
            io::ErrorKind::NotFound => f.write_str("there is no such file"),
            io::ErrorKind::PermissionDenied if file.is_dir() => f.write_str("that is a directory"),
            io::ErrorKind::PermissionDenied if Errno::from_io_error(&self.cause) == Some(Errno::ACCESS) => {
                f.write_str("permission denied (is it executable?)")
            }
            _ => self.cause.fmt(f),
        }
    }
}

fn can_enter(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::EXEC_OK).is_ok() && directory.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(step: StartStep, cause: Errno) -> (String, u8) {
        let error = StartError { rank: 3, size: 4, step, cause: cause.into() };
        (error.to_string(), error.exit_code())
    }

    fn of_spawn(cause: Errno, directory: Option<&Path>) -> (String, u8) {
        error(StartStep::of_spawn(&cause.into(), "./no/such".into(), directory), cause)
    }

    #[test]
    fn what_the_launcher_lacks_is_not_told_of_the_program() {
        for (step, cause, whys) in [
            (StartStep::Descriptors, Errno::MFILE, &["RLIMIT_NOFILE", "about 88 are needed for 4 ranks"][..]),
            (StartStep::Watch, Errno::MFILE, &["pidfd_open", "RLIMIT_NOFILE"]),
            (StartStep::Watch, Errno::PERM, &["pidfd_open", "5.3", "seccomp"]),
            (StartStep::Watch, Errno::NOSYS, &["pidfd_open", "5.3", "seccomp"]),
            (StartStep::Null, Errno::NOENT, &["cannot open /dev/null: No such file"]),
            (StartStep::Null, Errno::ACCESS, &["cannot open /dev/null: Permission denied"]),
        ] {
            let (text, code) = error(step, cause);
            assert!(text.starts_with("cannot start rank 3: "), "{text}");
            assert!(whys.iter().all(|why| text.contains(why)), "{text}");
            assert_eq!(code, SYSTEM_ERROR, "{text}");
        }
    }

    #[test]
    fn errors_of_starting_a_process_are_told_apart() {
        for (cause, why, code) in [
            (Errno::MFILE, "RLIMIT_NOFILE", SYSTEM_ERROR),
            (Errno::NFILE, "file-max", SYSTEM_ERROR),
            (Errno::AGAIN, "RLIMIT_NPROC, ulimit -u: ", SYSTEM_ERROR),
            (Errno::AGAIN, "pids.max of the cgroup", SYSTEM_ERROR),
            (Errno::NOMEM, "no memory for one more process", SYSTEM_ERROR),
            (Errno::NOENT, "cannot run ./no/such: there is no such file", 127),
            (Errno::ACCESS, "cannot run ./no/such: permission denied (is it executable?)", 126),
            (Errno::NOEXEC, "cannot run ./no/such: Exec format error", 126),
            (Errno::TXTBSY, "cannot run ./no/such: Text file busy", 126),
            (Errno::TOOBIG, "cannot run ./no/such: Argument list too long", 126),
            (Errno::PERM, "cannot run ./no/such: Operation not permitted", 126),
        ] {
            let (text, found) = of_spawn(cause, None);
            assert!(text.contains(why), "{text}");
            assert_eq!(found, code, "{text}");
        }
    }

    #[test]
    fn a_directory_is_named_where_it_is_the_cause() {
        let nowhere = Some(Path::new("/no/such/directory"));
        assert_eq!(
            of_spawn(Errno::NOENT, nowhere),
            (
                "cannot start ranks in /no/such/directory (--wdir): No such file or directory (os error 2)"
                    .into(),
                126
            )
        );
        assert!(of_spawn(Errno::MFILE, nowhere).0.contains("RLIMIT_NOFILE"));
        assert!(of_spawn(Errno::NOENT, Some(Path::new("/"))).0.contains("cannot run ./no/such"));
    }

    /// A program is looked for where the rank starts.
    #[test]
    fn an_interpreter_is_missed_where_the_program_is_there() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("script"), "#!/no/such/interpreter").unwrap();
        let cause = || io::Error::from(Errno::NOENT);
        let step = StartStep::of_spawn(&cause(), "./script".into(), Some(directory.path()));
        let text = StartError { rank: 0, size: 1, step, cause: cause() }.to_string();
        assert_eq!(text, "cannot run ./script: the interpreter that it names is not there");
    }
}
