//! A rank of a proxy: a child process, and streams whose bytes the proxy passes to the launcher unchanged.
//!
//! Everything here reads and writes what it can, and never waits.

use super::child::StartedRank;
use super::frames::Frame;
use super::outbox::Outbox;
use super::rank::{ANSWERS_MAX, RankSource, TURN};
use mio::net::UnixStream;
use mio::unix::{SourceFd, pipe};
use mio::{Interest, Registry, Token};
use rustix::process::{Pid, Signal, getpgid, pidfd_send_signal};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;

/// A rank.
#[derive(Debug)]
pub(super) struct ProxiedRank {
    number: u32,
    child: Child,
    pidfd: OwnedFd,
    pmi: Option<UnixStream>,
    answers: Vec<u8>,
    streams: [Option<pipe::Receiver>; 2],
    has_exited: bool,
}

/// Standard input of rank 0.
#[derive(Debug)]
pub(super) struct Input {
    pipe: pipe::Sender,
    held: Vec<u8>,
    /// Nothing comes after what is held.
    has_ended: bool,
}

impl ProxiedRank {
    /// Takes over a started process; it is the one of this index.
    pub(super) fn new(
        index: u32,
        number: u32,
        started: StartedRank,
        registry: &Registry,
    ) -> io::Result<Self> {
        let StartedRank { child, pidfd, mut pmi, mut stdout, mut stderr, stdin: _ } = started;
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(
            &mut SourceFd(&pidfd.as_raw_fd()),
            RankSource::Exit.token(index),
            Interest::READABLE,
        )?;
        registry.register(&mut pmi, RankSource::Pmi.token(index), both)?;
        registry.register(&mut stdout, RankSource::Stdout.token(index), Interest::READABLE)?;
        registry.register(&mut stderr, RankSource::Stderr.token(index), Interest::READABLE)?;
        let streams = [Some(stdout), Some(stderr)];
        Ok(Self { number, child, pidfd, pmi: Some(pmi), answers: Vec::new(), streams, has_exited: false })
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process is this child, and was not reaped.
    pub(super) fn is_child(&self, pid: Pid) -> bool {
        !self.has_exited && Pid::from_child(&self.child) == pid
    }

    /// Sends a signal to the process if it has left the job's group.
    pub(super) fn signal_outside(&self, group: Pid, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        if !self.has_exited && getpgid(Some(pid)).is_ok_and(|own| own != group) {
            // It fails only when the process has ended.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }

    /// Gives the rank its answers, or keeps them until it reads.
    pub(super) fn answer(&mut self, bytes: &[u8], outbox: &Outbox) {
        self.answers.extend_from_slice(bytes);
        self.send_answers();
        if self.answers.len() > ANSWERS_MAX {
            self.answers = Vec::new();
            outbox.send(&Frame::Deaf { rank: self.number });
        }
    }

    fn send_answers(&mut self) {
        let Some(stream) = &mut self.pmi else { return self.answers.clear() };
        while !self.answers.is_empty() {
            match stream.write(&self.answers) {
                Ok(count) => drop(self.answers.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.answers.clear(), // gone; its exit is reported by itself
            }
        }
    }

    /// Passes on all that the rank has said by PMI.
    pub(super) fn pass_on_talk(&mut self, outbox: &Outbox) {
        self.send_answers();
        let (rank, mut buffer) = (self.number, [0u8; 4096]);
        while let Some(stream) = &mut self.pmi {
            match stream.read(&mut buffer) {
                Ok(count @ 1..) => outbox.send(&Frame::Said { rank, bytes: buffer[..count].to_vec() }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => {
                    self.pmi = None;
                    outbox.send(&Frame::HungUp { rank });
                }
            }
        }
    }

    /// Passes on one turn of an output stream, of `most` bytes; says how many, or none when there is nothing now.
    pub(super) fn pass_on(&mut self, source: RankSource, most: usize, outbox: &Outbox) -> Option<usize> {
        let (rank, mut buffer) = (self.number, [0u8; TURN]);
        let stream = &mut self.streams[usize::from(source == RankSource::Stderr)];
        loop {
            match stream.as_mut()?.read(&mut buffer[..most.min(TURN)]) {
                Ok(count @ 1..) => {
                    outbox.send(&Frame::Output { rank, source, bytes: buffer[..count].to_vec() });
                    return Some(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Ok(0) | Err(_) => {
                    *stream = None;
                    outbox.send(&Frame::OutputEnd { rank, source });
                }
            }
        }
    }

    /// Passes on what is there of both output streams, whether the launcher has room or not; says how much of each.
    pub(super) fn pass_on_rest(&mut self, outbox: &Outbox) -> [usize; 2] {
        /// A pipe holds no more than this (`fs.pipe-max-size`).
        const TURNS: usize = (1 << 20) / TURN + 1;
        [RankSource::Stdout, RankSource::Stderr]
            .map(|source| (0..TURNS).map_while(|_| self.pass_on(source, TURN, outbox)).sum())
    }

    /// An output stream has no reader any more.
    pub(super) fn close(&mut self, source: RankSource) {
        self.streams[usize::from(source == RankSource::Stderr)] = None;
    }

    /// Takes note of the end of the process, once: what it said last goes before that.
    pub(super) fn reap(&mut self, registry: &Registry, outbox: &Outbox) -> io::Result<[usize; 2]> {
        if self.has_exited {
            return Ok([0; 2]);
        }
        let Some(status) = self.child.try_wait()? else { return Ok([0; 2]) };
        self.has_exited = true;
        registry.deregister(&mut SourceFd(&self.pidfd.as_raw_fd()))?;
        self.pass_on_talk(outbox);
        let passed = self.pass_on_rest(outbox);
        outbox.send(&Frame::Exited { rank: self.number, status: status.into_raw() as u32 });
        Ok(passed)
    }
}

impl Input {
    pub(super) fn new(mut pipe: pipe::Sender, registry: &Registry, token: Token) -> io::Result<Self> {
        registry.register(&mut pipe, token, Interest::WRITABLE)?;
        Ok(Self { pipe, held: Vec::new(), has_ended: false })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Gives what is held as far as there is room; says whether more can come.
    pub(super) fn run(&mut self, outbox: &Outbox) -> bool {
        while !self.held.is_empty() {
            match self.pipe.write(&self.held) {
                Ok(count) => {
                    self.held.drain(..count);
                    outbox.send(&Frame::InputTook(count as u32));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => {
                    outbox.send(&Frame::InputClosed);
                    return false;
                }
            }
        }
        !self.has_ended
    }
}
