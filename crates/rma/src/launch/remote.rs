//! The launcher's side of another host: the launch agent, and the proxy that speaks through its standard streams.
//!
//! Invariants: nothing listens, and nothing of the job stands on the agent's command line; a host that is silent for too long, whose
//! agent ends, or that sends what no proxy sends is lost, and its ranks have failed; the launcher does not end before the agents
//! have, within a bound.

use super::child::die_with_this;
use super::ending::JobState;
use super::frames::{Frame, FrameReader, VERSION};
use super::job::Job;
use super::outbox::{Outbox, set_nonblocking};
use super::outcome::Failure;
use super::rank::RankSource;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long an agent may take to get to the host.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a host may take to end what is left there, once the job is over.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long an agent whose connection has ended may take to end itself.
const AGENT_LIMIT: Duration = Duration::from_millis(500);
/// A side sends a sign of life so many times within the time after which it is lost.
pub(super) const BEATS: u32 = 10;

/// Another host.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) name: Rc<str>,
    agent: Child,
    /// The agent's standard output; none when the host is lost, or done.
    stdout: Option<OwnedFd>,
    pub(super) outbox: Outbox,
    frames: FrameReader,
    /// The proxy has said that it is there.
    is_there: bool,
    heard: Instant,
    beat_at: Instant,
    silence: Duration,
    /// Ranks there.
    ranks: Vec<usize>,
}

impl Remote {
    /// Starts `rmarun --proxy` on a host by the words of the launch agent.
    pub(super) fn start(
        agent: &str,
        (name, ranks): (&str, Vec<usize>),
        silence: Duration,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let mut words = agent.split_whitespace();
        let program = words.next().unwrap_or_default();
        let mut command = Command::new(program);
        command.args(words).arg(name).arg(own_path()?).arg("--proxy");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // What a terminal sends is for the launcher, which passes it on.
        command.process_group(0);
        die_with_this(&mut command);
        let mut agent = command.spawn().map_err(|cause| {
            io::Error::new(cause.kind(), format!("cannot run {program} (--launch-agent): {cause}"))
        })?;
        let (Some(stdin), Some(stdout)) = (agent.stdin.take(), agent.stdout.take()) else {
            unreachable!("both were asked to be pipes above");
        };
        let (outbox, stdout) = (Outbox::new(stdin.into())?, OwnedFd::from(stdout));
        set_nonblocking(&stdout)?;
        registry.register(&mut SourceFd(&stdout.as_raw_fd()), token, Interest::READABLE)?;
        if let Some(sink) = outbox.descriptor() {
            registry.register(&mut SourceFd(&sink), token, Interest::WRITABLE)?;
        }
        let now = Instant::now();
        Ok(Self {
            name: name.into(),
            agent,
            stdout: Some(stdout),
            outbox,
            frames: FrameReader::default(),
            is_there: false,
            heard: now,
            beat_at: now,
            silence,
            ranks,
        })
    }

    pub(super) fn send(&self, frame: &Frame) {
        self.outbox.send(frame);
    }

    /// Its ranks but for these, in words.
    pub(super) fn without(&self, ranks: &[u32]) -> Option<String> {
        let rest: Vec<_> = self.ranks.iter().copied().filter(|own| !ranks.contains(&(*own as u32))).collect();
        (!rest.is_empty()).then(|| format!("{} on {}", list(&rest), self.name))
    }

