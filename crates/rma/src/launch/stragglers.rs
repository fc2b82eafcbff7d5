//! What ranks have started and left behind: processes out of the job's group, in a session of their own or with a parent that
//! has ended. They end with the job all the same.
//!
//! Two signs tell them. The job's mark stands in the environment, which whatever a rank starts inherits. And the launcher is
//! their parent: the system gives it what has lost its own (`PR_SET_CHILD_SUBREAPER`), so a process without the mark is found
//! too, as long as the launcher lives. A process is killed by a descriptor that was opened before the sign was read: no signal
//! hits one that has got the number of another since.
//!
//! Used by the launcher at the end of a job, and by the guard ([`super::guard`]) when the launcher has been killed.

use rma_core::random::random;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper};
use std::fs;
use std::io;
use std::time::Duration;

/// The variable that holds the mark.
pub(super) const MARK: &str = "RMA_JOB";

/// Looks at all processes, until one look finds none left. A process may have started another one just before
/// it was killed.
const LOOKS: u32 = 200;
/// Time for what was killed to disappear.
const PAUSE: Duration = Duration::from_millis(5);

/// The mark of a job: its own number, behind those of the jobs that it was started in, which end it too.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    own: String,
    value: String,
}

impl Mark {
    /// A new one.
    pub(super) fn new() -> io::Result<Self> {
        let bytes =
            random::<16>().map_err(|error| io::Error::other(format!("cannot get random bytes: {error}")))?;
        let own: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let outer = std::env::var(MARK).ok().filter(|outer| !outer.is_empty());
        let value = outer.map_or_else(|| own.clone(), |outer| format!("{outer}:{own}"));
        Ok(Self { own, value })
    }

    /// What the variable is set to.
    pub(super) fn value(&self) -> &str {
        &self.value
    }

    fn is_on(&self, pid: Pid) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| self.is_in(variable))
    }

    fn is_in(&self, variable: &[u8]) -> bool {
        let value = variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| value.split(|byte| *byte == b':').any(|job| job == self.own.as_bytes()))
    }
}

/// Becomes the parent of whatever loses its own below this process.
pub(super) fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills everything that carries the mark.
pub(super) fn end_marked(mark: &Mark) {
    end(&|pid| mark.is_on(pid));
}

/// Kills everything that carries the mark, and all living children of this process but those that are `spared`.
pub(super) fn end_marked_and_adopted(mark: &Mark, spared: &[Pid]) {
    let me = getpid();
    end(&|pid| mark.is_on(pid) || (!spared.contains(&pid) && is_living_child(pid, me)));
}

/// The living children of this process: a shell that has become the launcher (exec) may have some, which are not the job's.
pub(super) fn children() -> Vec<Pid> {
    processes().filter(|pid| is_living_child(*pid, getpid())).collect()
}

fn end(is_of_job: &dyn Fn(Pid) -> bool) {
    for _ in 0..LOOKS {
        let found = processes().filter(|pid| kill_if(*pid, is_of_job)).count();
        if found == 0 {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

fn kill_if(pid: Pid, is_of_job: &dyn Fn(Pid) -> bool) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    is_of_job(pid) && pidfd_send_signal(&process, Signal::KILL).is_ok()
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(|pid| *pid != getpid())
}

fn is_living_child(pid: Pid, parent: Pid) -> bool {
    let status = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, in parentheses, may hold anything.
    let status = String::from_utf8_lossy(&status);
    let mut rest = status.rsplit(')').next().unwrap_or_default().split_whitespace();
    let is_living = rest.next().is_some_and(|state| !["Z", "X"].contains(&state));
    is_living && rest.next().and_then(|number| number.parse().ok()) == Some(parent.as_raw_pid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_whole_and_also_behind_others() {
        let mark = Mark::new().unwrap();
        let own = mark.own.as_str();
        for (variable, is_marked) in [
            (format!("RMA_JOB={own}"), true),
            (format!("RMA_JOB=outer:{own}"), true),
            (format!("RMA_JOB={own}:inner"), true),
            (format!("RMA_JOB={own}0"), false),
            (format!("RMA_JOB=x{own}"), false),
            (format!("RMA_JOBS={own}"), false),
            (format!("X={own}"), false),
            ("RMA_JOB=".to_owned(), false),
        ] {
            assert_eq!(mark.is_in(variable.as_bytes()), is_marked, "{variable}");
        }
        assert_ne!(Mark::new().unwrap().own, mark.own);
    }

    #[test]
    fn children_are_told_by_their_parent_while_they_live() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(is_living_child(pid, getpid()) && !is_living_child(getpid(), getpid()));
        assert!(!kill_if(pid, &|_| false) && kill_if(pid, &|other| other == pid));
        child.wait().unwrap();
        assert!(!is_living_child(pid, getpid()) && !kill_if(pid, &|_| true));
    }
}
