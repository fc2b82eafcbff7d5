//! The start of a job: ranks of this host as children, those of other hosts by a proxy each.

use super::binding;
use super::child::Template;
use super::frames::{Frame, ProxyStart, VERSION};
use super::job::{Job, STDIN};
use super::options::Program;
use super::output::OutputLines;
use super::rank::Rank;
use super::remote::{Remote, token_of};
use super::settings::environment;
use super::start_error::StartError;
use super::stdin::{self, Forward};
use crate::config::{Configuration, RuntimeConfig};

use std::io;
use std::time::Duration;

impl Job {
    /// Starts all ranks.
    pub(super) fn start(&mut self) -> io::Result<Result<(), StartError>> {
        let environment = environment(&self.options);
        let programs: Vec<_> = self.options.programs().cloned().collect();
        self.start_hosts(&environment, &programs)?;
        let cores = binding::sets(self.options.bind_to, self.plan.here()).map_err(io::Error::other)?;
        for program in &programs {
            let template = Template {
                program,
                size: self.options.ranks(),
                group: self.guard.group(),
                mark: &self.mark.clone(),
                environment: &environment,
                base: None,
                cores: &cores,
                pipe_stdin: stdin::is_needed(),
            };
            for _ in 0..program.ranks {
                if let Err(error) = self.start_rank(&template)? {
                    return Ok(Err(error));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Starts a proxy on each other host that has ranks.
    fn start_hosts(&mut self, environment: &[(String, String)], programs: &[Program]) -> io::Result<()> {
        let silence = RuntimeConfig::read(&Configuration::of_environment).unwrap_or_default().host_timeout_s;
        let silence = Duration::from_secs(silence);
        let runs = (0..).zip(programs).flat_map(|(at, program)| vec![at; program.ranks as usize]);
        let runs: Vec<u32> = runs.collect();
        for (host, ranks) in self.plan.others() {
            let start = Frame::Start(Box::new(ProxyStart {
                version: VERSION,
                size: self.options.ranks(),
                directory: std::env::current_dir()?,
                base: std::env::vars_os().collect(),
                environment: environment.to_vec(),
                programs: programs.to_vec(),
                ranks: ranks.iter().map(|rank| (*rank, runs[*rank as usize])).collect(),
                bind_to: self.options.bind_to,
                keep_children: self.options.keep_children,
                silence_ms: silence.as_millis() as u32,
            }));
            if !start.fits() {
                return Err(io::Error::other("the environment is too long for another host"));
            }
            let place = (host, ranks.iter().map(|rank| *rank as usize).collect());
            let (agent, token) = (&self.options.launch_agent, token_of(self.remotes.len()));
            let remote = Remote::start(agent, place, silence, self.poll.registry(), token)?;
            remote.send(&start);
            self.remotes.push(remote);
        }
        Ok(())
    }

    /// Starts the next rank, unless that is for another host to do.
    fn start_rank(&mut self, template: &Template<'_>) -> io::Result<Result<(), StartError>> {
        let number = self.ranks.len() as u32;
        let tag = self.options.tag_output.then(|| format!("[{number}] "));
        let lines = || match &tag {
            None if template.size == 1 => OutputLines::raw(),
            tag => OutputLines::whole(tag.clone()),
        };
        if let Some(host) = self.plan.other(number) {
            let remote = self.remotes.iter().find(|remote| *remote.name == *host);
            let remote = remote.expect("each other host with a rank has a proxy");
            if number == 0 {
                let outbox = remote.outbox.clone();
                self.stdin = Some(Forward::far(outbox, self.poll.registry(), STDIN)?);
            }
            self.ranks.push(Rank::far(number, remote.name.clone(), &remote.outbox, lines));
            self.copy_stdin();
            return Ok(Ok(()));
        }
        let mut started = match template.start(number, self.plan.place(number)) {
            Ok(started) => started,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(sink) = started.stdin.take() {
            self.stdin = Some(Forward::new(sink, self.poll.registry(), STDIN)?);
        }
        self.ranks.push(Rank::new(number, started, lines, self.poll.registry())?);
        Ok(Ok(()))
    }
}
