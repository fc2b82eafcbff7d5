//! Numbers of descriptors. 0, 1 and 2 are the program's standard streams, also while it has closed them: what it prints then must not
//! get into a connection or into the memory of a window. So what this project opens lies above them.
//!
//! The system gives the lowest number that is free. A descriptor is moved as soon as it is there; where one stays with the code that has
//! opened it, the numbers of the streams are taken meanwhile.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::fcntl_dupfd_cloexec;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The lowest number that is no stream's.
const FIRST: i32 = 3;

/// The same descriptor, with a number above those of the streams. It is closed on exec.
///
/// # Errors
/// When there is none left.
pub fn above_streams(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() >= FIRST {
        return Ok(descriptor);
    }
    Ok(fcntl_dupfd_cloexec(&descriptor, FIRST)?)
}

/// Opens something while no number of a stream is free.
///
/// # Errors
/// When there is no descriptor left; what `open` answers.
pub fn with_streams_taken<T>(open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut taken = Vec::new();
    loop {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC)?;
        if descriptor.as_raw_fd() >= FIRST {
            break;
        }
        taken.push(descriptor);
    }
    open()
}
