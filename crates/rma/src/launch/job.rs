//! The launcher's event loop: one thread that serves all ranks until the last has ended.
//!
//! Invariants: the loop waits in one place; a job ends in one way ([`super::ending`]), which names the cause once; whatever
//! happens, no process of the job is left when [`main`] returns or the launcher dies.

use super::blame::Blame;
use super::cuts::Cuts;
use super::ending::{CANNOT_WRITE, JobState};
use super::guard::{Guard, reap_adopted};
use super::options::{OnFailure, Options};
use super::outcome::Failure;
use super::output::{Output, copy_of};
use super::plan::LaunchPlan;
use super::proxy;
use super::rank::{More, Rank, RankSource, deaf};
use super::remote::{Remote, host_of};
use super::settings::refusals;
use super::signals::{SignalWish, Signals, stop_here};
use super::start_error::{descriptors_for, explain};
use super::stdin::Forward;
use super::stragglers::{self, Mark};
use super::waits::report::{Reason, Reports};
use crate::config::Configuration;
use crate::descriptors::raise_limit;
use crate::pmi::{Answers, Event, JOB_PREFIX, LineError, ON_FAILURE_KEY, Phase, SECRET_KEY, Secret, Server};

use mio::{Events, Poll, Token};
use rustix::process::{Pid, Signal};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

const SIGNALS: Token = Token(0);
pub(super) const STDIN: Token = Token(1);
const STDOUT: Token = Token(2);
const STDERR: Token = Token(3);

/// Exit status of a wrong command line, which a wrong value of a variable is as well.
const USAGE: u8 = 2;

/// Exit status when the launcher itself cannot go on (sysexits: `EX_OSERR`).
pub(super) const SYSTEM_ERROR: u8 = 71;

#[derive(Debug)]
pub(super) struct Job {
    pub(super) options: Options,
    pub(super) plan: LaunchPlan,
    pub(super) poll: Poll,
    pub(super) guard: Guard,
    pub(super) mark: Mark,
    /// Children of this process that are not the job's.
    spared: Vec<Pid>,
    pub(super) server: Server,
    pub(super) ranks: Vec<Rank>,
    /// The other hosts.
    pub(super) remotes: Vec<Remote>,
    signals: Signals,
    pub(super) stdin: Option<Forward>,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
    pub(super) ready: VecDeque<(usize, RankSource)>,
    stalled: Vec<(usize, RankSource)>,
    pub(super) state: JobState,
    ends_at: Option<Instant>,
    pub(super) blame: Blame,
    pub(super) cuts: Cuts,
    /// When it is known at the latest which rank has failed.
    pub(super) judge_at: Option<Instant>,
    /// Ranks whose failure has been reported.
    pub(super) reported: Vec<usize>,
    /// A rank has asked for the end of the job, or cannot be served.
    pub(super) must_end: bool,
    /// Another host cannot start its ranks.
    pub(super) is_refused: bool,
    /// The signal that has last asked for the end of the job, and until when the ends of ranks are its doing.
    pub(super) wish: Option<(Signal, Instant)>,
    /// It was said that output of the job cannot be written.
    pub(super) output_is_lost: bool,
    pub(super) exit_code: u8,
    pub(super) reports: Reports,
    /// When the job began, as files have it.
    pub(super) began: SystemTime,
}

/// The program `rmarun`: runs the job that the command line describes and answers its exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if proxy::is_asked_for(&arguments) {
        return proxy::main();
    }
    let mut options = match Options::read(arguments) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let refusals = refusals(&options, &Configuration::of_environment);
    if !refusals.is_empty() {
        refusals.iter().for_each(|refusal| eprintln!("rmarun: {refusal}"));
        return ExitCode::from(USAGE);
    }
    let plan = match LaunchPlan::of(&mut options, &Configuration::of_environment) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("rmarun: {why}");
            return ExitCode::from(USAGE);
        }
    };
    if options.dry_run {
        return print(&plan.lines());
    }
    let ranks = options.ranks();
    match Job::run(options, plan) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("rmarun: {}", explain(&error, ranks));
            ExitCode::from(SYSTEM_ERROR)
        }
    }
}

