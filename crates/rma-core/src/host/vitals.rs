//! Whether a process of this node has ended, asked by its number with the signal that is not sent (kill(2)).
//!
//! A process number has a meaning only within its namespace, so the namespace is published with it: a process
//! in another one is not asked after. A process that ended and was not waited for still has its number, but
//! its descriptor is readable (pidfd_open(2)). A number may have been given to a new process; that counts as
//! alive.

use super::Vitals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, test_kill_process};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// The sign of life of this process, for hosts whose processes are those of the system.
pub fn vitals() -> Vitals {
    Vitals { own: namespace().map_or(0, |space| vital(space, getpid())), has_ended }
}

fn vital(space: u32, process: Pid) -> u64 {
    u64::from(space) << 32 | u64::from(process.as_raw_nonzero().get().unsigned_abs())
}

fn has_ended(vital: u64) -> bool {
    let process = i32::try_from(vital & u64::from(u32::MAX)).ok().and_then(Pid::from_raw);
    let is_alike = namespace().is_some_and(|space| vital >> 32 == u64::from(space));
    is_alike
        && process
            .is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH) || is_unwaited(process))
}

/// Whether a process has ended and was not waited for. One that cannot be looked at counts as alive.
fn is_unwaited(process: Pid) -> bool {
    let Ok(descriptor) = pidfd_open(process, PidfdFlags::empty()) else { return false };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&now)).is_ok_and(|readable| readable > 0)
}

/// The namespace of this process's number.
fn namespace() -> Option<u32> {
    static SPACE: OnceLock<Option<u32>> = OnceLock::new();
    *SPACE.get_or_init(|| {
        let space = std::fs::metadata("/proc/self/ns/pid").ok()?;
        u32::try_from(space.ino()).ok().filter(|space| *space != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_has_ended_whether_or_not_it_was_waited_for() {
        let Vitals { own, has_ended } = vitals();
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let process = Pid::from_child(&child);
        let other = vital(namespace().unwrap(), process);
        assert!(own != 0 && !has_ended(own) && !has_ended(other));
        drop(child.stdin.take());
        while !has_ended(other) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(has_ended(other));
        // Counted elsewhere, or no number at all.
        assert!(!has_ended(vital(namespace().unwrap() ^ 1, process)));
        for wild in [0, u64::MAX, own & !u64::from(u32::MAX), own | 1 << 31] {
            assert!(!has_ended(wild), "{wild:#x}");
        }
    }
}
