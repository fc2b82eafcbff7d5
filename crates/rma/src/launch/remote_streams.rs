//! The streams of a rank on another host, at the launcher: bytes that frames bring are read as from a nonblocking pipe, and bytes
//! that are written leave as frames.

use super::frames::Frame;
use super::outbox::Outbox;
use super::rank::RankSource;
use mio::net::UnixStream;
use mio::unix::pipe;
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// Bytes that have come and were not read yet.
#[derive(Debug, Default)]
struct ReceivedBytes {
    bytes: VecDeque<u8>,
    has_ended: bool,
}

/// The launcher's end of a PMI connection.
#[derive(Debug)]
pub(super) enum Talk {
    Here(UnixStream),
    There(FarTalk),
}

/// The same of a rank on another host.
#[derive(Debug)]
pub(super) struct FarTalk {
    rank: u32,
    received: ReceivedBytes,
    outbox: Outbox,
}

/// The launcher's end of an output stream.
#[derive(Debug)]
pub(super) enum Pipe {
    Here(pipe::Receiver),
    There(FarPipe),
}

/// The same of a rank on another host. Dropping it closes the stream for the rank.
#[derive(Debug)]
pub(super) struct FarPipe {
    rank: u32,
    source: RankSource,
    received: ReceivedBytes,
    outbox: Outbox,
}

impl ReceivedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read(buffer)? {
            0 if !self.has_ended => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl FarTalk {
    pub(super) fn new(rank: u32, outbox: Outbox) -> Self {
        Self { rank, received: ReceivedBytes::default(), outbox }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.received.bytes.extend(bytes);
    }

    pub(super) fn end(&mut self) {
        self.received.has_ended = true;
    }
}

impl FarPipe {
    pub(super) fn new(rank: u32, source: RankSource, outbox: Outbox) -> Self {
        Self { rank, source, received: ReceivedBytes::default(), outbox }
    }

    /// Says whether nothing was there before.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> bool {
        let was_empty = self.received.bytes.is_empty();
        self.received.bytes.extend(bytes);
        was_empty
    }

    pub(super) fn end(&mut self) {
        self.received.has_ended = true;
    }
}

impl Drop for FarPipe {
    fn drop(&mut self) {
        if !self.received.has_ended {
            self.outbox.send(&Frame::Close { rank: self.rank, source: self.source });
        }
    }
}

impl Read for Talk {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Here(stream) => stream.read(buffer),
            Self::There(far) => far.received.read(buffer),
        }
    }
}

impl Write for Talk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Here(stream) => stream.write(bytes),
            Self::There(far) => {
                far.outbox.send(&Frame::Answers { rank: far.rank, bytes: bytes.to_vec() });
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Here(pipe) => pipe.read(buffer),
            Self::There(far) => {
                let count = far.received.read(buffer)?;
                if count > 0 {
                    far.outbox.send(&Frame::Took { source: far.source, bytes: count as u32 });
                }
                Ok(count)
            }
        }
    }
}
