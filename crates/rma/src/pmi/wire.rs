//! The conversation with a launcher: whole lines either way, answers to questions, and notices between them.
//!
//! Invariants: one question is open at a time, which the holder of the [`Wire`] sees to; the reader hands on
//! what it has not asked for. Several threads may speak at once ([`Voice`]), a whole line each. Knows no
//! command but those that come unasked.

use super::line::{Line, LineError, LineReader};
use super::notices::{Notice, NoticeHandler};
use parking_lot::Mutex;
use rma_core::{Error, ErrorClass, Result, fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest line that a launcher may send.
const LINE_MAX: usize = 128 * 1024;

/// The conversation: one question at a time.
pub(super) struct Wire {
    pub(super) voice: Voice,
    lines: LineReader,
    /// What has become of a barrier whose end may come between other answers.
    pub(super) beside: Beside,
    pub(super) on_notice: Option<NoticeHandler>,
}

/// A barrier beside other questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    None,
    Entered,
    Over,
}

/// What speaks: whole lines of several threads, also while one of them waits for an answer.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    pub(super) stream: Arc<OwnedFd>,
    turn: Arc<Mutex<()>>,
}

impl Wire {
    pub(super) fn new(stream: OwnedFd) -> Self {
        let voice = Voice { stream: Arc::new(stream), turn: Arc::default() };
        Self { voice, lines: LineReader::new(LINE_MAX), beside: Beside::None, on_notice: None }
    }

    pub(super) fn ask(&mut self, question: &Line, answer: &str, deadline: Option<Instant>) -> Result<Line> {
        self.send(question, deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(60)))?;
        self.receive(answer, deadline)
    }

    pub(super) fn send(&self, line: &Line, deadline: Instant) -> Result<()> {
        self.voice.send(line, deadline)
    }

    /// Whether the barrier beside other questions has ended; reads what there is.
    pub(super) fn is_barrier_over(&mut self) -> Result<bool> {
        if self.beside == Beside::Entered {
            self.drain()?;
        }
        Ok(self.beside == Beside::Over)
    }

    pub(super) fn is_readable(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.voice.stream, PollFlags::IN)], Some(&now)) == Ok(1)
    }

    pub(super) fn receive(&mut self, command: &str, deadline: Option<Instant>) -> Result<Line> {
        let mut buffer = [0u8; 2048];
        loop {
            if let Some(bytes) = self.lines.next_line().map_err(malformed)? {
                let line = Line::parse(&bytes).map_err(malformed)?;
                if self.takes_notice(&line) {
                    continue;
                }
                if line.command() != command {
                    return Err(failed(format!("the launcher answered {line} where {command} was due")));
                }
                // Notices that came along would wait here until there is more to read. Launchers without any may send answers
                // ahead.
                if self.on_notice.is_some() {
                    self.take_notices()?;
                }
                return Ok(line);
            }
            self.voice.wait(PollFlags::IN, deadline, command)?;
            match rustix::io::read(&self.voice.stream, &mut buffer) {
                Ok(0) | Err(Errno::CONNRESET) => return Err(gone(command)),
                Ok(count) => self.lines.push(&buffer[..count]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(cause) => return Err(failed(format!("cannot read from the launcher: {cause}"))),
            }
        }
    }

    /// Hands a line on if it came unasked.
    pub(super) fn takes_notice(&mut self, line: &Line) -> bool {
        if self.beside == Beside::Entered && line.command() == "barrier_out" {
            self.beside = Beside::Over;
            return true;
        }
        let (Some(on_notice), Some(notice)) = (&self.on_notice, Notice::of(line)) else { return false };
        on_notice(notice);
        true
    }

    /// Hands on what has been read unasked.
    fn take_notices(&mut self) -> Result<()> {
        while let Some(bytes) = self.lines.next_line().map_err(malformed)? {
            let line = Line::parse(&bytes).map_err(malformed)?;
            if !self.takes_notice(&line) {
                return Err(failed(format!("the launcher sent {line} where nothing was due")));
            }
        }
        Ok(())
    }

    /// Reads what has come unasked: no question is open while the wire is held. Does not wait.
    pub(super) fn drain(&mut self) -> Result<()> {
        let mut buffer = [0u8; 512];
        loop {
            self.take_notices()?;
            // An earlier question may have read all.
            if !self.is_readable() {
                return Ok(());
            }
            match rustix::io::read(&self.voice.stream, &mut buffer) {
                Ok(0) | Err(Errno::CONNRESET) => return Err(gone("notices")),
                Ok(count) => self.lines.push(&buffer[..count]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(cause) => return Err(failed(format!("cannot read from the launcher: {cause}"))),
            }
        }
    }
}

impl Voice {
    pub(super) fn send(&self, line: &Line, deadline: Instant) -> Result<()> {
        fork::check("a call that asks the launcher");
        let _turn = self.turn.lock();
        let bytes = line.to_bytes();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            self.wait(PollFlags::OUT, Some(deadline), line.command())?;
            match rustix::io::write(&self.stream, rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(gone(line.command())),
                Err(cause) => return Err(failed(format!("cannot write to the launcher: {cause}"))),
            }
        }
        Ok(())
    }

    /// Waits until the launcher hangs up.
    pub(super) fn outlast(&self, deadline: Instant) {
        // Another thread may be reading, so nothing is read here. Nothing follows from how the wait ends.
        let _ = self.wait(PollFlags::RDHUP, Some(deadline), "abort");
    }

    /// Waits until the stream is ready. Errors of the stream are left to the read or write that follows.
    pub(super) fn wait(&self, flags: PollFlags, deadline: Option<Instant>, what: &str) -> Result<()> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(failed(format!("the launcher did not answer {what} in time")));
            }
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut [PollFd::new(&self.stream, flags)], left.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(cause) => return Err(failed(format!("cannot wait for the launcher: {cause}"))),
            }
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("voice", &self.voice).finish_non_exhaustive()
    }
}

pub(super) fn failed(cause: impl Into<String>) -> Error {
    Error::new(ErrorClass::Other, "init", cause)
}

pub(super) fn gone(command: &str) -> Error {
    failed(format!("the launcher is gone (its end of the connection was closed, {command})"))
}

pub(super) fn malformed(error: LineError) -> Error {
    failed(format!("the launcher does not speak PMI-1: {error}"))
}
