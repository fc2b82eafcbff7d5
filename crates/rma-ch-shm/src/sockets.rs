//! Unix sockets without names in a file system: messages with descriptors, from processes of the same user.
//!
//! Invariants: nothing here blocks; every descriptor is closed on exec; descriptors that come along with a message that is
//! not wanted are closed; none has the number of a standard stream. Knows no message's contents. One of the few files with `unsafe`.

use rma_core::descriptors::above_streams;
use rustix::cmsg_space;
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recvmsg, sendmsg, socket_with,
};
use rustix::process::{Resource, geteuid, getrlimit};
use smallvec::SmallVec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

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
    /// More came along, for which this process has no descriptor left.
    pub(crate) has_lost_some: bool,
}

impl<const N: usize> Received<N> {
    /// The bytes; none at the end of a connection.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

fn new_socket() -> io::Result<OwnedFd> {
    above_streams(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?)
}

/// A socket that accepts connections, at the first of the addresses that is free.
pub(crate) fn listen_at(
    addresses: impl Iterator<Item = io::Result<SocketAddrUnix>>,
    backlog: u64,
) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    let mut taken = 0;
    for address in addresses {
        match bind(&socket, &address?) {
            Ok(()) => {
                listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
                return Ok(socket);
            }
            Err(Errno::ADDRINUSE) => taken += 1,
            Err(error) => return Err(error.into()),
        }
    }
    let text = format!("others have taken all {taken} names of its socket");
    Err(io::Error::new(io::ErrorKind::AddrInUse, text))
}

/// A connection to the process of this user that listens at one of the addresses; an error of kind `WouldBlock` means that
/// a backlog is full.
pub(crate) fn connect_to(addresses: impl Iterator<Item = io::Result<SocketAddrUnix>>) -> io::Result<OwnedFd> {
    let mut why = io::Error::from(io::ErrorKind::ConnectionRefused);
    for address in addresses {
        let socket = new_socket()?;
        let connected = connect(&socket, &address?).map_err(io::Error::from);
        match connected.and_then(|()| check_user(&socket)) {
            Ok(()) => return Ok(socket),
            // A backlog that is full may be that of a process that has taken the name, so the others are tried as well.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => why = error,
            Err(_) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// The next connection, from a process of this user; others are closed, and counted in `unauthenticated`.
pub(crate) fn accept_own(listener: &OwnedFd, unauthenticated: &mut u64) -> io::Result<OwnedFd> {
    loop {
        match accept_with(listener, FLAGS) {
            Ok(socket) if check_user(&socket).is_ok() => return above_streams(socket),
            Ok(_) => *unauthenticated += 1,
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends a message with descriptors over a connection. Kind `WouldBlock` means "later".
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let fits = control.push(SendAncillaryMessage::ScmRights(descriptors));
        assert!(fits, "a message has {MOST_DESCRIPTORS} descriptors at most");
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, flags) {
        Ok(_) => Ok(()),
        // Too many descriptors on their way: the receivers take them by and by.
        Err(Errno::TOOMANYREFS | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
    }
}

/// The next message; no bytes at the end of a connection. One that is too long comes without its end and without descriptors.
pub(crate) fn receive<const N: usize>(socket: impl AsFd) -> io::Result<Received<N>> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; N];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    // The space is enough for all messages of this crate, so what was left out found no free descriptor.
    let has_lost_some = message.flags.contains(ReturnFlags::CTRUNC);
    let mut received = Received { bytes, len: message.bytes, descriptors: SmallVec::new(), has_lost_some };
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            for descriptor in descriptors {
                received.descriptors.push(above_streams(descriptor)?);
            }
        }
    }
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        received.descriptors.clear();
    }
    Ok(received)
}

/// Whether an error says that this process, or the system, has no descriptor left.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// That this process has no descriptor left, and how many it may have.
pub(crate) fn out_of_files() -> io::Error {
    explain(Errno::MFILE.into())
}

/// An error with the limit that it is about, if it is that of open files.
pub(crate) fn explain(error: io::Error) -> io::Error {
    if !is_out_of_files(&error) {
        return error;
    }
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or_else(|| "no number".to_owned(), |limit| format!("{limit} for this process"));
    io::Error::new(
        error.kind(),
        format!("the limit of open files is reached (RLIMIT_NOFILE, ulimit -n: {limit})"),
    )
}

fn check_user(socket: &OwnedFd) -> io::Result<()> {
    let (peer, own) = (user_of_peer(socket)?, geteuid().as_raw());
    if peer == own {
        return Ok(());
    }
    let text = format!("the process at the other end belongs to user {peer}, not {own}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// The user of the process at the other end. Its number is 0 where it lies in another namespace of processes, which rustix takes for
/// no number at all.
fn user_of_peer(socket: &OwnedFd) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let place = (&raw mut peer).cast();
    // SAFETY: an open socket, and room for as many bytes as the length says, of numbers alone.
    let answer = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &raw mut len)
    };
    if answer == 0 { Ok(peer.uid) } else { Err(io::Error::last_os_error()) }
}
