//! A doorbell: what a process that has something for another one rings when that one sleeps. An event counter of the
//! system; its owner waits on it in a poller, its peers hold copies.
//!
//! Invariants: ringing and clearing never block. A peer may fill or empty the counter at will: then wake-ups come too
//! often, or the sleeper is also awaited by its sockets; nothing is read from the counter but that it is not zero.

use rma_core::descriptors::above_streams;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::{Errno, read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Type bits of a file's mode; an event counter has none.
const TYPE_BITS: u32 = 0o170_000;

/// The right to wake a process.
#[derive(Debug)]
pub(crate) struct Doorbell(OwnedFd);

impl Doorbell {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(above_streams(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)?))
    }

    /// Takes a peer's doorbell. Files, pipes and sockets are refused: writing to them could block, or kill.
    pub(crate) fn received(descriptor: OwnedFd) -> io::Result<Self> {
        if fstat(&descriptor)?.st_mode & TYPE_BITS != 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an event counter"));
        }
        fcntl_setfl(&descriptor, fcntl_getfl(&descriptor)? | OFlags::NONBLOCK)?;
        Ok(Self(descriptor))
    }

    /// Wakes the owner, or keeps it from sleeping once.
    pub(crate) fn ring(&self) {
        let one = 1u64.to_ne_bytes();
        if write(&self.0, &one) == Err(Errno::AGAIN) {
            // The counter is full, and a full counter no longer tells its waiters of new rings.
            self.clear();
            // It can fail once more only when others have filled it since, and then they have rung.
            let _ = write(&self.0, &one);
        }
    }

    /// Forgets the rings so far, so that they do not end the next sleep.
    pub(crate) fn clear(&self) {
        // Nothing to forget is as good.
        let _ = read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_rung(doorbell: &Doorbell) -> bool {
        let mut waiting = [PollFd::new(doorbell, PollFlags::IN)];
        poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    }

    #[test]
    fn it_rings_until_it_is_cleared_also_when_another_has_filled_it() {
        let own = Doorbell::new().unwrap();
        let copy = Doorbell::received(own.0.try_clone().unwrap()).unwrap();
        assert!(!is_rung(&own));
        copy.ring();
        copy.ring();
        assert!(is_rung(&own));
        own.clear();
        own.clear();
        assert!(!is_rung(&own));
        write(&copy.0, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        copy.ring();
        assert!(is_rung(&own));
        assert_eq!(read(&own.0, &mut [0u8; 8]), Ok(8));
    }

    #[test]
    fn what_is_no_event_counter_is_refused() {
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        assert!(Doorbell::received(pipe).is_err());
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(Doorbell::received(socket.into()).is_err());
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(Doorbell::received(file.into()).is_err());
    }
}
