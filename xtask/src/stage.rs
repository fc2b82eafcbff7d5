//! Runs a command under a time limit, and ends whatever it leaves behind.
//!
//! Invariants: while a supervisor lives, this process is the reaper of all its descendants, so an orphan of the command is
//! seen, reaped when it dies, and ended when it stays. After [`Supervisor::run`] no descendant is alive. A supervisor
//! waits for any child, so nothing else in the process may start one meanwhile.

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::HashSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long processes that outlive their command may take to end by themselves.
const GRACE: Duration = Duration::from_secs(5);
/// How often the process table, which cannot be waited on, is looked at meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With status 0, and nothing left behind.
    Passed,
    /// In any other way, as a clause for people.
    Failed(String),
    /// It was ended because this process got a signal that asks it to end.
    Interrupted(i32),
}

/// Runs commands, one after another or at once.
#[derive(Debug)]
pub(crate) struct Supervisor {
    events: Receiver<Event>,
    sender: Sender<Event>,
}

#[derive(Debug)]
enum Event {
    /// A command, by its place.
    Ended(usize, WaitStatus),
    Signal(i32),
}

/// A process as the process table shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    pub(crate) name: String,
    pub(crate) is_dead: bool,
}

impl Supervisor {
    /// Makes this process the reaper of its descendants, and takes over the signals that end it.
    pub(crate) fn new() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let (sender, events) = unbounded();
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let signal_sender = sender.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                // The receiver is gone only when the process is about to end anyway.
                let _ = signal_sender.send(Event::Signal(signal));
            }
        });
        Ok(Self { events, sender })
    }

    /// Runs the command in a process group of its own, without input.
    pub(crate) fn run(&self, command: &mut Command, limit: Duration) -> Ending {
        let mut endings = self.run_all(&mut [command], limit);
        endings.pop().map_or_else(|| Ending::Failed("it was not run".to_owned()), |(ending, _)| ending)
    }

    /// Runs commands at once, each in a process group of its own, without input, until all have ended; answers how each ended
    /// and after what time. A process that a command leaves behind counts against the last one.
    pub(crate) fn run_all(&self, commands: &mut [&mut Command], limit: Duration) -> Vec<(Ending, Duration)> {
        let start = Instant::now();
        let mut endings = vec![None; commands.len()];
        let mut children = Vec::new();
        for (command, ending) in commands.iter_mut().zip(&mut endings) {
            match command.stdin(Stdio::null()).process_group(0).spawn() {
                Ok(child) => children.push(Some(Pid::from_child(&child))),
                Err(error) => {
                    children.push(None);
                    *ending =
                        Some((Ending::Failed(format!("could not be started: {error}")), Duration::ZERO));
                }
            }
        }
        let reaper = {
            let (sender, mut running) = (self.sender.clone(), children.clone());
            thread::spawn(move || {
                // Orphans of the commands become children of this process: reap them too, so that a look for their
                // death (tests do) sees it. The loop ends with the commands, or when there is no child at all.
                while running.iter().any(Option::is_some) {
                    let Ok(Some((pid, status))) = wait(WaitOptions::empty()) else { return };
                    if let Some(index) = running.iter().position(|child| *child == Some(pid)) {
                        running[index] = None;
                        let _ = sender.send(Event::Ended(index, status));
                    }
                }
            })
        };
        let mut cut = None;
        while cut.is_none() && endings.iter().any(Option::is_none) {
            match self.events.recv_timeout(limit.saturating_sub(start.elapsed())) {
                Ok(Event::Ended(index, status)) => endings[index] = Some((judge(status), start.elapsed())),
                Ok(Event::Signal(signal)) => cut = Some(Ending::Interrupted(signal)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let reason = format!("not done after its limit of {} s", limit.as_secs_f32());
                    cut = Some(Ending::Failed(reason));
                }
            }
        }
        for (child, _) in children.iter().zip(&endings).filter(|(_, ending)| ending.is_none()) {
            // Refused only when the group has ended since.
            let _ = child.map(|child| kill_process_group(child, Signal::KILL));
        }
        // A killed group ends at once, and so does the wait for its leader.
        let _ = reaper.join();
        let left = end_descendants(if cut.is_none() { GRACE } else { Duration::ZERO });
        // What arrived meanwhile: an end that came with the limit, or a signal, which still asks this process to end.
        for event in self.events.try_iter() {
            if let Event::Signal(signal) = event {
                cut = Some(Ending::Interrupted(signal));
                endings.fill(None);
            }
        }
        // After a cut, what is left may be what was just killed.
        let has_left = cut.is_none() && !left.is_empty();
        let cut = cut.unwrap_or(Ending::Passed);
        let mut endings: Vec<_> = endings
            .into_iter()
            .map(|ending| ending.unwrap_or_else(|| (cut.clone(), start.elapsed())))
            .collect();
        if let Some((ending @ Ending::Passed, _)) = endings.last_mut().filter(|_| has_left) {
            *ending = Ending::Failed(format!("left processes behind: {}", left.join(", ")));
        }
        endings
    }
}

/// What the end of a command means.
fn judge(status: WaitStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ending::Passed,
        (Some(code), _) => Ending::Failed(format!("exit status {code}")),
        (None, signal) => Ending::Failed(format!("killed by signal {}", signal.unwrap_or_default())),
    }
}