/// Prints lines to standard output.
fn print(lines: &[String]) -> ExitCode {
    let mut text = lines.join("\n");
    text.push('\n');
    match io::Write::write_all(&mut io::stdout(), text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(CANNOT_WRITE),
    }
}

impl Job {
    fn run(options: Options, plan: LaunchPlan) -> io::Result<u8> {
        let ranks = options.ranks();
        raise_limit(descriptors_for(ranks));
        let mark = Mark::new()?;
        let keeps_children = options.keep_children;
        if !keeps_children {
            stragglers::adopt()?;
        }
        let mut spared = stragglers::children();
        let guard = Guard::start(Some(&mark).filter(|_| !keeps_children))?;
        spared.push(guard.group());
        let poll = Poll::new()?;
        let stdout = Output::new(copy_of(&io::stdout())?, poll.registry(), STDOUT);
        let stderr = Output::new(copy_of(&io::stderr())?, poll.registry(), STDERR);
        let signals = Signals::take(poll.registry(), SIGNALS)?;
        let server = server(&options, &plan)?;
        let ends_at = options.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut job = Self {
            began: SystemTime::now(),
            options,
            plan,
            poll,
            guard,
            mark,
            spared,
            server,
            ranks: Vec::new(),
            remotes: Vec::new(),
            signals,
            stdin: None,
            stdout,
            stderr,
            ready: VecDeque::new(),
            stalled: Vec::new(),
            state: JobState::Running,
            ends_at,
            blame: Blame::new(ranks),
            cuts: Cuts::default(),
            judge_at: None,
            reported: Vec::new(),
            must_end: false,
            is_refused: false,
            wish: None,
            output_is_lost: false,
            exit_code: 0,
            reports: Reports::new(ranks),
        };
        if let Err(error) = job.start()? {
            job.stderr.say(&error.to_string());
            job.exit_code = error.exit_code();
        } else {
            job.serve()?;
        }
        job.close();
        Ok(job.exit_code)
    }

    /// Serves the ranks until all have ended.
    fn serve(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        while self.ranks.iter().any(|rank| !rank.has_exited()) {
            match self.poll.poll(&mut events, self.time_to_sleep()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                self.handle(event.token())?;
            }
            self.reap_adopted();
            // What it says is passed on at once.
            self.go_on_reporting(Instant::now());
            self.pass_on_ready();
            self.judge(Instant::now());
            self.watch_the_clock();
            self.watch_hosts(Instant::now())?;
            if self.is_refused {
                return Ok(());
            }
            if let JobState::Ending { give_up_at, .. } = self.state {
                self.leave_unreached_hosts();
                if Instant::now() >= give_up_at {
                    self.give_up();
                    return Ok(());
                }
            }
        }
        self.conclude();
        Ok(())
    }

    fn handle(&mut self, token: Token) -> io::Result<()> {
        if let Some(host) = host_of(token) {
            return self.hear_host(host);
        }
        match token {
            SIGNALS => self.pass_on_signals(),
            STDIN => self.copy_stdin(),
            STDOUT | STDERR => {} // flushed in every step
            token => match RankSource::of(token) {
                Some((rank, RankSource::Exit)) => self.reap(rank as usize)?,
                Some((rank, RankSource::Pmi)) => self.serve_pmi(rank as usize),
                Some((rank, source)) => self.ready.push_back((rank as usize, source)),
                None => unreachable!("no source was registered with {token:?}"),
            },
        }
        Ok(())
    }

    pub(super) fn copy_stdin(&mut self) {
        if self.stdin.as_mut().is_some_and(|forward| !forward.run()) {
            self.stdin = None; // closes rank 0's input
        }
    }

