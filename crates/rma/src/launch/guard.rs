//! The guard: a process that owns the job's process group and ends the group when the launcher dies, however it dies.
//!
//! Every rank joins the guard's group, so everything the ranks start is in it too, unless it leaves. The guard sleeps in a read
//! from a pipe whose other end only the launcher holds; at the end of that stream it kills what carries the job's mark, wherever
//! it has got to, and its whole group, itself included. While the guard is not reaped its number is not given to another group,
//! so signals to the group never hit an unrelated process.

use super::start_error::no_process;
use super::stragglers::{self, Mark};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, setpgid, waitpid};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The job's process group. Dropping it kills what is left in the group.
#[derive(Debug)]
pub(super) struct Guard {
    group: Pid,
    _alive: OwnedFd,
}

impl Guard {
    /// Starts the guard; with a mark it also looks outside the group. To be called while the process has one thread.
    pub(super) fn start(mark: Option<&Mark>) -> io::Result<Self> {
        let (reader, alive) = pipe_with(PipeFlags::CLOEXEC)?;
        let group = fork_guard(reader.as_raw_fd(), mark)?;
        // Both sides do this: whichever comes first, the group exists before a rank is to join it.
        let _ = setpgid(Some(group), Some(group));
        Ok(Self { group, _alive: alive })
    }

    /// The group that ranks join.
    pub(super) fn group(&self) -> Pid {
        self.group
    }

    /// Sends a signal to everything in the group. The guard itself blocks what can be blocked.
    pub(super) fn signal(&self, signal: Signal) {
        // It fails only when the group is empty, and then there is no process to signal.
        let _ = kill_process_group(self.group, signal);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = waitpid(Some(self.group), WaitOptions::empty());
    }
}

fn fork_guard(pipe: RawFd, mark: Option<&Mark>) -> io::Result<Pid> {
    // SAFETY: signal sets are plain data that the calls fill in before they are read.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    };
    // SAFETY: the process has one thread, so the child finds every lock free, that of the allocator too; and it never returns.
    let answer = match unsafe { libc::fork() } {
        0 => guard(pipe, mark),
        -1 => Err(io::Error::other(format!(
            "cannot start the process that guards the job: {}",
            no_process(&io::Error::last_os_error())
        ))),
        child => Pid::from_raw(child).ok_or_else(|| io::Error::other("fork answered no process id")),
    };
    // SAFETY: `before` was filled in above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    answer
}

/// The guard's life, with all signals blocked that can be.
fn guard(pipe: RawFd, mark: Option<&Mark>) -> ! {
    // SAFETY: plain system calls on numbers; the one buffer is a local byte.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_NAME, c"rmarun-guard".as_ptr());
        libc::dup2(pipe, 0);
        // Everything else goes, the launcher's end of the pipe first of all.
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) != 0 {}
    }
    if let Some(mark) = mark {
        stragglers::end_marked(mark);
    }
    // SAFETY: likewise.
    unsafe {
        libc::kill(0, libc::SIGKILL);
        libc::_exit(0)
    }
}

/// Reaps what has come to this process because its own parent has ended; those that `is_ours` are reaped where they belong, and
/// then this is called again.
pub(super) fn reap_adopted(is_ours: impl Fn(Pid) -> bool) {
    while let Some(pid) = ended_child() {
        if is_ours(pid) || waitpid(Some(pid), WaitOptions::NOHANG).is_err() {
            return;
        }
    }
}

/// A child of this process that has ended and was not reaped, if there is one.
fn ended_child() -> Option<Pid> {
    const LOOK: libc::c_int = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the structure is plain data that may be zero, and lives on this frame; without a child that has ended the call
    // leaves its process number 0.
    let pid = unsafe {
        let mut info = std::mem::zeroed::<libc::siginfo_t>();
        let answer = libc::waitid(libc::P_ALL, 0, &raw mut info, LOOK);
        if answer == 0 { info.si_pid() } else { 0 }
    };
    Pid::from_raw(pid)
}
