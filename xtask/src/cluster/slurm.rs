//! A cluster of Slurm on the machines: munge, the controller on the first machine, and a daemon on each.

use super::job::{ask, tail};
use super::machines::{Machines, address, name};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the nodes may take to come up; some 8 s are usual.
const LIMIT: Duration = Duration::from_secs(30);

/// The daemons; they end with this.
#[derive(Debug)]
pub(super) struct Slurm(Vec<Child>);

impl Slurm {
    /// Starts it on the first machines, so many of them.
    pub(super) fn start(machines: &Machines, count: usize) -> Result<Self, String> {
        let folder = machines.folder();
        let mut key = [0u8; 128];
        let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
        let written = random.and_then(|()| fs::write(folder.join("munge.key"), key));
        written.map_err(|error| format!("a key for munge: {error}"))?;
        let _ = fs::set_permissions(folder.join("munge.key"), fs::Permissions::from_mode(0o600));
        let conf = folder.join("slurm.conf");
        fs::write(&conf, configuration(machines, count)).map_err(|error| error.to_string())?;
        for name in ["state", "spool"] {
            fs::create_dir_all(folder.join(name)).map_err(|error| error.to_string())?;
        }
        let mut slurm = Self(Vec::new());
        let at = |name: &str| folder.join(name).display().to_string();
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]).args([
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.socket")),
            format!("--pid-file={}", at("munge.pid")),
            format!("--log-file={}", at("munge.log")),
            format!("--seed-file={}", at("munge.seed")),
        ]);
        slurm.add(&mut munged)?;
        let begin = Instant::now();
        while !folder.join("munge.socket").exists() {
            if begin.elapsed() > LIMIT {
                let log = fs::read_to_string(folder.join("munge.log")).unwrap_or_default();
                return Err(format!("munged makes no socket\n{}", tail(&log)));
            }
            thread::sleep(Duration::from_millis(20));
        }
        let conf = conf.display().to_string();
        slurm.add(machines.command(0, "slurmctld").args(["-D", "-i", "-f", &conf]))?;
        for node in 0..count {
            slurm.add(machines.command(node, "slurmd").args(["-D", "-N", &name(node), "-f", &conf]))?;
        }
        slurm.wait(machines, count)?;
        Ok(slurm)
    }

    fn add(&mut self, command: &mut Command) -> Result<(), String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.0.push(command.spawn().map_err(|error| format!("{command:?}: {error}"))?);
        Ok(())
    }

    fn wait(&self, machines: &Machines, count: usize) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let mut sinfo = machines.command(0, "sinfo");
            sinfo.args(["-h", "-N", "-o", "%T"]).env("SLURM_CONF", machines.folder().join("slurm.conf"));
            let ended = ask(&mut sinfo, LIMIT)?;
            if ended.stdout.lines().filter(|state| *state == "idle").count() == count {
                return Ok(());
            }
            if begin.elapsed() > LIMIT {
                let log = fs::read_to_string(machines.folder().join("slurmctld.log")).unwrap_or_default();
                return Err(format!("the nodes of Slurm are {:?}\n{}", ended.stdout, tail(&log)));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.0.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn configuration(machines: &Machines, count: usize) -> String {
    let lab = machines.folder().display();
    let nodes: String = (0..count)
        .map(|at| format!("NodeName={} NodeAddr={} CPUs=8 State=UNKNOWN\n", name(at), address(at)))
        .collect();
    format!(
        "ClusterName=xtask\nSlurmctldHost={first}({addr})\nAuthType=auth/munge\nAuthInfo=socket={lab}/munge.socket\n\
         CryptoType=crypto/munge\nSlurmUser=root\nStateSaveLocation={lab}/state\nSlurmdSpoolDir={lab}/spool/%n\n\
         SlurmctldPidFile={lab}/slurmctld.pid\nSlurmdPidFile={lab}/slurmd.%n.pid\nSlurmctldLogFile={lab}/slurmctld.log\n\
         SlurmdLogFile={lab}/slurmd.%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
         MpiDefault=none\nReturnToService=2\nSchedulerType=sched/builtin\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n{nodes}\
         PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE\n",
        first = name(0),
        addr = address(0),
    )
}