    fn pass_on_signals(&mut self) {
        for (signal, wish) in self.signals.arrived() {
            match wish {
                SignalWish::End { by_grace } => self.wish_end(signal, by_grace),
                SignalWish::Stop => {
                    self.signal(signal);
                    self.be_silent();
                    stop_here();
                    self.speak_again();
                    self.signal(Signal::CONT);
                    self.copy_stdin();
                }
                SignalWish::Report => self.want_report(Reason::Signal, Instant::now()),
                SignalWish::None => {
                    self.signal(signal);
                    self.copy_stdin(); // perhaps in the foreground again
                }
            }
        }
    }

    /// Answers every line that a rank has sent.
    pub(super) fn serve_pmi(&mut self, rank: usize) {
        self.ranks[rank].send_answers();
        loop {
            let step = match self.ranks[rank].next_line() {
                Ok(None) => return,
                Ok(Some(line)) => self.server.handle(rank as u32, &line),
                Err(error) => Err(error),
            };
            match step {
                Ok((answers, event @ (Event::None | Event::Outlive))) => {
                    if event == Event::Outlive {
                        self.options.on_failure = OnFailure::Continue;
                    }
                    if let Some((to, error)) = self.answer(answers) {
                        return self.cannot_serve(to, &error);
                    }
                }
                Ok((_, Event::Stuck)) => self.want_report(Reason::Wait, Instant::now()),
                Ok((_, Event::Said(said))) => self.reports.hear(rank as u32, said),
                Ok((_, Event::Lost(other))) => {
                    if other < self.ranks.len() as u32 && self.server.phase(other) == Phase::Running {
                        self.cuts.note(rank, other as usize);
                    }
                    self.blame.lost(rank, other as usize);
                }
                Ok((_, Event::Left(other))) => self.blame.left(rank, other as usize),
                Ok((_, Event::Abort { code, because: Some(suspect), .. })) => {
                    let failure = Failure::Aborted(code);
                    self.blame.is_failing(rank, failure, suspect as usize, Instant::now());
                }
                Ok((_, Event::Abort { code, because: None, follows_a_loss })) => {
                    self.blame.aborted(rank, Failure::Aborted(code), follows_a_loss, Instant::now());
                    self.must_end = true;
                    return;
                }
                Err(error) => return self.cannot_serve(rank, &error),
            }
        }
    }

    fn cannot_serve(&mut self, rank: usize, error: &LineError) {
        self.blame.failed(rank, Failure::Malformed(error.to_string()), Instant::now());
        self.must_end = true;
    }

    pub(super) fn answer(&mut self, answers: Answers) -> Option<(usize, LineError)> {
        let mut failed = None;
        for (to, line) in answers {
            if let Err(error) = self.ranks[to as usize].answer(&line) {
                failed = Some((to as usize, error));
            }
        }
        failed
    }

    /// A rank on another host does not read its answers.
    pub(super) fn is_deaf(&mut self, rank: usize) {
        self.cannot_serve(rank, &deaf());
    }

    /// Takes note of the end of a rank's process.
    pub(super) fn reap(&mut self, rank: usize) -> io::Result<()> {
        let Some(status) = self.ranks[rank].reap(self.poll.registry())? else { return Ok(()) };
        self.serve_pmi(rank); // what it said last counts
        let failure = Failure::of(status, self.server.phase(rank as u32));
        self.has_ended(rank, failure);
        Ok(())
    }

    /// A rank's process is over, or out of reach for ever.
    pub(super) fn has_ended(&mut self, rank: usize, failure: Option<Failure>) {
        self.reports.gone(rank as u32);
        self.ranks[rank].pass_on_rest(RankSource::Stdout, &mut self.stdout);
        self.ranks[rank].pass_on_rest(RankSource::Stderr, &mut self.stderr);
        let answers = self.server.gone(rank as u32);
        // A rank that does not read its answers is refused when it asks again.
        let _ = self.answer(answers);
        let (has_failed, host_is_lost) = (failure.is_some(), matches!(failure, Some(Failure::HostLost(_))));
        self.blame.ended(rank, failure, Instant::now());
        if has_failed && self.goes_on() {
            let notices = self.server.died(rank as u32, host_is_lost);
            let _ = self.answer(notices);
        }
        if has_failed && self.goes_on() && !self.is_wished(Instant::now()) {
            self.report(rank);
        }
    }

