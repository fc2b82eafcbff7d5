//! What a job leaves behind, or does not: processes, files in places that are shared, names of sockets.
//!
//! Other jobs may run at the same time. So processes are told apart by a mark in their environment, sockets are those that
//! the job's processes were seen to hold, and of new files only those count that have this project's name.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashSet;
use std::fmt;
use std::fs::{read, read_dir, read_link, read_to_string};
use std::path::{Path, PathBuf};

/// Living processes, with what identifies them to a reader.
#[derive(Debug)]
pub struct Processes(Vec<Process>);

#[derive(Debug)]
struct Process {
    pid: u32,
    rank: Option<u32>,
    line: String,
    /// One letter: running, sleeping, stopped, …
    state: char,
    /// The kernel function that it sleeps in.
    place: String,
}

/// What was there before, and the sockets that were noted.
#[derive(Debug)]
pub struct Traces {
    files: HashSet<PathBuf>,
    sockets: HashSet<String>,
}

/// Places that every process can write to.
const SHARED_PLACES: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

impl Processes {
    /// Those whose environment has this variable with this value. Zombies have no environment any more.
    pub fn marked(name: &str, value: &str) -> Self {
        let mark = format!("{name}={value}");
        let entries = read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Self(pids.filter_map(|pid| Process::with(pid, mark.as_bytes())).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rank and process id of each that has a rank, in rank order.
    pub fn ranks(&self) -> Vec<(u32, u32)> {
        let mut ranks = self.0.iter().filter_map(|p| Some((p.rank?, p.pid))).collect::<Vec<_>>();
        ranks.sort_unstable();
        ranks
    }

    /// Kills them.
    pub fn kill(&self) {
        for process in &self.0 {
            kill(process.pid);
        }
    }
}

/// Kills a process that the caller has started, if it still lives.
pub fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

impl Process {
    fn with(pid: u32, mark: &[u8]) -> Option<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let environment = read(folder.join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables.clone().find(|variable| *variable == mark)?;
        let rank = variables.find_map(|variable| {
            std::str::from_utf8(variable.strip_prefix(b"PMI_RANK=")?).ok()?.parse().ok()
        });
        let line = read(folder.join("cmdline")).ok()?;
        let stat = read_to_string(folder.join("stat")).unwrap_or_default();
        Some(Self {
            pid,
            rank,
            line: String::from_utf8_lossy(&line).replace('\0', " "),
            state: stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?'),
            place: read_to_string(folder.join("wchan")).unwrap_or_default(),
        })
    }
}

impl fmt::Display for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|process| {
            let rank = process.rank.map_or_else(|| "no rank".to_owned(), |rank| format!("rank {rank}"));
            let Process { pid, line, state, place, .. } = process;
            writeln!(f, "  {rank}, pid {pid}, state {state} in {place}: {line}")
        })
    }
}

impl Traces {
    /// What is there now.
    pub(crate) fn before() -> Self {
        Self { files: shared_files().collect(), sockets: HashSet::new() }
    }

    /// Notes the named sockets that these processes hold; answers how many have been noted.
    pub(crate) fn note_sockets(&mut self, processes: &Processes) -> usize {
        let held = processes.0.iter().flat_map(|process| socket_inodes(process.pid)).collect::<HashSet<_>>();
        let names = abstract_sockets().into_iter().filter(|(inode, _)| held.contains(inode));
        self.sockets.extend(names.map(|(_, name)| name));
        self.sockets.len()
    }

    /// What there is of a job whose processes have all ended.
    pub(crate) fn left(&self) -> Vec<String> {
        let is_ours =
            |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("rma"));
        let files = shared_files().filter(|path| !self.files.contains(path) && is_ours(path));
        let sockets = abstract_sockets().into_iter().map(|(_, name)| name);
        let sockets = sockets.filter(|name| self.sockets.contains(name));
        files.map(|path| path.display().to_string()).chain(sockets).collect()
    }
}

fn shared_files() -> impl Iterator<Item = PathBuf> {
    SHARED_PLACES
        .iter()
        .flat_map(|place| read_dir(place).into_iter().flatten().flatten())
        .map(|entry| entry.path())
}

fn socket_inodes(pid: u32) -> Vec<u64> {
    let entries = read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |path: PathBuf| path.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    entries.filter_map(|entry| inode(read_link(entry.path()).ok()?)).collect()
}

/// Inode and name of every socket whose name is in no file system.
fn abstract_sockets() -> Vec<(u64, String)> {
    let table = read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    // Num RefCount Protocol Flags Type St Inode Path
    let lines = table.lines().skip(1).map(|line| line.split_whitespace());
    let rows = lines.filter_map(|mut words| Some((words.nth(6)?.parse().ok()?, words.next()?.to_owned())));
    rows.filter(|(_, name)| name.starts_with('@')).collect()
}
