//! Making sockets: listening, connecting, accepting, and the options that all of them get.
//!
//! Invariants: every descriptor is nonblocking and closed on exec from its creation; buffer sizes are set before the
//! connection is made, since the window is agreed upon then. Knows no peers.

use crate::config::Limits;
use rma_core::descriptors::above_streams;
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, ipproto, sockopt};
use rustix::process::{Resource, getrlimit};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
/// The longest queue of connections that are not accepted yet; the system cuts it to its own limit.
const BACKLOG: i32 = i32::MAX;
/// The system counts its own records of each segment against the receive buffer, and drops what does not fit; under this
/// size it drops most of what comes, and each time waits for a timer.
const LEAST_RECEIVE: usize = 4096;
/// How the system paces what it sends, where the job's processes are on one machine. There is no path to be
/// found out about, so what the system may do elsewhere (BBR measures and spaces all packets) only takes
/// time. Every Linux system has this one and lets every user choose it.
const LOOPBACK_CONGESTION: &str = "reno";
/// Probes without an answer after which the system gives a connection up.
const KEEPALIVE_PROBES: u32 = 4;

/// Listens on a free port of `ip`; says which.
pub(crate) fn listen(ip: IpAddr, limits: &Limits) -> io::Result<(OwnedFd, SocketAddr)> {
    let address = SocketAddr::new(ip, 0);
    let socket = create(&address)?;
    // Accepted sockets inherit them.
    set_buffers(&socket, limits)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    let bound = rustix::net::getsockname(&socket)?.try_into()?;
    Ok((socket, bound))
}

/// An error as a clause; with the limit that it is about, if that is the one of open files.
pub(crate) fn explain(error: &io::Error) -> String {
    if !is_out_of_files(error) {
        return error.to_string();
    }
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or_else(|| "no number".to_owned(), |limit| format!("{limit} for this process"));
    format!("the limit of open files is reached (RLIMIT_NOFILE, ulimit -n: {limit})")
}

/// Whether an error says that this process, or the system, has no descriptor left.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Starts to connect; writable means that [`connected`] knows more.
pub(crate) fn connect(address: &SocketAddr, limits: &Limits) -> io::Result<OwnedFd> {
    let socket = create(address)?;
    set_buffers(&socket, limits)?;
    set_options(&socket, limits)?;
    match rustix::net::connect(&socket, address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Whether a connection to `address` has been made; asked when its socket is writable.
///
/// # Errors
/// When it could not be made.
pub(crate) fn connected(socket: BorrowedFd<'_>, address: &SocketAddr) -> io::Result<bool> {
    error(socket)?;
    match rustix::net::getpeername(socket) {
        Ok(_) => {}
        Err(Errno::NOTCONN) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    // A system that looks for a free port may take the very one that has no listener any more, and connect
    // the socket with itself.
    let own: SocketAddr = rustix::net::getsockname(socket)?.try_into()?;
    if own == *address { Err(Errno::CONNREFUSED.into()) } else { Ok(true) }
}

/// The error that a connection has run into, once.
///
/// # Errors
/// That one.
pub(crate) fn error(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// The next connection that waits for it, and where it comes from.
///
/// # Errors
/// `WouldBlock` when there is none.
pub(crate) fn accept(listener: &OwnedFd, limits: &Limits) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
    loop {
        match rustix::net::acceptfrom_with(listener, FLAGS) {
            Ok((socket, from)) => {
                let socket = above_streams(socket)?;
                set_options(&socket, limits)?;
                return Ok((socket, from.and_then(|address| address.try_into().ok())));
            }
            // The connection was given up before it was accepted: that is no reason to stop.
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends the end of the stream behind what was written. An error means that the connection is gone, which reading tells
/// better.
pub(crate) fn finish(socket: BorrowedFd<'_>) {
    let _ = rustix::net::shutdown(socket, Shutdown::Write);
}

/// Ends both directions; what has arrived can still be read. Errors as for [`finish`].
pub(crate) fn abandon(socket: BorrowedFd<'_>) {
    let _ = rustix::net::shutdown(socket, Shutdown::Both);
}

fn create(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
    let socket = above_streams(socket)?;
    if address.ip().is_loopback() {
        // Accepted sockets inherit it. A system that refuses has another one, which works as well.
        let _ = sockopt::set_tcp_congestion(&socket, LOOPBACK_CONGESTION);
    }
    Ok(socket)
}

fn set_buffers(socket: &OwnedFd, limits: &Limits) -> io::Result<()> {
    if let Some(bytes) = limits.socket {
        sockopt::set_socket_send_buffer_size(socket, bytes)?;
        sockopt::set_socket_recv_buffer_size(socket, bytes.max(LEAST_RECEIVE))?;
    }
    Ok(())
}

fn set_options(socket: &OwnedFd, limits: &Limits) -> io::Result<()> {
    // Small packets are gathered before they are written; the system shall not wait for more.
    sockopt::set_tcp_nodelay(socket, true)?;
    if let Some(silence) = limits.keepalive {
        sockopt::set_socket_keepalive(socket, true)?;
        sockopt::set_tcp_keepidle(socket, silence)?;
        sockopt::set_tcp_keepintvl(socket, silence)?;
        sockopt::set_tcp_keepcnt(socket, KEEPALIVE_PROBES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TcpConfig;
    use std::net::Ipv4Addr;

    #[test]
    fn nothing_is_paced_within_a_machine() {
        let limits = Limits::new(&TcpConfig::default());
        let (listener, address) = listen(Ipv4Addr::LOCALHOST.into(), &limits).unwrap();
        let dialed = connect(&address, &limits).unwrap();
        let accepted = loop {
            match accept(&listener, &limits) {
                Ok((socket, _)) => break socket,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        };
        for socket in [dialed, accepted] {
            assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), LOOPBACK_CONGESTION);
        }
    }
}