    fn reap_adopted(&self) {
        reap_adopted(|pid| {
            let is_rank = |rank: &Rank| !rank.has_exited() && rank.is_child(pid);
            pid == self.guard.group()
                || self.remotes.iter().any(|remote| remote.agent() == Some(pid))
                || self.ranks.iter().any(is_rank)
        });
    }

    fn watch_the_clock(&mut self) {
        let now = Instant::now();
        match &mut self.state {
            JobState::Ending { kill_at, .. } if kill_at.is_some_and(|at| now >= at) => {
                *kill_at = None;
                self.signal(Signal::KILL);
            }
            _ => {}
        }
        if self.ends_at.is_some_and(|at| now >= at) {
            self.ends_at = None;
            match self.state {
                JobState::Ending { .. } => {}
                JobState::Running if self.server.has_listeners() => self.want_report(Reason::Timeout, now),
                JobState::Running => self.time_out(),
            }
        }
    }

    fn time_to_sleep(&self) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let next = match &self.state {
            JobState::Running => None,
            JobState::Ending { kill_at, give_up_at } => Some(kill_at.unwrap_or(*give_up_at)),
        };
        let next = [next, self.ends_at, self.judge_at, self.reports.wakes_at(), self.hosts_wake_at()];
        let next = next.into_iter().flatten().min()?;
        // A little longer than exact, so that the clock has passed the moment when the sleep ends.
        Some(next.saturating_duration_since(Instant::now()) + Duration::from_millis(1))
    }

    /// Gives every stream that has something one turn.
    fn pass_on_ready(&mut self) {
        for _ in 0..self.ready.len() {
            let Some((rank, source)) = self.ready.pop_front() else { break };
            let output = if source == RankSource::Stdout { &mut self.stdout } else { &mut self.stderr };
            if output.is_full() {
                self.stalled.push((rank, source));
                continue;
            }
            if self.ranks[rank].pass_on(source, output) == More::Now {
                self.ready.push_back((rank, source));
            }
        }
        self.stdout.flush_some();
        self.stderr.flush_some();
        if !matches!(self.state, JobState::Ending { .. }) && self.has_lost_output() {
            self.ask_to_end();
        }
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        let goes_on = |(_, source): &mut (usize, RankSource)| {
            !(if *source == RankSource::Stdout { stdout } else { stderr }).is_full()
        };
        self.ready.extend(self.stalled.extract_if(.., goes_on));
    }

    /// Kills what is left, and passes on the last output.
    fn close(&mut self) {
        self.signal(Signal::KILL);
        if !self.options.keep_children {
            let agents = self.remotes.iter().filter_map(Remote::agent);
            let spared: Vec<Pid> = self.spared.iter().copied().chain(agents).collect();
            stragglers::end_marked_and_adopted(&self.mark, &spared);
        }
        self.close_hosts();
        for rank in &mut self.ranks {
            rank.pass_on_rest(RankSource::Stdout, &mut self.stdout);
            rank.finish(RankSource::Stdout, &mut self.stdout);
            rank.pass_on_rest(RankSource::Stderr, &mut self.stderr);
            rank.finish(RankSource::Stderr, &mut self.stderr);
        }
        self.gather_trace();
        self.stdout.flush_all();
        self.has_lost_output();
        self.stderr.flush_all();
        // Its own loss can be told by the status only.
        self.has_lost_output();
    }
}

fn server(options: &Options, plan: &LaunchPlan) -> io::Result<Server> {
    let size = options.ranks();
    let is_end = options.on_failure == OnFailure::End;
    let pairs = [
        ("PMI_process_mapping".to_owned(), plan.mapping().to_string()),
        (SECRET_KEY.to_owned(), Secret::generate()?.to_hex()),
        (ON_FAILURE_KEY.to_owned(), if is_end { "end" } else { "continue" }.to_owned()),
    ];
    let programs = options.programs().map(|program| program.ranks).collect();
    Ok(Server::new(&format!("{JOB_PREFIX}{}", std::process::id()), size, pairs).with_programs(programs))
}
