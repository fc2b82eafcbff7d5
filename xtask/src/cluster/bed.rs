//! Inside the namespaces: makes the machines and goes through the parts.

use super::command::Args;
use super::job::{self, Ended, run_while, settle, tail};
use super::launcher::{Arrangement, Job, Launcher};
use super::machines::Machines;
use super::parts::Part;
use super::report::Report;
use super::slurm::Slurm;
use crate::Outcome;
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Machines of most parts, and of the one about scale.
const MACHINES: [usize; 2] = [3, 8];

/// Everything that a part needs.
#[derive(Debug)]
pub(super) struct Bed {
    pub(super) machines: Machines,
    pub(super) args: Args,
    /// Channels between machines that are to be tried.
    pub(super) channels: Vec<&'static str>,
    /// The installation.
    pub(super) prefix: PathBuf,
    /// Where cargo has put programs.
    pub(super) programs: PathBuf,
    /// The sources.
    pub(super) root: PathBuf,
    slurm: Option<Slurm>,
}

/// Goes through the parts.
pub(super) fn run(workspace: &Workspace, args: &Args) -> Outcome {
    let folder = workspace.target().join("cluster");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Of this mount namespace, as everything here: it is gone when the last process is.
    let mounted =
        job::ask(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&folder), Duration::from_secs(10))?;
    if mounted.code != Some(0) {
        return Err(format!("no file system for the machines: {}", mounted.stderr.trim()));
    }
    let parts = if args.part.is_empty() { Part::ALL.to_vec() } else { args.part.clone() };
    let count = MACHINES[usize::from(parts.contains(&Part::Scale) && !args.quick)];
    let mut bed = Bed {
        machines: Machines::make(&folder, &[workspace.root(), workspace.target()], count)?,
        args: args.clone(),
        channels: vec!["tcp"],
        prefix: workspace.target().join("prefix"),
        programs: workspace.target().join("debug"),
        root: workspace.root().to_owned(),
        slurm: None,
    };
    let mut report = Report::default();
    settle();
    bed.find_channels(&mut report)?;
    parts.into_iter().for_each(|part| part.run(&mut bed, &mut report));
    Ok(if report.sum_up() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Bed {
    fn find_channels(&mut self, report: &mut Report) -> Result<(), String> {
        let mut info = self.machines.command(0, self.prefix.join("bin/rma-info"));
        let said = job::ask(info.args(["--channels", "--json"]), Duration::from_secs(20))?.stdout;
        let json: serde_json::Value =
            serde_json::from_str(&said).map_err(|error| format!("rma-info: {error}"))?;
        let ofi = json["channels"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "ofi"));
        match &self.args.channel {
            Some(only) => self.channels = vec![if only == "tcp" { "tcp" } else { "ofi" }],
            None if ofi.is_some_and(|ofi| ofi["is_there"] == true) => self.channels.push("ofi"),
            None => report.skip("channel ofi", "there is no libfabric here (Debian: libfabric1)"),
        }
        Ok(())
    }

    /// What chooses a channel between machines: TCP is what there is without a wish.
    pub(super) fn preference(channel: &str) -> String {
        if channel == "tcp" { "auto".to_owned() } else { format!("shm,{channel}") }
    }

    /// A job by this project's launcher.
    pub(super) fn job<'a>(
        &self,
        (machines, arrangement): (u32, Arrangement),
        ranks: u32,
        variables: &[(&'a str, &'a str)],
        program: impl IntoIterator<Item = OsString>,
    ) -> Job<'a> {
        Job {
            layout: arrangement.slots(machines, ranks),
            ranks,
            variables: variables.to_vec(),
            program: program.into_iter().collect(),
            limit: Duration::from_secs(40),
        }
    }

    pub(super) fn command(&self, launcher: Launcher, job: &Job<'_>) -> Command {
        launcher.command(&self.machines, &self.prefix.join("bin/rmarun"), job)
    }

    /// Runs a job to its end. Over its time, `rmarun` reports what each rank waits for; others are killed a
    /// little later.
    pub(super) fn run(&self, launcher: Launcher, job: &Job<'_>) -> Result<Ended, String> {
        job::run(&mut self.command(launcher, job), job.limit + Duration::from_secs(10))
    }

    /// The same; meanwhile something is done.
    pub(super) fn run_while(
        &self,
        launcher: Launcher,
        job: &Job<'_>,
        work: impl FnOnce(u32),
    ) -> Result<Ended, String> {
        run_while(&mut self.command(launcher, job), job.limit + Duration::from_secs(10), work)
    }

    /// Runs a job that is to end well, and gives what it wrote.
    pub(super) fn succeed(&self, launcher: Launcher, job: &Job<'_>) -> Result<Ended, String> {
        let ended = self.run(launcher, job)?;
        match ended.code {
            Some(0) => Ok(ended),
            code => Err(format!(
                "{} of {:?} ended with {code:?}\n{}{}",
                launcher.text(),
                job.program,
                tail(&ended.stdout),
                tail(&ended.stderr)
            )),
        }
    }

    /// A program of the workspace.
    pub(super) fn program(&self, name: &str) -> OsString {
        self.programs.join(name).into_os_string()
    }

    /// Compiles C against the installation, into the folder that all machines see.
    pub(super) fn compile(&self, sources: &[PathBuf], name: &str) -> Result<PathBuf, String> {
        let to = self.machines.folder().join(name);
        let mut command = Command::new(self.prefix.join("bin/rmacc"));
        command.args(["-std=gnu11", "-O2", "-pthread"]).args(sources).arg("-o").arg(&to);
        let ended = job::run(&mut command, Duration::from_secs(60))?;
        if ended.code == Some(0) { Ok(to) } else { Err(format!("{name} does not compile: {}", ended.stderr)) }
    }

    /// A file of the sources.
    pub(super) fn source(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Starts Slurm, unless it runs.
    pub(super) fn start_slurm(&mut self) -> Result<(), String> {
        if self.slurm.is_none() {
            self.slurm = Some(Slurm::start(&self.machines, self.machines.count().min(3))?);
            settle();
        }
        Ok(())
    }

    /// Ends it.
    pub(super) fn end_slurm(&mut self) {
        self.slurm = None;
        settle();
    }
}
