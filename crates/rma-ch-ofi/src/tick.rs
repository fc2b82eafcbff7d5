//! Sleeps where the provider has no descriptor to wait on: a timer wakes the sleeper for a look, rarely where nothing comes.
//!
//! A look after [`SHORTEST`] costs about a fortieth of what polling without a pause does, and one after [`LONGEST`] next to nothing. Each
//! look that brings nothing doubles the pause; one that brings something makes it short again.

use rma_core::descriptors::above_streams;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::time::Duration;

const SHORTEST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(1);

/// The timer.
#[derive(Debug)]
pub(crate) struct Tick {
    timer: OwnedFd,
    pause: Duration,
}

impl Tick {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a system call that makes a descriptor, which belongs to this value then.
        let timer = unsafe {
            match libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) {
                -1 => return Err(io::Error::last_os_error()),
                fd => above_streams(OwnedFd::from_raw_fd(fd))?,
            }
        };
        Ok(Self { timer, pause: SHORTEST })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// Something has come.
    pub(crate) fn on_moved(&mut self) {
        self.pause = SHORTEST;
    }

    /// Has a sleep end behind the next pause; answers whether it will. Setting a timer anew takes back what it has not told yet.
    pub(crate) fn arm(&mut self) -> bool {
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let once = libc::timespec { tv_sec: 0, tv_nsec: self.pause.subsec_nanos().into() };
        let when = libc::itimerspec { it_interval: none, it_value: once };
        // SAFETY: an open timer and a value for the time of the call.
        let answer = unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &when, null_mut()) };
        self.pause = (2 * self.pause).min(LONGEST);
        answer == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_due_within(tick: &Tick, millis: i32) -> bool {
        let mut poll = libc::pollfd { fd: tick.timer.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry for the time of the call.
        unsafe { libc::poll(&mut poll, 1, millis) == 1 }
    }

    #[test]
    fn pauses_double_up_to_a_limit_and_are_short_again_when_something_came() {
        let mut tick = Tick::new().unwrap();
        assert!(!is_due_within(&tick, 0), "it was not armed");
        for pause in [50, 100, 200, 400, 800, 1000, 1000].map(Duration::from_micros) {
            assert_eq!(tick.pause, pause);
            assert!(tick.arm() && is_due_within(&tick, 60_000));
        }
        tick.on_moved();
        assert_eq!(tick.pause, SHORTEST);
    }
}
