//! Machines: a network namespace each, with an address on a common bridge, and a host name, /tmp and /dev/shm of its own.

use super::job::{Ended, ask};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// All machines, on one bridge.
#[derive(Debug)]
pub(super) struct Machines {
    folder: PathBuf,
    /// Folders that all machines see, outer ones first.
    seen: Vec<PathBuf>,
    holders: Vec<Child>,
    servers: Vec<Child>,
}

/// Longest that one of the tools here may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What a machine's first process does, and then waits for ever. Folders below /tmp that all machines see
/// stay there, where its own /tmp covers the others.
const BEGIN: &str = r#"set -e
hostname "$1"
shift
mount -t tmpfs tmpfs /dev/shm
mkdir /dev/shm/tmp
mount -t tmpfs tmpfs /dev/shm/tmp
for folder; do
    case $folder in
    /tmp/*)
        mkdir -p "/dev/shm$folder"
        mount --rbind "$folder" "/dev/shm$folder"
        ;;
    esac
done
mount --move /dev/shm/tmp /tmp
rmdir /dev/shm/tmp
ip link set lo up
echo up
exec sleep infinity
"#;

impl Machines {
    /// So many, in namespaces that are this process's own. State goes below the folder, which all machines see, as the others in `seen`.
    pub(super) fn make(folder: &Path, seen: &[&Path], count: usize) -> Result<Self, String> {
        let seen = seen.iter().copied().chain([folder]).map(Path::to_owned).collect();
        let mut machines = Self { folder: folder.to_owned(), seen, holders: Vec::new(), servers: Vec::new() };
        for line in
            ["link add sw type bridge", "addr add 10.77.0.254/24 dev sw", "link set sw up", "link set lo up"]
        {
            tool("ip", line.split(' '))?;
        }
        let hosts: String = (0..count).map(|at| format!("{} {}\n", address(at), name(at))).collect();
        fs::write(folder.join("hosts"), format!("127.0.0.1 localhost\n{hosts}")).map_err(explain)?;
        tool("mount", ["--bind".as_ref(), folder.join("hosts").as_os_str(), "/etc/hosts".as_ref()])?;
        fs::copy("/proc/self/exe", folder.join("xtask")).map_err(explain)?;
        fs::write(folder.join("as-ssh"), agent(folder)).map_err(explain)?;
        tool("chmod", ["+x".as_ref(), folder.join("as-ssh").as_os_str()])?;
        for at in 0..count {
            machines.add(at)?;
        }
        Ok(machines)
    }

    fn add(&mut self, at: usize) -> Result<(), String> {
        let name = name(at);
        let mut holder = Command::new("unshare");
        holder.args(["--net", "--uts", "--mount", "--ipc", "--", "sh", "-c", BEGIN, "sh", &name]);
        holder.args(&self.seen);
        let holder = up(holder.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let pid = holder.id().to_string();
        self.holders.push(holder);
        let (link, to) = (link(at), format!("{}/24", address(at)));
        tool("ip", ["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &pid])?;
        tool("ip", ["link", "set", &link, "master", "sw", "up"])?;
        for line in [format!("addr add {to} dev eth0"), "link set eth0 up".to_owned()] {
            let mut command = self.command(at, "ip");
            checked(command.args(line.split(' ')))?;
        }
        let mut server = self.command(at, self.folder.join("xtask"));
        server.args(["cluster", "--inside=3"]).stdin(Stdio::null()).stdout(Stdio::piped());
        self.servers.push(up(&mut server)?);
        Ok(())
    }

    /// A program on a machine. Variables of this project that this process has are not the job's.
    pub(super) fn command(&self, at: usize, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.holders[at].id().to_string(), "-n", "-m", "-u", "-i", "--"]).arg(program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"RMA_"))
        {
            command.env_remove(name);
        }
        command
    }

    /// What stands in for ssh.
    pub(super) fn agent(&self) -> PathBuf {
        self.folder.join("as-ssh")
    }

    /// Where the state of everything goes; all machines see it.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn count(&self) -> usize {
        self.holders.len()
    }

    /// Pulls the cable of a machine, or puts it in again.
    pub(super) fn plug(&self, at: usize, is_in: bool) -> Result<(), String> {
        tool("ip", ["link", "set", &link(at), if is_in { "up" } else { "down" }])
    }

    /// Makes a machine's network slow or lossy both ways, in the words of `tc netem`; without words it is as before.
    pub(super) fn disturb(&self, at: usize, words: &str) -> Result<(), String> {
        let verb = if words.is_empty() { ["qdisc", "del"] } else { ["qdisc", "replace"] };
        let rest = if words.is_empty() {
            Vec::new()
        } else {
            ["netem"].into_iter().chain(words.split(' ')).collect()
        };
        let line = |device| verb.into_iter().chain(["dev", device, "root"]).chain(rest.iter().copied());
        let link = link(at);
        tool("tc", line(&link))?;
        checked(self.command(at, "tc").args(line("eth0")))
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for holder in self.servers.iter_mut().chain(&mut self.holders) {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// A machine's name.
pub(super) fn name(at: usize) -> String {
    format!("n{}", at + 1)
}

/// A machine's address.
pub(super) fn address(at: usize) -> String {
    format!("10.77.0.{}", at + 1)
}

/// The bridge's end of a machine's cable.
fn link(at: usize) -> String {
    format!("v{}", at + 1)
}

/// Stands in for ssh.
fn agent(folder: &Path) -> String {
    format!("#!/bin/sh\nexec '{}/xtask' cluster --inside=4 -- \"$@\"\n", folder.display())
}

/// Starts a process that says when it is up.
fn up(command: &mut Command) -> Result<Child, String> {
    let mut child = command.spawn().map_err(explain)?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(explain)?;
    }
    match line.as_str() {
        "up\n" => Ok(child),
        _ => Err(format!("{command:?} does not come up")),
    }
}

fn tool<S: AsRef<OsStr>>(program: &str, words: impl IntoIterator<Item = S>) -> Result<(), String> {
    checked(Command::new(program).args(words))
}

fn checked(command: &mut Command) -> Result<(), String> {
    let Ended { code, stderr, .. } = ask(command, LIMIT)?;
    if code == Some(0) { Ok(()) } else { Err(format!("{command:?}: {}", stderr.trim())) }
}

fn explain(error: std::io::Error) -> String {
    format!("the machines cannot be made: {error}")
}
