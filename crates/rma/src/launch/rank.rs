//! One rank as the launcher sees it: its process, its PMI connection and its two output streams.
//!
//! Everything here reads until there is nothing left or a bound is reached, and never waits. A rank of another host has the same
//! parts; what its proxy sends is put into them ([`super::remote`]).

use super::child::StartedRank;
use super::outbox::Outbox;
use super::output::{Output, OutputLines};
use super::remote_streams::{FarPipe, FarTalk, Pipe, Talk};
use super::waits::processes::Activity;
use crate::pmi::{Line, LineError, LineReader};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::process::{Pid, Signal, getpgid, pidfd_send_signal};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::rc::Rc;

/// Longest line that a rank may send to the launcher.
const LINE_MAX: usize = 4096;
/// Most bytes of answers kept for a rank that does not read them.
pub(super) const ANSWERS_MAX: usize = 1 << 20;
/// Bytes of output read in one turn.
pub(super) const TURN: usize = 64 * 1024;

/// What a source of a rank can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankSource {
    Exit,
    Pmi,
    Stdout,
    Stderr,
}

/// Whether a source has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum More {
    /// Nothing now; the poller will tell.
    Later,
    /// Yes.
    Now,
    /// Nothing ever.
    Never,
}

#[derive(Debug)]
pub(super) struct Rank {
    pub(super) number: u32,
    process: Process,
    pmi: Pmi,
    streams: [Stream; 2],
    has_exited: bool,
}

#[derive(Debug)]
enum Process {
    /// A child of this process.
    Here { child: Child, pidfd: OwnedFd },
    /// On a host of this name.
    There { host: Rc<str>, pid: Option<u32>, status: Option<ExitStatus>, activity: Activity },
}

/// The launcher's end of a PMI connection.
#[derive(Debug)]
struct Pmi {
    stream: Option<Talk>,
    lines: LineReader,
    answers: Vec<u8>,
}

/// One output stream.
#[derive(Debug)]
struct Stream {
    pipe: Option<Pipe>,
    lines: OutputLines,
}

/// What is wrong with a rank that asks and does not read.
pub(super) fn deaf() -> LineError {
    LineError::new("questions without reading the answers")
}

impl RankSource {
    const ALL: [Self; 4] = [Self::Exit, Self::Pmi, Self::Stdout, Self::Stderr];

    /// The token of a source of a rank. Tokens below [`RankSource::FIRST`] are free for others.
    pub(super) fn token(self, rank: u32) -> Token {
        Token(Self::FIRST + rank as usize * Self::ALL.len() + self as usize)
    }

    /// The inverse of [`RankSource::token`].
    pub(super) fn of(token: Token) -> Option<(u32, Self)> {
        let number = token.0.checked_sub(Self::FIRST)?;
        Some(((number / Self::ALL.len()) as u32, Self::ALL[number % Self::ALL.len()]))
    }

    const FIRST: usize = 8;
}