    /// The agent's process, while the host is not lost.
    pub(super) fn agent(&self) -> Option<Pid> {
        self.stdout.as_ref().map(|_| self.pid())
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.agent)
    }

    /// Reads what is there; also why nothing more can come, if that is so.
    fn read(&mut self) -> (Vec<Frame>, Option<String>) {
        let mut frames = Vec::new();
        let mut buffer = [0u8; 64 * 1024];
        loop {
            let is_first = !self.is_there && frames.is_empty();
            match if is_first { self.frames.first_frame() } else { self.frames.next_frame() } {
                Ok(Some(frame)) => {
                    if is_first {
                        self.heard = Instant::now();
                    }
                    frames.push(frame);
                    continue;
                }
                Ok(None) => {}
                Err(what) => return (frames, Some(format!("{what} came where rmarun --proxy was to speak"))),
            }
            let Some(stdout) = &self.stdout else { return (frames, None) };
            match rustix::io::read(stdout, &mut buffer) {
                Ok(0) => return (frames, Some(self.end_of_agent())),
                Ok(count) => {
                    // An agent that says something has not got to the host yet.
                    if !is_first {
                        self.heard = Instant::now();
                    }
                    self.frames.push(&buffer[..count]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return (frames, None),
                Err(cause) => return (frames, Some(cause.to_string())),
            }
        }
    }

    /// How the agent has ended, in words.
    fn end_of_agent(&mut self) -> String {
        match self.wait(AGENT_LIMIT).map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("the launch agent ended with status {code}"),
            Some((None, Some(signal))) => format!("the launch agent was killed by signal {signal}"),
            _ => "the launch agent closed its connection".to_owned(),
        }
    }

    /// Waits for the end of the agent.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let pidfd = rustix::process::pidfd_open(self.pid(), rustix::process::PidfdFlags::empty()).ok();
        let end = Instant::now() + limit;
        loop {
            let status = self.agent.try_wait().ok().flatten();
            let left = end.saturating_duration_since(Instant::now());
            let Some(pidfd) = pidfd.as_ref().filter(|_| status.is_none() && !left.is_zero()) else {
                return status;
            };
            // The signal of the end of another child interrupts it.
            let left = Timespec::try_from(left).ok();
            let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], left.as_ref());
        }
    }

    /// Ends the agent, whatever it does.
    fn kill(&mut self) {
        self.outbox.close();
        self.stdout = None;
        if self.agent.try_wait().is_ok_and(|status| status.is_none()) {
            // The child was not reaped, so its number is that of its group.
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.agent.wait();
        }
    }

    /// When something is to be done next.
    fn wakes_at(&self) -> Option<Instant> {
        self.stdout.as_ref().map(|_| self.beat_at.min(self.heard + self.limit()))
    }

    fn limit(&self) -> Duration {
        if self.is_there { self.silence } else { START_LIMIT.max(self.silence) }
    }
}

/// The token of a host. Those of ranks are below.
pub(super) fn token_of(host: usize) -> Token {
    Token(FIRST + host)
}

/// The inverse of [`token_of`].
pub(super) fn host_of(token: Token) -> Option<usize> {
    token.0.checked_sub(FIRST)
}

const FIRST: usize = usize::MAX / 2;

impl Job {
    /// Takes what a host sends, and sends it what was kept.
    pub(super) fn hear_host(&mut self, host: usize) -> io::Result<()> {
        self.remotes[host].outbox.flush();
        let (frames, end) = self.remotes[host].read();
        for frame in frames {
            if let Err(why) = self.take_frame(host, frame)? {
                self.lose_host(host, &why);
                return Ok(());
            }
        }
        if let Some(why) = end {
            self.lose_host(host, &why);
        }
        Ok(())
    }

