//! What each launcher needs to know to place a job.

use super::machines::{Machines, address, name};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What starts jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launcher {
    /// This project's, by the stand-in of ssh.
    Rmarun,
    /// MPICH's, in the same way.
    Hydra,
    /// Open MPI's, in the same way.
    OpenMpi,
    /// `srun --mpi=pmi2`.
    SlurmPmi2,
    /// `srun --mpi=pmix`.
    SlurmPmix,
    /// A script in `sbatch`.
    SlurmBatch,
    /// `rmarun` inside `salloc`, which has to find out by itself where.
    SlurmRmarun,
}

/// A job.
#[derive(Clone, Debug)]
pub(super) struct Job<'a> {
    /// Slots of each machine, from the first on.
    pub(super) layout: Vec<u32>,
    pub(super) ranks: u32,
    pub(super) variables: Vec<(&'a str, &'a str)>,
    pub(super) program: Vec<OsString>,
    pub(super) limit: Duration,
}

/// How ranks lie on the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// One per machine, in turn.
    Turns,
    /// As many on each, one machine after the other.
    Blocks,
    /// One on each machine but the first, which has all others.
    Uneven,
}

impl Arrangement {
    /// Slots of each of so many machines for so many ranks.
    pub(super) fn slots(self, machines: u32, ranks: u32) -> Vec<u32> {
        let others = machines - 1;
        match self {
            Self::Blocks => vec![ranks.div_ceil(machines); machines as usize],
            Self::Uneven if ranks > machines => {
                std::iter::once(ranks - others).chain((0..others).map(|_| 1)).collect()
            }
            Self::Turns | Self::Uneven => vec![1; machines as usize],
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Turns => "in turn",
            Self::Blocks => "in blocks",
            Self::Uneven => "uneven",
        }
    }
}

impl Launcher {
    pub(super) const ALL: [Self; 7] = [
        Self::Rmarun,
        Self::Hydra,
        Self::OpenMpi,
        Self::SlurmPmi2,
        Self::SlurmPmix,
        Self::SlurmBatch,
        Self::SlurmRmarun,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Rmarun => "rmarun",
            Self::Hydra => "mpiexec.hydra",
            Self::OpenMpi => "mpirun of Open MPI",
            Self::SlurmPmi2 => "srun, pmi2",
            Self::SlurmPmix => "srun, pmix",
            Self::SlurmBatch => "srun in sbatch",
            Self::SlurmRmarun => "rmarun in salloc",
        }
    }

    pub(super) fn is_of_slurm(self) -> bool {
        matches!(self, Self::SlurmPmi2 | Self::SlurmPmix | Self::SlurmBatch | Self::SlurmRmarun)
    }

    /// Whether it is installed.
    pub(super) fn is_there(self) -> bool {
        match self {
            Self::Rmarun => true,
            Self::Hydra => has("mpiexec.hydra"),
            Self::OpenMpi => has("mpirun.openmpi"),
            _ => has("srun") && has("slurmctld") && has("slurmd") && has("munged"),
        }
    }

    /// The job on the first machine's command line.
    pub(super) fn command(self, machines: &Machines, rmarun: &Path, job: &Job<'_>) -> Command {
        let used = || job.layout.iter().enumerate().filter(|(_, slots)| **slots > 0);
        let hosts = |name: fn(usize) -> String| {
            used().map(|(at, slots)| format!("{}:{slots}", name(at))).collect::<Vec<_>>().join(",")
        };
        let (ranks, agent) = (job.ranks.to_string(), machines.agent());
        let nodes = used().count().to_string();
        let mut line = Line(Vec::new());
        match self {
            Self::Rmarun => {
                line.add([
                    rmarun.as_os_str(),
                    "--launch-agent".as_ref(),
                    agent.as_os_str(),
                    "--hosts".as_ref(),
                ]);
                line.add([hosts(name).as_str(), "--timeout", &job.limit.as_secs().to_string(), "-n", &ranks]);
            }
            Self::Hydra => {
                line.add(["mpiexec.hydra", "-iface", "eth0", "-launcher", "ssh", "-launcher-exec"]);
                line.add([agent.as_os_str()]);
                line.add(["-hosts", &hosts(address), "-n", &ranks]);
            }
            Self::OpenMpi => {
                line.add([
                    "mpirun.openmpi",
                    "--allow-run-as-root",
                    "--oversubscribe",
                    "--mca",
                    "plm_rsh_agent",
                ]);
                line.add([agent.as_os_str()]);
                line.add(["--mca", "plm", "rsh", "--host", &hosts(name), "-n", &ranks]);
            }
            Self::SlurmPmi2 => line.add(["srun", "--mpi=pmi2", "-O", "-N", &nodes, "-n", &ranks]),
            Self::SlurmPmix => line.add(["srun", "--mpi=pmix", "-O", "-N", &nodes, "-n", &ranks]),
            Self::SlurmBatch => {
                let script = "srun --mpi=pmix -O \"$@\"";
                line.add(["sh", "-c", BATCH, "sh", script, &nodes, &ranks]);
            }
            Self::SlurmRmarun => {
                line.add(["salloc", "-Q", "-O", "-N", &nodes, "-n", &ranks]);
                line.add([rmarun.as_os_str(), "--launch-agent".as_ref(), agent.as_os_str()]);
                line.add(["--timeout", &job.limit.as_secs().to_string(), "-n", &ranks]);
            }
        }
        for (name, value) in &job.variables {
            let both = format!("{name}={value}");
            match self {
                Self::Rmarun | Self::OpenMpi | Self::SlurmRmarun => line.add(["-x", &both]),
                Self::Hydra => line.add(["-genv", name, value]),
                // The whole environment is exported.
                Self::SlurmPmi2 | Self::SlurmPmix | Self::SlurmBatch => {}
            }
        }
        line.add(&job.program);
        let mut command = machines.command(0, &line.0[0]);
        command.args(&line.0[1..]);
        // The launcher's own settings.
        command.envs(job.variables.iter().copied());
        if self.is_of_slurm() {
            command.env("SLURM_CONF", machines.folder().join("slurm.conf"));
        }
        command
    }
}

/// Runs a script of `sbatch` and shows what it wrote: `sh -c BATCH sh SCRIPT NODES RANKS PROGRAM...`.
const BATCH: &str = "script=$1 nodes=$2 ranks=$3; shift 3; out=${SLURM_CONF%/*}/batch.out; rm -f $out
printf '#!/bin/sh\\n%s\\n' \"$script\" | sbatch -Q --wait -O -N $nodes -n $ranks -o $out /dev/stdin \"$@\"
code=$?; cat $out; exit $code";

/// A command line that grows.
struct Line(Vec<OsString>);

impl Line {
    fn add<S: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    }
}

/// Whether a program is there.
pub(super) fn has(name: &str) -> bool {
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.push("/usr/sbin".into());
    folders.iter().any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrangement_has_a_slot_for_every_rank() {
        for (arrangement, machines, ranks, slots) in [
            (Arrangement::Turns, 2, 4, [1, 1].as_slice()),
            (Arrangement::Blocks, 2, 4, &[2, 2]),
            (Arrangement::Blocks, 3, 4, &[2, 2, 2]),
            (Arrangement::Uneven, 2, 4, &[3, 1]),
            (Arrangement::Uneven, 3, 4, &[2, 1, 1]),
            (Arrangement::Uneven, 2, 2, &[1, 1]),
        ] {
            assert_eq!(arrangement.slots(machines, ranks), slots, "{arrangement:?}");
        }
    }
}
