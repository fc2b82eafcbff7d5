//! What wakes a sleeper: the channel's own epoll instance, its timer, and the deadlines behind it.
//!
//! The engine's poller waits on one descriptor, the epoll instance; all sockets and the timer hang on it, edge-triggered.
//! So every event is taken off by [`Readiness::collect`] before the channel says that it can sleep, and remembered where
//! it belongs. Invariants: the timer is set whenever a deadline is pending, to the earliest or earlier; a deadline that
//! its owner has given up fires for nothing, and the owner compares the time. Knows sockets only by their [`Source`].

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use rma_core::descriptors::{above_streams, with_streams_taken};
use rma_core::poller::Registrar;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

const EVENTS_AT_ONCE: usize = 64;

/// Whose socket it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Listener,
    Timer,
    /// An incoming connection that has not authenticated.
    Unauthenticated(usize),
    /// The connection with a peer, or the way to it.
    Peer(usize),
}

/// What a socket has become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) source: Source,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// No more bytes will arrive behind those that are there.
    pub(crate) read_closed: bool,
}

/// The epoll instance with its timer.
pub(crate) struct Readiness {
    poll: Poll,
    events: Events,
    timer: OwnedFd,
    deadlines: BinaryHeap<Reverse<(Instant, Source)>>,
    /// When the timer goes off.
    timer_at: Option<Instant>,
}

impl Readiness {
    pub(crate) fn new() -> io::Result<Self> {
        let poll = with_streams_taken(Poll::new)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = above_streams(rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?)?;
        let token = Source::Timer.token();
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_AT_ONCE),
            timer,
            deadlines: BinaryHeap::new(),
            timer_at: None,
        })
    }

    /// Makes every event wake the sleeper behind `registrar`.
    pub(crate) fn join(&self, registrar: &Registrar) -> io::Result<()> {
        registrar.add_readable(self.poll.registry().as_fd())
    }

    /// Watches a socket until it is closed or removed. What it is by now is reported too. (If a forked child
    /// holds a copy, a closed socket may be reported once more; its successor under that name then looks in
    /// vain.)
    pub(crate) fn add(&self, socket: BorrowedFd<'_>, source: Source) -> io::Result<()> {
        self.poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), source.token(), BOTH)
    }

    /// Ends the reports on a socket that stays open.
    pub(crate) fn remove(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.poll.registry().deregister(&mut SourceFd(&socket.as_raw_fd()))
    }

    /// Reports a watched socket under another name from now on, and what it is by now.
    pub(crate) fn rename(&self, socket: BorrowedFd<'_>, source: Source) -> io::Result<()> {
        self.poll.registry().reregister(&mut SourceFd(&socket.as_raw_fd()), source.token(), BOTH)
    }

    /// Goes off for `source` at `deadline`.
    pub(crate) fn set_deadline(&mut self, deadline: Instant, source: Source) {
        self.deadlines.push(Reverse((deadline, source)));
        self.set_timer();
    }

    /// Appends what has happened since the last call, timer and deadlines apart.
    pub(crate) fn collect(&mut self, into: &mut Vec<Event>) {
        loop {
            if let Err(error) = self.poll.poll(&mut self.events, Some(Duration::ZERO)) {
                // Nothing is lost by an interruption; nothing else can happen to an instance that is open.
                debug_assert_eq!(error.kind(), io::ErrorKind::Interrupted);
                return;
            }
            let mut seen = 0;
            for event in &self.events {
                seen += 1;
                into.push(Event {
                    source: Source::from_token(event.token()),
                    readable: event.is_readable() || event.is_error(),
                    writable: event.is_writable() || event.is_error(),
                    read_closed: event.is_read_closed() || event.is_error(),
                });
            }
            if seen < EVENTS_AT_ONCE {
                return;
            }
        }
    }

    /// Appends the owners of the deadlines that are over. Called after [`Source::Timer`] was collected.
    pub(crate) fn take_expired(&mut self, into: &mut Vec<Source>) {
        let now = Instant::now();
        while let Some(Reverse((deadline, source))) = self.deadlines.peek() {
            if *deadline > now {
                break;
            }
            into.push(*source);
            self.deadlines.pop();
        }
        // What the timer was set to is over, or (a late event of an earlier setting) will be set again just the same.
        self.timer_at = None;
        self.set_timer();
    }

    fn set_timer(&mut self) {
        let Some(Reverse((first, _))) = self.deadlines.peek() else { return };
        if self.timer_at.is_some_and(|at| at <= *first) {
            return;
        }
        self.timer_at = Some(*first);
        // Never zero, which would turn the timer off. Rounded up, so that the deadline is over when it goes off.
        let left = first.saturating_duration_since(Instant::now()) + Duration::from_micros(1);
        let value = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ },
        };
        // Setting it clears what has expired, so it never has to be read.
        if let Err(error) = rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value) {
            tracing::warn!(%error, "the timer of the channel cannot be set");
        }
    }
}

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

impl Source {
    const KINDS: usize = 4;

    fn token(self) -> Token {
        Token(match self {
            Self::Listener => 0,
            Self::Timer => 1,
            Self::Unauthenticated(index) => index * Self::KINDS + 2,
            Self::Peer(index) => index * Self::KINDS + 3,
        })
    }

    fn from_token(Token(token): Token) -> Self {
        match (token % Self::KINDS, token / Self::KINDS) {
            (0, _) => Self::Listener,
            (1, _) => Self::Timer,
            (2, index) => Self::Unauthenticated(index),
            (_, index) => Self::Peer(index),
        }
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").field("deadlines", &self.deadlines.len()).finish_non_exhaustive()
    }
}
