//! Unix sockets without names in a file system: messages with descriptors, from processes of the same user.
//!
//! Invariants: nothing here blocks; every descriptor is closed on exec; descriptors that come along with a message that is
//! not wanted are closed. Knows no message's contents.

use rustix::cmsg_space;
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recvmsg, sendmsg, sendmsg_addr, socket_with, sockopt,
};
use rustix::process::{geteuid, getuid};
use smallvec::SmallVec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// Most descriptors that any message of this crate has.
const MOST_DESCRIPTORS: usize = 2;

/// A message.
#[derive(Debug)]
pub(crate) struct Received<const N: usize> {
    bytes: [u8; N],
    len: usize,
    /// What came along.
    pub(crate) descriptors: SmallVec<[OwnedFd; MOST_DESCRIPTORS]>,
    /// Whether the sender of a datagram is a process of this (real) user.
    pub(crate) is_own_user: bool,
}

impl<const N: usize> Received<N> {
    /// The bytes; none at the end of a connection.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A socket that accepts connections.
pub(crate) fn listen_at(address: &SocketAddrUnix, backlog: u64) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?;
    bind(&socket, address)?;
    listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// A connection to the process that listens there; an error of kind `WouldBlock` means that its backlog is full.
pub(crate) fn connect_to(address: &SocketAddrUnix) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?;
    connect(&socket, address)?;
    check_user(&socket)?;
    Ok(socket)
}

/// The next connection, from a process of this user; others are closed, and counted in `strangers`.
pub(crate) fn accept_own(listener: &OwnedFd, strangers: &mut u64) -> io::Result<OwnedFd> {
    loop {
        match accept_with(listener, FLAGS) {
            Ok(socket) if check_user(&socket).is_ok() => return Ok(socket),
            Ok(_) => *strangers += 1,
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A socket for datagrams that tells who sent them.
pub(crate) fn datagrams_at(address: &SocketAddrUnix) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None)?;
    sockopt::set_socket_passcred(&socket, true)?;
    bind(&socket, address)?;
    Ok(socket)
}

/// Sends a message with descriptors over a connection, or (`to`) a datagram. Kind `WouldBlock` means "later".
pub(crate) fn send(
    socket: impl AsFd,
    to: Option<&SocketAddrUnix>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let fits = control.push(SendAncillaryMessage::ScmRights(descriptors));
        assert!(fits, "a message has {MOST_DESCRIPTORS} descriptors at most");
    }
    let parts = [IoSlice::new(bytes)];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent = match to {
        Some(address) => sendmsg_addr(&socket, address, &parts, &mut control, flags),
        None => sendmsg(&socket, &parts, &mut control, flags),
    };
    match sent {
        Ok(_) => Ok(()),
        // Too many descriptors on their way: the receivers take them by and by.
        Err(Errno::TOOMANYREFS | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
    }
}

/// The next message; no bytes at the end of a connection. A message that is too long is an empty one of a stranger.
pub(crate) fn receive<const N: usize>(socket: impl AsFd) -> io::Result<Received<N>> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_DESCRIPTORS), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; N];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut received =
        Received { bytes, len: message.bytes, descriptors: SmallVec::new(), is_own_user: false };
    for part in control.drain() {
        match part {
            RecvAncillaryMessage::ScmRights(descriptors) => received.descriptors.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(sender) => received.is_own_user = sender.uid == getuid(),
            _ => {}
        }
    }
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        received.descriptors.clear();
        received.is_own_user = false;
    }
    Ok(received)
}

fn check_user(socket: &OwnedFd) -> io::Result<()> {
    let peer = sockopt::socket_peercred(socket)?.uid;
    let own = geteuid();
    if peer == own {
        return Ok(());
    }
    let text =
        format!("the process at the other end belongs to user {}, not {}", peer.as_raw(), own.as_raw());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}