    fn take_frame(&mut self, host: usize, frame: Frame) -> io::Result<Result<(), String>> {
        let remote = &mut self.remotes[host];
        let is_first = !std::mem::replace(&mut remote.is_there, true);
        let rank = match frame {
            Frame::Hello { version: VERSION } if is_first => return Ok(Ok(())),
            Frame::Hello { version } => {
                return Ok(Err(format!("rmarun there speaks version {version} to proxies, not {VERSION}")));
            }
            Frame::Started { rank, .. }
            | Frame::Said { rank, .. }
            | Frame::HungUp { rank }
            | Frame::Deaf { rank }
            | Frame::Output { rank, .. }
            | Frame::OutputEnd { rank, .. }
            | Frame::Exited { rank, .. }
            | Frame::Seen { rank, .. } => rank as usize,
            _ => 0,
        };
        let is_of_rank =
            !matches!(frame, Frame::Beat | Frame::Refused { .. } | Frame::InputTook(_) | Frame::InputClosed);
        if is_first || (is_of_rank && !remote.ranks.contains(&rank)) {
            return Ok(Err("the proxy sent what it should not".to_owned()));
        }
        match frame {
            Frame::Refused { code, why } => {
                let line = format!("host {}: {why}", remote.name);
                self.refuse(&line, code as u8);
            }
            Frame::InputTook(bytes) => {
                if let Some(stdin) = &mut self.stdin {
                    stdin.has_taken(bytes as usize);
                }
                self.copy_stdin();
            }
            Frame::InputClosed => self.stdin = None,
            Frame::Started { pid, .. } => self.ranks[rank].has_started(pid),
            Frame::Seen { activity, .. } => self.ranks[rank].is_seen(activity),
            Frame::Said { bytes, .. } => {
                self.ranks[rank].hear(&bytes);
                self.serve_pmi(rank);
            }
            Frame::HungUp { .. } => {
                self.ranks[rank].hang_up();
                self.serve_pmi(rank);
            }
            Frame::Deaf { .. } => self.is_deaf(rank),
            Frame::Output { source, bytes, .. } => {
                let is_news = self.ranks[rank].feed(source, &bytes);
                if is_news {
                    self.ready.push_back((rank, source));
                }
            }
            Frame::OutputEnd { source, .. } => {
                self.ranks[rank].end_output(source);
                self.ready.push_back((rank, source));
            }
            Frame::Exited { status, .. } => {
                self.ranks[rank].has_ended(ExitStatus::from_raw(status as i32));
                self.reap(rank)?;
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    /// A host is lost, and its ranks with it.
    fn lose_host(&mut self, host: usize, why: &str) {
        let remote = &mut self.remotes[host];
        if remote.stdout.is_none() {
            return;
        }
        remote.kill();
        let (name, ranks) = (remote.name.clone(), remote.ranks.clone());
        let lost: Vec<usize> = ranks.into_iter().filter(|rank| !self.ranks[*rank].has_exited()).collect();
        if lost.is_empty() {
            return;
        }
        let what = if self.remotes[host].is_there { "is lost" } else { "cannot be reached" };
        self.stderr.say(&format!("host {name} {what} ({}): {why}", list(&lost)));
        self.lose_ranks(&name, lost);
    }

    /// The job ends, and no host is waited for that has not answered its agent.
    pub(super) fn leave_unreached_hosts(&mut self) {
        for host in 0..self.remotes.len() {
            let remote = &mut self.remotes[host];
            if remote.stdout.is_some() && !remote.is_there {
                remote.kill();
                let (name, ranks) = (remote.name.clone(), remote.ranks.clone());
                self.stderr.say(&format!("host {name} has not answered so far ({})", list(&ranks)));
                self.lose_ranks(&name, ranks);
            }
        }
    }

    fn lose_ranks(&mut self, name: &str, ranks: Vec<usize>) {
        for rank in ranks {
            self.ranks[rank].lose();
            self.has_ended(rank, Some(Failure::HostLost(name.to_string())));
        }
    }

    /// Sends signs of life, and looks for hosts that have sent none.
    pub(super) fn watch_hosts(&mut self, now: Instant) -> io::Result<()> {
        for host in 0..self.remotes.len() {
            if now >= self.remotes[host].heard + self.remotes[host].limit() {
                self.hear_host(host)?; // this process may have been stopped
            }
            let remote = &mut self.remotes[host];
            if remote.stdout.is_none() {
                continue;
            }
            if now >= remote.beat_at {
                remote.beat_at = now + remote.silence / BEATS;
                remote.send(&Frame::Beat);
            }
            if now >= remote.heard + remote.limit() {
                let why = format!("nothing was heard from it for {} s", remote.limit().as_secs());
                self.lose_host(host, &why);
            }
        }
        Ok(())
    }

    /// When something is to be done for a host next.
    pub(super) fn hosts_wake_at(&self) -> Option<Instant> {
        self.remotes.iter().filter_map(Remote::wakes_at).min()
    }

    /// The launcher is about to stop, so no host hears from it.
    pub(super) fn be_silent(&self) {
        self.remotes.iter().for_each(|remote| remote.send(&Frame::Silent));
    }

    /// It goes on after a stop, in which it has heard from no remote.
    pub(super) fn speak_again(&mut self) {
        let now = Instant::now();
        self.remotes.iter_mut().for_each(|remote| (remote.heard, remote.beat_at) = (now, now));
    }

    /// Ends what is left on other hosts, and takes the last output from there.
    pub(super) fn close_hosts(&mut self) {
        self.remotes.iter_mut().filter(|remote| !remote.is_there).for_each(Remote::kill);
        let until = Instant::now() + END_LIMIT;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let mut open: Vec<PollFd<'_>> = Vec::new();
            for remote in &self.remotes {
                let Some(stdout) = &remote.stdout else { continue };
                open.push(PollFd::new(stdout, PollFlags::IN));
                match remote.outbox.pending() {
                    // The end of its input is the end for a proxy, and for the agent before it.
                    0 => remote.outbox.close(),
                    _ => remote.outbox.flush(),
                }
            }
            if open.is_empty() {
                break;
            }
            // What could not be sent is tried again soon.
            let left = left.min(Duration::from_millis(100));
            let _ = poll(&mut open, Timespec::try_from(left).ok().as_ref());
            for host in 0..self.remotes.len() {
                self.hear_last(host, until);
            }
        }
        for remote in &mut self.remotes {
            if remote.stdout.is_some() {
                self.stderr.say(&format!("host {} does not say that all has ended there", remote.name));
            }
            remote.kill();
        }
    }

    fn hear_last(&mut self, host: usize, until: Instant) {
        let (frames, end) = self.remotes[host].read();
        for frame in frames {
            if let Frame::Output { rank, source, bytes } = frame
                && let Some(rank) = self.ranks.get_mut(rank as usize)
            {
                rank.feed(source, &bytes);
                let output = if source == RankSource::Stdout { &mut self.stdout } else { &mut self.stderr };
                rank.pass_on_rest(source, output);
            }
        }
        if end.is_some() {
            let remote = &mut self.remotes[host];
            remote.stdout = None;
            remote.wait(until.saturating_duration_since(Instant::now()));
        }
    }

    /// The state in which ranks that cannot be started leave the job: there is nothing to ask.
    fn refuse(&mut self, line: &str, code: u8) {
        if !std::mem::replace(&mut self.is_refused, true) && matches!(self.state, JobState::Running) {
            self.stderr.say(line);
            self.exit_code = code;
        }
    }
}

/// Ranks in words: ranges of ascending numbers.
pub(super) fn list(ranks: &[usize]) -> String {
    let runs = ranks.chunk_by(|a, b| a + 1 == *b);
    let runs: Vec<String> = runs
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => unreachable!("a chunk has an element"),
        })
        .collect();
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, runs.join(","))
}

/// The path of this program, in the form that a shell on the other host, and no shell at all, takes for it.
fn own_path() -> io::Result<String> {
    let path = std::env::current_exe()?;
    let text =
        path.to_str().filter(|text| text.chars().all(|c| c.is_alphanumeric() || "/-_.+,:@%".contains(c)));
    let refused =
        || io::Error::other(format!("the path of rmarun has characters of shells: {}", path.display()));
    text.map(str::to_owned).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_by_ranges() {
        assert_eq!(list(&[4]), "rank 4");
        assert_eq!(list(&[0, 1, 2, 4, 6, 7]), "ranks 0-2,4,6-7");
    }

    #[test]
    fn tokens_of_hosts_are_no_tokens_of_ranks() {
        assert_eq!(host_of(token_of(3)), Some(3));
        assert_eq!(host_of(RankSource::Stderr.token(65535)), None);
    }
}