impl Rank {
    /// Takes over a started process; `lines` makes the cutter of each stream.
    pub(super) fn new(
        number: u32,
        started: StartedRank,
        lines: impl Fn() -> OutputLines,
        registry: &Registry,
    ) -> io::Result<Self> {
        let StartedRank { child, pidfd, mut pmi, mut stdout, mut stderr, stdin: _ } = started;
        let pidfd_source = pidfd.as_raw_fd();
        registry.register(
            &mut SourceFd(&pidfd_source),
            RankSource::Exit.token(number),
            Interest::READABLE,
        )?;
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut pmi, RankSource::Pmi.token(number), both)?;
        registry.register(&mut stdout, RankSource::Stdout.token(number), Interest::READABLE)?;
        registry.register(&mut stderr, RankSource::Stderr.token(number), Interest::READABLE)?;
        let pipes = [stdout, stderr].map(Pipe::Here);
        Ok(Self::with(number, Process::Here { child, pidfd }, Talk::Here(pmi), pipes, lines))
    }

    /// A rank of another host, whose proxy `outbox` leads to.
    pub(super) fn far(number: u32, host: Rc<str>, outbox: &Outbox, lines: impl Fn() -> OutputLines) -> Self {
        let process = Process::There { host, pid: None, status: None, activity: Activity::Unknown };
        let pipe = |source| Pipe::There(FarPipe::new(number, source, outbox.clone()));
        let talk = Talk::There(FarTalk::new(number, outbox.clone()));
        Self::with(number, process, talk, [pipe(RankSource::Stdout), pipe(RankSource::Stderr)], lines)
    }

    fn with(
        number: u32,
        process: Process,
        talk: Talk,
        pipes: [Pipe; 2],
        lines: impl Fn() -> OutputLines,
    ) -> Self {
        let pmi = Pmi { stream: Some(talk), lines: LineReader::new(LINE_MAX), answers: Vec::new() };
        let streams = pipes.map(|pipe| Stream { pipe: Some(pipe), lines: lines() });
        Self { number, process, pmi, streams, has_exited: false }
    }

    /// Whether the process has ended and been reaped, or is lost with its host.
    pub(super) fn has_exited(&self) -> bool {
        self.has_exited
    }

    /// Whether the process is this child of this process.
    pub(super) fn is_child(&self, pid: Pid) -> bool {
        matches!(&self.process, Process::Here { child, .. } if Pid::from_child(child) == pid)
    }

    /// Where the process is, in words.
    pub(super) fn place(&self) -> String {
        match &self.process {
            Process::Here { child, .. } => format!("pid {}", child.id()),
            Process::There { host, pid: Some(pid), .. } => format!("pid {pid} on {host}"),
            Process::There { host, pid: None, .. } => format!("on {host}"),
        }
    }

    /// What the process does; on another host, what was seen there last.
    pub(super) fn activity(&self) -> Activity {
        match &self.process {
            Process::Here { child, .. } => Activity::of(child.id()),
            Process::There { activity, .. } => *activity,
        }
    }

    /// What the process does on its host.
    pub(super) fn is_seen(&mut self, seen: Activity) {
        if let Process::There { activity, .. } = &mut self.process {
            *activity = seen;
        }
    }

    /// Sends a signal to the process if it has left the job's group (setsid(2)): the others get what the group gets.
    pub(super) fn signal_outside(&self, group: Pid, signal: Signal) {
        let Process::Here { child, pidfd } = &self.process else { return };
        // The process is a child that was not reaped, so its number is its own.
        let pid = Pid::from_child(child);
        let is_outside = !self.has_exited && getpgid(Some(pid)).is_ok_and(|own| own != group);
        if is_outside {
            // It fails only when the process has ended.
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }

    /// Whether the PMI connection is seen to be closed by the process, or by its death.
    pub(super) fn has_hung_up(&self) -> bool {
        self.pmi.stream.is_none()
    }

    /// The status, once, when the process has ended.
    pub(super) fn reap(&mut self, registry: &Registry) -> io::Result<Option<ExitStatus>> {
        if self.has_exited {
            return Ok(None);
        }
        let status = match &mut self.process {
            Process::Here { child, .. } => child.try_wait()?,
            Process::There { status, .. } => *status,
        };
        self.has_exited = status.is_some();
        if let Process::Here { pidfd, .. } = &self.process
            && self.has_exited
        {
            registry.deregister(&mut SourceFd(&pidfd.as_raw_fd()))?;
        }
        Ok(status)
    }

    /// The process has started on its host.
    pub(super) fn has_started(&mut self, number: u32) {
        if let Process::There { pid, .. } = &mut self.process {
            *pid = Some(number);
        }
    }

    /// The process has ended on its host; [`Rank::reap`] tells.
    pub(super) fn has_ended(&mut self, ended: ExitStatus) {
        if let Process::There { status, .. } = &mut self.process {
            status.get_or_insert(ended);
        }
    }

    /// The host is lost, and with it all that comes from there. Says whether the process was still running.
    pub(super) fn lose(&mut self) -> bool {
        self.hang_up();
        self.end_output(RankSource::Stdout);
        self.end_output(RankSource::Stderr);
        !std::mem::replace(&mut self.has_exited, true)
    }

    /// Takes what the rank has said on its host by PMI.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        if let Some(Talk::There(far)) = &mut self.pmi.stream {
            far.feed(bytes);
        }
    }

    /// The PMI connection was closed on the other host.
    pub(super) fn hang_up(&mut self) {
        if let Some(Talk::There(far)) = &mut self.pmi.stream {
            far.end();
        }
    }

    /// Takes output of the other host; says whether none was waiting.
    pub(super) fn feed(&mut self, source: RankSource, bytes: &[u8]) -> bool {
        match &mut self.stream(source).pipe {
            Some(Pipe::There(far)) => far.feed(bytes),
            _ => false,
        }
    }

    /// An output stream has ended on the other host.
    pub(super) fn end_output(&mut self, source: RankSource) {
        if let Some(Pipe::There(far)) = &mut self.stream(source).pipe {
            far.end();
        }
    }

    /// The next whole line of the PMI connection.
    ///
    /// # Errors
    /// When a line is too long.
    pub(super) fn next_line(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            if let Some(line) = self.pmi.lines.next_line()? {
                return Ok(Some(line));
            }
            let Some(stream) = &mut self.pmi.stream else { return Ok(None) };
            let mut buffer = [0u8; LINE_MAX];
            match stream.read(&mut buffer) {
                Ok(0) => self.pmi.stream = None,
                Ok(count) => self.pmi.lines.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(_) => self.pmi.stream = None,
            }
        }
    }

    /// Sends a line, or keeps it until the rank reads.
    ///
    /// # Errors
    /// When it keeps too many.
    pub(super) fn answer(&mut self, line: &Line) -> Result<(), LineError> {
        self.pmi.answers.extend_from_slice(&line.to_bytes());
        self.send_answers();
        if self.pmi.answers.len() > ANSWERS_MAX {
            return Err(deaf());
        }
        Ok(())
    }

    /// Sends what has been kept.
    pub(super) fn send_answers(&mut self) {
        let Some(stream) = &mut self.pmi.stream else { return };
        while !self.pmi.answers.is_empty() {
            match stream.write(&self.pmi.answers) {
                Ok(count) => drop(self.pmi.answers.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pmi.answers.clear(), // gone; its exit is reported by itself
            }
        }
    }

    /// Passes on one turn of an output stream.
    pub(super) fn pass_on(&mut self, source: RankSource, output: &mut Output) -> More {
        let number = self.number;
        let stream = self.stream(source);
        let Some(pipe) = &mut stream.pipe else { return More::Never };
        if output.is_broken() {
            stream.pipe = None; // now the rank's writes fail too, as they would without a launcher
            return More::Never;
        }
        let mut buffer = [0u8; TURN];
        match pipe.read(&mut buffer) {
            Ok(0) => {
                stream.pipe = None;
                stream.lines.finish(number, output);
                More::Never
            }
            Ok(count) => {
                stream.lines.push(number, &buffer[..count], output);
                More::Now
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => More::Later,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => More::Now,
            Err(_) => More::Never,
        }
    }

    /// Passes on what is there of a stream whose writers are gone, its last line included.
    pub(super) fn pass_on_rest(&mut self, source: RankSource, output: &mut Output) {
        /// A pipe holds no more than this (`fs.pipe-max-size`); a process that still writes more is not
        /// waited for.
        pub(super) const TURNS: usize = (1 << 20) / TURN + 1;
        for _ in 0..TURNS {
            if self.pass_on(source, output) != More::Now {
                break;
            }
        }
    }

    /// Passes on a last line without newline.
    pub(super) fn finish(&mut self, source: RankSource, output: &mut Output) {
        let number = self.number;
        self.stream(source).lines.finish(number, output);
    }

    fn stream(&mut self, source: RankSource) -> &mut Stream {
        &mut self.streams[usize::from(source == RankSource::Stderr)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_one_source_each() {
        let mut seen = std::collections::HashSet::new();
        for rank in [0, 1, 2, 65535] {
            for source in RankSource::ALL {
                assert!(seen.insert(source.token(rank)));
                assert_eq!(RankSource::of(source.token(rank)), Some((rank, source)));
            }
        }
        assert_eq!(RankSource::of(Token(RankSource::FIRST - 1)), None);
    }
}
