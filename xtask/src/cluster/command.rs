//! The command line, what is built outside, and the way in.

use super::parts::Part;
use super::{bed, shell};
use crate::Outcome;
use crate::stage::{Ending, Supervisor};
use crate::workspace::Workspace;
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Longest that all of it may take: what CI runs, and everything.
const LIMITS: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(5400)];

/// Programs that make machines; without one of them there are none.
const TOOLS: [&str; 5] = ["unshare", "nsenter", "ip", "mount", "cc"];

/// Run jobs on several machines, made of network namespaces on this one.
///
/// Each machine has an address, a host name, /tmp and /dev/shm of its own. The C programs, random programs, demos and smallest
/// benchmarks run across them on each channel, started by each launcher that is installed; networks are cut, delayed and
/// made to lose packets. Everything has a time limit, and nothing stays behind. Root is not needed where users may make namespaces.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The part that CI has time for.
    #[arg(long)]
    pub(super) quick: bool,

    /// Everything is built and installed.
    #[arg(long)]
    built: bool,

    /// Only these parts.
    #[arg(long, value_name = "PART", value_enum)]
    pub(super) part: Vec<Part>,

    /// Only this channel; else tcp, and ofi where libfabric is installed.
    #[arg(long, value_name = "NAME", value_parser = ["tcp", "ofi"])]
    pub(super) channel: Option<String>,

    /// Only C programs whose name contains this.
    #[arg(long, value_name = "NAME")]
    pub(super) program: Option<String>,

    /// Steps of random programs, over all arrangements.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(super) steps: u64,

    /// What this process is: 1 the first of the namespaces, 2 the one that does the work, 3 and 4 what stands in for ssh.
    #[arg(long, hide = true, default_value_t = 0)]
    pub(super) inside: u32,

    /// The command line of ssh.
    #[arg(hide = true, last = true)]
    words: Vec<OsString>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    match args.inside {
        0 => enter(workspace, args),
        1 => supervise(args),
        _ => bed::run(workspace, args),
    }
}

impl Args {
    /// Whether this process stands in for ssh.
    pub(crate) fn is_shell(&self) -> bool {
        self.inside > 2
    }
}

/// Stands in for ssh, at one end or the other.
pub(crate) fn stand_in(args: &Args) -> Outcome {
    if args.inside == 3 { shell::serve() } else { shell::connect(&args.words) }
}

/// Builds, and becomes what makes the namespaces.
fn enter(workspace: &Workspace, args: &Args) -> Outcome {
    if let Some(why) = refusal() {
        println!("cluster: skipped: {why}");
        return Ok(ExitCode::SUCCESS);
    }
    for mut build in builds(workspace).into_iter().filter(|_| !args.built) {
        let status = build.status().map_err(|error| format!("{build:?} could not be started: {error}"))?;
        if !status.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    // This very program, whatever the builds have put in its place; the descriptor stays open across the way in.
    let this =
        File::open("/proc/self/exe").map_err(|error| format!("this program cannot be opened: {error}"))?;
    fcntl_setfd(&this, FdFlags::empty()).map_err(|error| error.to_string())?;
    let this = format!("/proc/self/fd/{}", this.into_raw_fd());
    let mut command = Command::new("unshare");
    command.args(namespaces()).arg("--").arg(this).args(std::env::args_os().skip(1)).arg("--inside=1");
    Err(format!("unshare could not be started: {}", command.exec()))
}

/// Why no machine can be made here.
fn refusal() -> Option<String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &&&str| !std::env::split_paths(&folders).any(|folder| folder.join(tool).is_file());
    if let Some(tool) = TOOLS.iter().find(|tool| is_there(tool)) {
        return Some(format!("there is no {tool} here (Debian: util-linux, iproute2, gcc)"));
    }
    // A bridge and a pair of interfaces, too: some kernels have namespaces but not those.
    let probe =
        "mount -t tmpfs tmpfs /tmp && ip link add br0 type bridge && ip link add v0 type veth peer name v1";
    let mut command = Command::new("unshare");
    let output = command.args(namespaces()).args(["--", "sh", "-c", probe]).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(format!("namespaces may not be made here: {}", said.lines().next().unwrap_or("no reason")))
        }
        Err(error) => Some(format!("unshare could not be started: {error}")),
    }
}

/// Options of `unshare`.
fn namespaces() -> Vec<OsString> {
    let mut words =
        ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"].to_vec();
    if !rustix::process::geteuid().is_root() {
        words.extend(["--user", "--map-root-user"]);
    }
    words.into_iter().map(OsString::from).collect()
}

/// What is run, built: the whole workspace at once, since a part of it has other features; and the installation.
fn builds(workspace: &Workspace) -> [Command; 2] {
    let mut install = Command::new("/proc/self/exe");
    install
        .args(["install", "--dev", "--prefix"])
        .arg(workspace.target().join("prefix"))
        .stdout(Stdio::null());
    [workspace.build_all(), install]
}

/// As the first process of the namespaces: the reaper, which ends with everything else.
fn supervise(args: &Args) -> Outcome {
    let supervisor =
        Supervisor::new().map_err(|error| format!("this system refuses to supervise: {error}"))?;
    let mut worker = Command::new("/proc/self/exe");
    worker.args(std::env::args_os().skip(1).filter(|word| word != "--inside=1")).arg("--inside=2");
    match supervisor.run(&mut worker, LIMITS[usize::from(!args.quick)]) {
        Ending::Passed => Ok(ExitCode::SUCCESS),
        Ending::Failed(reason) => Err(format!("cluster: {reason}")),
        Ending::Interrupted(signal) => Ok(ExitCode::from(128u8.saturating_add(signal as u8))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_choose_parts_and_channels() {
        let parse = crate::testing::parse::<super::Args>;
        let args = parse("cluster --quick --part random --part faults --channel tcp").unwrap();
        assert_eq!((args.quick, args.part.len(), args.channel.as_deref()), (true, 2, Some("tcp")));
        for wrong in ["cluster --part none", "cluster --channel shm", "cluster --steps x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
