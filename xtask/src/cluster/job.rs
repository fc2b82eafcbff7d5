//! A command under a time limit, and whether it has left something behind.

use crate::stage::{Process, processes};
use std::collections::HashSet;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long processes may outlive their launcher.
const AFTERMATH: Duration = Duration::from_secs(5);
/// How often is looked at what has no event to wait for.
const LOOK: Duration = Duration::from_millis(2);

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its exit status; none after a signal.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) took: Duration,
    /// Processes that had to be ended, since they outlived their launcher.
    pub(super) left: Vec<String>,
}

/// Runs it. A command that is over its limit is killed with its process group.
pub(super) fn run(command: &mut Command, limit: Duration) -> Result<Ended, String> {
    let ended = run_while(command, limit, |_| {})?;
    match ended.left.as_slice() {
        [] => Ok(ended),
        left => {
            Err(format!("left behind: {}\n{}{}", left.join(", "), tail(&ended.stdout), tail(&ended.stderr)))
        }
    }
}

/// A command that is no job: what others leave behind is none of its.
pub(super) fn ask(command: &mut Command, limit: Duration) -> Result<Ended, String> {
    finish(command, limit, |_| {}, |_| Vec::new())
}

/// The same, also where processes were left; meanwhile `work` is done with the process's number.
pub(super) fn run_while(
    command: &mut Command,
    limit: Duration,
    work: impl FnOnce(u32),
) -> Result<Ended, String> {
    finish(command, limit, work, left_after)
}

fn finish(
    command: &mut Command,
    limit: Duration,
    work: impl FnOnce(u32),
    left_after: impl FnOnce(Duration) -> Vec<String>,
) -> Result<Ended, String> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{command:?} could not be started: {error}"))?;
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read any more was not said.
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = reader(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = reader(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    work(child.id());
    let (mut status, mut is_over) = (None, false);
    while status.is_none() {
        status = child.try_wait().map_err(|error| error.to_string())?;
        if status.is_none() && !is_over && start.elapsed() > limit {
            is_over = true;
            kill(-i64::from(child.id()));
        }
        thread::sleep(LOOK);
    }
    let took = start.elapsed();
    let left = left_after(if is_over { Duration::ZERO } else { AFTERMATH });
    let text = |thread: thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    let said = || format!("\n{}{}", tail(&stdout), tail(&stderr));
    if is_over {
        return Err(format!(
            "not done after {} s; there were {}{}",
            limit.as_secs(),
            left.join(", "),
            said()
        ));
    }
    let status = status.unwrap_or_else(|| std::process::ExitStatus::from_raw(0));
    Ok(Ended { code: status.code(), stdout, stderr, took, left })
}

/// Its last lines.
pub(super) fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(25)..].iter().map(|line| format!("    {line}\n")).collect()
}

/// Declares all processes that there are now to be no part of any job.
pub(super) fn settle() {
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *known = living().map(|process| process.pid).collect();
}

static KNOWN: std::sync::Mutex<Vec<i32>> = std::sync::Mutex::new(Vec::new());

/// Waits until no undeclared process is left; past the grace time, ends them. Names those that had to be
/// ended.
fn left_after(grace: Duration) -> Vec<String> {
    let known: HashSet<i32> =
        KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter().copied().collect();
    if known.is_empty() {
        return Vec::new();
    }
    let (start, mut ended) = (Instant::now(), Vec::new());
    loop {
        let left: Vec<_> = living().filter(|process| !known.contains(&process.pid)).collect();
        if left.is_empty() || start.elapsed() > grace + AFTERMATH {
            ended.sort();
            ended.dedup();
            return ended;
        }
        if start.elapsed() >= grace {
            for Process { pid, name, .. } in left {
                kill(pid.into());
                ended.push(format!("{name} ({pid})"));
            }
        }
        thread::sleep(LOOK);
    }
}

/// All processes of these namespaces that are alive, but for this one.
fn living() -> impl Iterator<Item = Process> {
    let own = std::process::id();
    processes().into_iter().filter(move |process| !process.is_dead && process.pid.unsigned_abs() != own)
}

/// Kills a process, or, with a minus, a group.
fn kill(pid: i64) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    let Some(number) = i32::try_from(pid.abs()).ok().and_then(Pid::from_raw) else { return };
    // It may have ended.
    let _ =
        if pid < 0 { kill_process_group(number, Signal::KILL) } else { kill_process(number, Signal::KILL) };
}
