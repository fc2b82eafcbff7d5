//! Standard input for rank 0 when the launcher's own is a terminal.
//!
//! The ranks are in a process group of their own, which a terminal does not let read; so the launcher reads for rank 0,
//! and only while it is in the foreground itself. Anything that is not a terminal is inherited by rank 0 directly.

use mio::unix::{SourceFd, pipe};
use mio::{Interest, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Copies a terminal to a pipe.
#[derive(Debug)]
pub(super) struct Forward {
    terminal: OwnedFd,
    sink: pipe::Sender,
    held: Vec<u8>,
}

/// Whether rank 0 needs a [`Forward`].
pub(super) fn is_needed() -> bool {
    io::stdin().is_terminal()
}

impl Forward {
    /// Starts to copy; `token` wakes for both ends.
    pub(super) fn new(mut sink: pipe::Sender, registry: &Registry, token: Token) -> io::Result<Self> {
        let terminal = io::stdin().as_fd().try_clone_to_owned()?;
        registry.register(&mut SourceFd(&terminal.as_raw_fd()), token, Interest::READABLE)?;
        registry.register(&mut sink, token, Interest::WRITABLE)?;
        Ok(Self { terminal, sink, held: Vec::new() })
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
            let mut buffer = [0u8; 4096];
            match rustix::io::read(&self.terminal, &mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.held.extend_from_slice(&buffer[..count]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return false,
            }
        }
    }

    fn is_readable(&self) -> bool {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ours = rustix::termios::tcgetpgrp(&self.terminal).ok() == Some(rustix::process::getpgrp());
        ours && poll(&mut [PollFd::new(&self.terminal, PollFlags::IN)], Some(&NOW)) == Ok(1)
    }
}
