//! Starting one rank: its descriptors, environment and process group. One of the few files with `unsafe`.
//!
//! Invariants: of the launcher's descriptors a rank gets its standard streams and its end of the PMI connection, nothing
//! else; a rank dies with the launcher (parent death signal, and the guard for what the rank starts itself).

use super::options::Program;
use super::start_error::{NULL, StartError, StartStep};
use super::stragglers::{MARK, Mark};
use crate::config::DEMO_TERMINAL;
use mio::net::UnixStream;
use mio::unix::pipe;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// What all ranks have in common.
#[derive(Debug)]
pub(super) struct Template<'a> {
    pub(super) program: &'a Program,
    pub(super) size: u32,
    pub(super) group: Pid,
    pub(super) mark: &'a Mark,
    pub(super) environment: &'a [(String, String)],
    /// The environment below that, if it is not this process's own: the launcher's, on another host.
    pub(super) base: Option<&'a [(OsString, OsString)]>,
    /// The cores of the ranks of this host, if they are bound.
    pub(super) cores: &'a [CpuSet],
    /// Whether rank 0 reads from a pipe of the launcher instead of the launcher's own standard input.
    pub(super) pipe_stdin: bool,
}

/// A started rank and the launcher's ends of its streams, all nonblocking.
#[derive(Debug)]
pub(super) struct StartedRank {
    pub(super) child: Child,
    /// Becomes readable when the process ends.
    pub(super) pidfd: OwnedFd,
    pub(super) pmi: UnixStream,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
    pub(super) stdin: Option<pipe::Sender>,
}

/// Variables of another launcher that a rank must not see.
const FOREIGN: [&str; 4] = ["PMI_PORT", "PMI_ID", "PMI_JOBID", "PMI_SPAWNED"];

impl Template<'_> {
    /// Starts one rank, which has this place among those of its host.
    pub(super) fn start(&self, rank: u32, place: u32) -> Result<StartedRank, StartError> {
        let size = self.size;
        self.try_start(rank, place).map_err(|(step, cause)| StartError { rank, size, step, cause })
    }

    fn words(&self) -> (&OsStr, &[OsString]) {
        let (program, arguments) =
            self.program.command.split_first().expect("the command line requires a program");
        (program, arguments)
    }

    fn try_start(&self, rank: u32, place: u32) -> Result<StartedRank, (StartStep, io::Error)> {
        let (ours, theirs) = pair().map_err(|cause| (StartStep::Descriptors, cause))?;
        let (program, arguments) = self.words();
        let mut command = Command::new(program);
        if let Some(base) = self.base {
            command.env_clear().envs(base.iter().filter(|(name, _)| !is_of_host(name)).cloned());
            command.envs(std::env::vars_os().filter(|(name, _)| is_of_host(name)));
        }
        // What the user sets comes before what the job needs.
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs(self.program.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.program.wdir {
            command.current_dir(directory);
        }
        command
            .args(arguments)
            .stdin(match rank {
                0 if self.pipe_stdin => Stdio::piped(),
                0 => Stdio::inherit(),
                // Not by the standard library, which would not say what is missing.
                _ => File::open(NULL).map_err(|cause| (StartStep::Null, cause))?.into(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(self.group.as_raw_pid())
            .env("PMI_FD", theirs.as_raw_fd().to_string())
            .env("PMI_RANK", rank.to_string())
            .env("PMI_SIZE", self.size.to_string())
            .env(MARK, self.mark.value())
            .envs(terminal().map(|path| (DEMO_TERMINAL, path)));
        for name in FOREIGN {
            command.env_remove(name);
        }
        let (pmi, cores) = (theirs.as_raw_fd(), self.cores.get(place as usize).copied());
        die_with_this(&mut command);
        // SAFETY: between fork and exec the closure only makes system calls on numbers and a set that it owns: it allocates
        // nothing and takes no lock.
        unsafe {
            command.pre_exec(move || {
                if let Some(cores) = &cores {
                    sched_setaffinity(None, cores)?;
                }
                // `theirs` is open until `spawn` has returned, in this copy of the process too.
                Ok(fcntl_setfd(BorrowedFd::borrow_raw(pmi), FdFlags::empty())?)
            });
        }
        let mut child = command.spawn().map_err(|cause| {
            (StartStep::of_spawn(&cause, program.to_owned(), self.program.wdir.as_deref()), cause)
        })?;
        drop(theirs);
        Self::take_streams(&mut child, ours).map(|rest| rest(child))
    }

    fn take_streams(
        child: &mut Child,
        pmi: std::os::unix::net::UnixStream,
    ) -> Result<impl FnOnce(Child) -> StartedRank + use<>, (StartStep, io::Error)> {
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            unreachable!("both were asked to be pipes above");
        };
        let (stdout, stderr) = (pipe::Receiver::from(stdout), pipe::Receiver::from(stderr));
        let stdin = child.stdin.take().map(pipe::Sender::from);
        stdout
            .set_nonblocking(true)
            .and_then(|()| stderr.set_nonblocking(true))
            .and_then(|()| stdin.iter().try_for_each(|stdin| stdin.set_nonblocking(true)))
            .map_err(|cause| (StartStep::Descriptors, cause))?;
        let pid = Pid::from_child(child);
        let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
            .map_err(|cause| (StartStep::Watch, cause.into()))?;
        let pmi = UnixStream::from_std(pmi);
        Ok(move |child| StartedRank { child, pidfd, pmi, stdout, stderr, stdin })
    }
}

/// The connection, of which the first end is nonblocking.
fn pair() -> io::Result<(std::os::unix::net::UnixStream, std::os::unix::net::UnixStream)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, theirs))
}

/// Has a process that is started end with this one.
pub(super) fn die_with_this(command: &mut Command) {
    let this = rustix::process::getpid();
    // SAFETY: between fork and exec the closure only makes system calls on numbers.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            match getppid() == Some(this) {
                true => Ok(()),
                false => Err(io::Error::from(rustix::io::Errno::SRCH)), // died before the line above
            }
        });
    }
}

/// Whether a variable says something about a host or a session there, not about the job.
fn is_of_host(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"HOSTNAME" || name == b"SLURMD_NODENAME" || name.starts_with(b"SSH_")
}

/// Where people watch the job, for programs that draw: the terminal that this process's standard error is, if it is one.
fn terminal() -> Option<std::path::PathBuf> {
    use std::io::IsTerminal;
    std::io::stderr().is_terminal().then(|| std::fs::read_link("/proc/self/fd/2").ok()).flatten()
}