/// Waits until this process has no descendants; past the grace time, ends them. Names those that had to be ended.
fn end_descendants(grace: Duration) -> Vec<String> {
    let start = Instant::now();
    let mut ended = Vec::new();
    let mut seen = HashSet::new();
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let alive = living_descendants(&processes(), getpid().as_raw_nonzero().get());
        if alive.is_empty() || start.elapsed() > 2 * GRACE {
            return ended;
        }
        if start.elapsed() >= grace {
            for process in alive {
                if let Some(pid) = Pid::from_raw(process.pid) {
                    let _ = kill_process(pid, Signal::KILL);
                }
                if seen.insert(process.pid) {
                    ended.push(format!("{} ({})", process.name, process.pid));
                }
            }
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// All processes that can be seen.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|entry| parse_stat(&std::fs::read_to_string(entry.path().join("stat")).ok()?))
        .collect()
}

/// Reads a line such as `12 (name) S 1 …`; the name may hold anything.
fn parse_stat(line: &str) -> Option<Process> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    Some(Process {
        pid: pid.parse().ok()?,
        parent: fields.next()?.parse().ok()?,
        name: name.to_owned(),
        is_dead,
    })
}

fn living_descendants(all: &[Process], ancestor: i32) -> Vec<Process> {
    let mut family = HashSet::from([ancestor]);
    // A child can have a smaller number than its parent, so one pass is not enough.
    loop {
        let before = family.len();
        family.extend(all.iter().filter(|p| family.contains(&p.parent)).map(|p| p.pid).collect::<Vec<_>>());
        if family.len() == before {
            break;
        }
    }
    all.iter().filter(|p| p.pid != ancestor && family.contains(&p.pid) && !p.is_dead).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "XTASK_STAGE_SCRIPT";
    const LIMIT: &str = "XTASK_STAGE_LIMIT_MS";
    /// Between scripts that run at once.
    const AT_ONCE: &str = " beside ";

    /// Runs a script under a supervisor in a process of its own, since a supervisor takes every child of its process.
    fn supervised(script: &str, limit_ms: u64) -> String {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stage::tests::supervise_when_asked", "--nocapture"])
            .env(SCRIPT, script)
            .env(LIMIT, limit_ms.to_string())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The inside of [`supervised`]; does nothing when the tests are run as usual.
    #[test]
    fn supervise_when_asked() {
        let Ok(script) = std::env::var(SCRIPT) else { return };
        let limit = Duration::from_millis(std::env::var(LIMIT).unwrap().parse().unwrap());
        let mut commands: Vec<_> = script.split(AT_ONCE).map(|_| Command::new("sh")).collect();
        for (command, script) in commands.iter_mut().zip(script.split(AT_ONCE)) {
            command.args(["-c", script]);
        }
        let mut commands: Vec<_> = commands.iter_mut().collect();
        for (ending, _) in Supervisor::new().unwrap().run_all(&mut commands, limit) {
            println!("ending: {ending:?}");
        }
        let alive = living_descendants(&processes(), getpid().as_raw_nonzero().get());
        println!("alive: {}", alive.len());
    }

    #[test]
    fn endings_are_told_apart() {
        for (script, ending) in [
            ("true", "ending: Passed"),
            ("exit 3", "ending: Failed(\"exit status 3\")"),
            ("kill -9 $$", "ending: Failed(\"killed by signal 9\")"),
            ("kill -TERM $PPID; exec sleep 60", "ending: Interrupted(15)"),
        ] {
            let output = supervised(script, 30_000);
            assert!(output.contains(ending) && output.contains("alive: 0"), "{script}: {output}");
        }
    }

    #[test]
    fn commands_that_run_at_once_have_an_end_each() {
        // The first ends only after the second.
        let (file, removed) =
            ("/tmp/xtask-stage-$PPID", "while ! rm /tmp/xtask-stage-$PPID 2>&-; do sleep 0.01; done");
        let output = supervised(&format!("{removed}; exit 4 beside sleep 0.1; touch {file}"), 30_000);
        let endings = "ending: Failed(\"exit status 4\")\nending: Passed\nalive: 0";
        assert!(output.contains(endings), "{output}");
        let output = supervised("sleep 60 beside true", 300);
        let endings = "ending: Failed(\"not done after its limit of 0.3 s\")\nending: Passed\nalive: 0";
        assert!(output.contains(endings), "{output}");
        let output = supervised("true beside kill -TERM $PPID; sleep 60", 30_000);
        assert!(output.contains("ending: Interrupted(15)\nalive: 0"), "{output}");
    }

    #[test]
    fn the_limit_ends_the_whole_group_and_those_that_left_it() {
        let start = Instant::now();
        let output = supervised("setsid sleep 60 & sleep 60", 200);
        assert!(output.contains("not done after its limit of 0.2 s"), "{output}");
        assert!(output.contains("alive: 0"), "{output}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn processes_left_behind_are_an_error_and_ended() {
        let output = supervised("setsid sleep 60 & true", 30_000);
        assert!(output.contains("left processes behind: sleep"), "{output}");
        assert!(output.contains("alive: 0"), "{output}");
    }

    #[test]
    fn late_enders_are_waited_for() {
        let output = supervised("sleep 0.3 & true", 30_000);
        assert!(output.contains("ending: Passed") && output.contains("alive: 0"), "{output}");
    }

    #[test]
    fn names_in_the_process_table_may_hold_anything() {
        let process = parse_stat("7 (a) b (c) S 3 7 7").unwrap();
        assert_eq!((process.pid, process.parent, process.name.as_str()), (7, 3, "a) b (c"));
        assert!(parse_stat("8 (x) Z 7 1").unwrap().is_dead);
        assert_eq!(parse_stat("nonsense"), None);
    }

    #[test]
    fn descendants_are_found_in_any_order() {
        let process = |pid, parent| Process { pid, parent, name: String::new(), is_dead: false };
        let all = [process(5, 9), process(9, 20), process(20, 1), process(6, 1)];
        let found: Vec<i32> = living_descendants(&all, 20).iter().map(|p| p.pid).collect();
        assert_eq!(found, [5, 9]);
    }
}
