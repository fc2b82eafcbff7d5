//! Standard input for rank 0 when it cannot have the launcher's own: that is a terminal, or the rank is on another host.
//!
//! The ranks are in a process group of their own, which a terminal does not let read; so the launcher reads for rank 0,
//! and only while it is in the foreground itself. Anything that is not a terminal is inherited directly by a rank 0 of this host.

use super::frames::Frame;
use super::outbox::Outbox;
use mio::unix::{SourceFd, pipe};
use mio::{Interest, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Most bytes on their way to another host that rank 0 there has not been given.
const CREDIT: usize = 256 * 1024;

/// Copies standard input to where rank 0 reads.
#[derive(Debug)]
pub(super) struct Forward {
    source: OwnedFd,
    is_terminal: bool,
    sink: StdinSink,
    held: Vec<u8>,
}

#[derive(Debug)]
enum StdinSink {
    Here(pipe::Sender),
    There { outbox: Outbox, credit: usize },
}

/// Whether a rank 0 of this host needs a [`Forward`].
pub(super) fn is_needed() -> bool {
    io::stdin().is_terminal()
}

impl Forward {
    /// Starts to copy to a pipe; `token` wakes for both ends.
    pub(super) fn new(mut sink: pipe::Sender, registry: &Registry, token: Token) -> io::Result<Self> {
        registry.register(&mut sink, token, Interest::WRITABLE)?;
        Self::to(StdinSink::Here(sink), registry, token)
    }

    /// Starts to copy to another host; `token` wakes when there is something to read.
    pub(super) fn far(outbox: Outbox, registry: &Registry, token: Token) -> io::Result<Self> {
        Self::to(StdinSink::There { outbox, credit: CREDIT }, registry, token)
    }

    fn to(sink: StdinSink, registry: &Registry, token: Token) -> io::Result<Self> {
        let source = io::stdin().as_fd().try_clone_to_owned()?;
        // Refused for files, which never keep a reader waiting.
        let _ = registry.register(&mut SourceFd(&source.as_raw_fd()), token, Interest::READABLE);
        Ok(Self { source, is_terminal: is_needed(), sink, held: Vec::new() })
    }

    /// So many bytes have reached rank 0 on its host.
    pub(super) fn has_taken(&mut self, bytes: usize) {
        if let StdinSink::There { credit, .. } = &mut self.sink {
            *credit = (*credit + bytes).min(CREDIT);
        }
    }

    /// Copies what is there and has room; says whether there can be more.
    pub(super) fn run(&mut self) -> bool {
        loop {
            while !self.held.is_empty() {
                match self.sink.write(&self.held) {
                    Ok(count) => drop(self.held.drain(..count)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return false, // rank 0 has closed its input
                }
            }
            if !self.is_readable() {
                return true;
            }
            let mut buffer = [0u8; 16 * 1024];
            match rustix::io::read(&self.source, &mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.held.extend_from_slice(&buffer[..count]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return false,
            }
        }
    }

    fn is_readable(&self) -> bool {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_ours = |terminal: &OwnedFd| {
            rustix::termios::tcgetpgrp(terminal).ok() == Some(rustix::process::getpgrp())
        };
        (!self.is_terminal || is_ours(&self.source))
            && poll(&mut [PollFd::new(&self.source, PollFlags::IN)], Some(&NOW)) == Ok(1)
    }
}

impl StdinSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Here(pipe) => pipe.write(bytes),
            Self::There { outbox, .. } if outbox.is_closed() => Err(io::ErrorKind::BrokenPipe.into()),
            Self::There { credit: 0, .. } => Err(io::ErrorKind::WouldBlock.into()),
            Self::There { outbox, credit } => {
                let count = bytes.len().min(*credit);
                outbox.send(&Frame::Input(bytes[..count].to_vec()));
                *credit -= count;
                Ok(count)
            }
        }
    }
}

impl Drop for Forward {
    /// Rank 0 sees the end of its input.
    fn drop(&mut self) {
        if let StdinSink::There { outbox, .. } = &self.sink {
            outbox.send(&Frame::InputEnd);
        }
    }
}
