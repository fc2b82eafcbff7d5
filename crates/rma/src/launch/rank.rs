//! One rank as the launcher sees it: its process, its PMI connection and its two output streams.
//!
//! Everything here reads until there is nothing left or a bound is reached, and never waits.

use super::child::Started;
use super::output::{Lines, Output};
use crate::pmi::{Line, LineError, LineReader};
use mio::net::UnixStream;
use mio::unix::{SourceFd, pipe};
use mio::{Interest, Registry, Token};
use rustix::process::{Pid, Signal, getpgid, pidfd_send_signal};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ExitStatus};

/// Longest line that a rank may send to the launcher.
const LINE_MAX: usize = 4096;
/// Most bytes of answers kept for a rank that does not read them.
const ANSWERS_MAX: usize = 1 << 20;
/// Bytes of output read in one turn.
const TURN: usize = 64 * 1024;

/// What a source of a rank can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
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
    pub(super) pid: u32,
    child: Child,
    pidfd: OwnedFd,
    pmi: Pmi,
    streams: [Stream; 2],
    exit: Option<ExitStatus>,
}

/// The launcher's end of a PMI connection.
#[derive(Debug)]
struct Pmi {
    stream: Option<UnixStream>,
    lines: LineReader,
    answers: Vec<u8>,
}

/// One output stream.
#[derive(Debug)]
struct Stream {
    pipe: Option<pipe::Receiver>,
    lines: Lines,
}

impl Source {
    const ALL: [Self; 4] = [Self::Exit, Self::Pmi, Self::Stdout, Self::Stderr];

    /// The token of a source of a rank. Tokens below [`Source::FIRST`] are free for others.
    pub(super) fn token(self, rank: u32) -> Token {
        Token(Self::FIRST + rank as usize * Self::ALL.len() + self as usize)
    }

    /// The inverse of [`Source::token`].
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
        started: Started,
        lines: impl Fn() -> Lines,
        registry: &Registry,
    ) -> io::Result<Self> {
        let Started { child, pidfd, mut pmi, mut stdout, mut stderr, stdin: _ } = started;
        let pidfd_source = pidfd.as_raw_fd();
        registry.register(&mut SourceFd(&pidfd_source), Source::Exit.token(number), Interest::READABLE)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut pmi, Source::Pmi.token(number), both)?;
        registry.register(&mut stdout, Source::Stdout.token(number), Interest::READABLE)?;
        registry.register(&mut stderr, Source::Stderr.token(number), Interest::READABLE)?;
        let stream = |pipe| Stream { pipe: Some(pipe), lines: lines() };
        Ok(Self {
            number,
            pid: child.id(),
            child,
            pidfd,
            pmi: Pmi { stream: Some(pmi), lines: LineReader::new(LINE_MAX), answers: Vec::new() },
            streams: [stream(stdout), stream(stderr)],
            exit: None,
        })
    }

    /// Whether the process has ended and been reaped.
    pub(super) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// Sends a signal to the process if it has left the job's group (setsid(2)): the others get what the group gets.
    pub(super) fn signal_outside(&self, group: Pid, signal: Signal) {
        // The process is a child that was not reaped, so its number is its own.
        let pid = Pid::from_raw(self.pid as i32);
        let is_outside = !self.has_exited() && getpgid(pid).is_ok_and(|own| own != group);
        if is_outside {
            // It fails only when the process has ended.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }

    /// Whether the PMI connection is seen to be closed by the process, or by its death.
    pub(super) fn has_hung_up(&self) -> bool {
        self.pmi.stream.is_none()
    }

    /// The status, once, when the process has ended.
    pub(super) fn reap(&mut self, registry: &Registry) -> io::Result<Option<ExitStatus>> {
        if self.exit.is_some() {
            return Ok(None);
        }
        self.exit = self.child.try_wait()?;
        if self.exit.is_some() {
            registry.deregister(&mut SourceFd(&self.pidfd.as_raw_fd()))?;
        }
        Ok(self.exit)
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
            return Err(LineError::new("questions without reading the answers"));
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
    pub(super) fn pass_on(&mut self, source: Source, output: &mut Output) -> More {
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
    pub(super) fn pass_on_rest(&mut self, source: Source, output: &mut Output) {
        /// A pipe holds no more than this (`fs.pipe-max-size`); whoever still writes more is not waited for.
        const TURNS: usize = (1 << 20) / TURN + 1;
        for _ in 0..TURNS {
            if self.pass_on(source, output) != More::Now {
                break;
            }
        }
    }

    /// Passes on a last line without newline.
    pub(super) fn finish(&mut self, source: Source, output: &mut Output) {
        let number = self.number;
        self.stream(source).lines.finish(number, output);
    }

    fn stream(&mut self, source: Source) -> &mut Stream {
        &mut self.streams[usize::from(source == Source::Stderr)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_one_source_each() {
        let mut seen = std::collections::HashSet::new();
        for rank in [0, 1, 2, 65535] {
            for source in Source::ALL {
                assert!(seen.insert(source.token(rank)));
                assert_eq!(Source::of(source.token(rank)), Some((rank, source)));
            }
        }
        assert_eq!(Source::of(Token(Source::FIRST - 1)), None);
    }
}
