//! A socket during the handshake: whole messages of fixed length, in and out.
//!
//! Invariant: never reads past the message that is awaited, so that frames behind the last one stay in the socket. Knows
//! lengths, not meanings.

use crate::handshake::LONGEST;
use crate::sys::{ReceiveVec, SendVec};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The socket, and what has arrived of the message that is awaited.
#[derive(Debug)]
pub(crate) struct Exchange {
    socket: OwnedFd,
    bytes: [u8; LONGEST],
    have: usize,
}

impl Exchange {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, bytes: [0; LONGEST], have: 0 }
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The socket, for what follows the handshake.
    pub(crate) fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Sends a whole message. All messages of one side together fit the smallest send buffer a system has, so what does
    /// not fit is an error and not a state.
    ///
    /// # Errors
    /// When the system does not take all of it.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        let mut vector = SendVec::new();
        vector.push(message);
        if vector.send(self.socket())? == message.len() {
            Ok(())
        } else {
            Err(io::Error::other("the system took part of a handshake message"))
        }
    }

    /// The awaited message, when all of it has arrived. Asked again, it is the next message.
    ///
    /// # Errors
    /// When the stream ends (`UnexpectedEof`) or the connection is lost.
    pub(crate) fn receive<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        while self.have < N {
            let mut vector = ReceiveVec::new();
            vector.push(&mut self.bytes[self.have..N]);
            match vector.receive(self.socket.as_fd()) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => self.have += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.have = 0;
        Ok(self.bytes.first_chunk().copied())
    }

    /// What has arrived of the awaited message.
    pub(crate) fn partial(&self) -> &[u8] {
        &self.bytes[..self.have]
    }
}
