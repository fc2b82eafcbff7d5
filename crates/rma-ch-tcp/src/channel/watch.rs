//! Epoll events: which sockets are watched, and how often events are collected.
//!
//! The connections used last are read directly, by every poll, so reports on them are of no use: they cost the sender of each
//! packet, within its system call, and the receiver another call with a read behind it. A connection that goes on being used
//! without a sleep in between is therefore not watched. Invariants: a connection that is not watched is read directly, and the
//! system has taken all that was written to it; before a sleep everything is watched. A connection that is watched again is
//! reported on as it is by then, so nothing is missed in between.

use super::tcp_channel::TcpChannel;
use crate::peers::{Link, PeerState};
use crate::readiness::{Event, Source};
use rma_core::channel::{Failure, FailureKind};
use std::os::fd::AsFd;

/// While there is traffic on connections that are read directly, events of the others are collected every so many polls: a
/// collection costs about as much as a read that finds nothing. While it brings no events of others, it becomes more and
/// more seldom, up to the second number.
const POLLS_PER_COLLECTION: u32 = 4;
const MOST_POLLS_PER_COLLECTION: u32 = 16;
/// Reads with data, without a sleep between them, after which a connection that is read directly is not watched: a sleep costs a
/// system call more then.
const READS_BEFORE_UNWATCHED: u32 = 64;

/// When epoll events are collected, and those of the last collection.
#[derive(Debug)]
pub(crate) struct EpollEvents {
    /// Polls until the next collection.
    left: u32,
    /// From one to the next.
    apart: u32,
    collections: u64,
    /// What the system reported last; empty between calls.
    events: Vec<Event>,
}

impl EpollEvents {
    pub(crate) fn new() -> Self {
        Self { left: 0, apart: POLLS_PER_COLLECTION, collections: 0, events: Vec::new() }
    }

    /// Counts a poll; says whether it collects events.
    pub(crate) fn is_due(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// The next poll collects events.
    pub(crate) fn collect_next(&mut self) {
        self.left = 0;
    }

    /// How often events were collected.
    pub(crate) fn collections(&self) -> u64 {
        self.collections
    }

    fn note_collected(&mut self, has_news: bool) {
        self.collections += 1;
        self.apart = match has_news {
            true => POLLS_PER_COLLECTION,
            false => (self.apart * 2).min(MOST_POLLS_PER_COLLECTION),
        };
        self.left = self.apart;
    }
}

impl TcpChannel {
    /// Takes over what the system has to report.
    pub(crate) fn collect(&mut self) {
        let mut events = std::mem::take(&mut self.epoll_events.events);
        self.readiness.collect(&mut events);
        let mut has_news = false;
        for event in events.drain(..) {
            has_news |=
                !matches!(event.source, Source::Peer(place) if self.work_lists.direct.contains(place));
            match event.source {
                Source::Listener => self.listener.maybe_waiting = true,
                Source::Timer => self.timer_fired = true,
                Source::Unauthenticated(index) => self.work_lists.unauthenticated.push(index),
                Source::Peer(place) => match &mut self.peers[place].link {
                    Link::Dialing(_) => self.work_lists.dial.push(place),
                    Link::Connected(connection) => {
                        connection.read_closed |= event.read_closed;
                        if event.readable || event.read_closed {
                            self.work_lists.read.push(place);
                        }
                        if event.writable && std::mem::take(&mut connection.blocked) {
                            self.work_lists.write.push(place);
                        }
                    }
                    Link::Left | Link::Failed(_) => {}
                },
            }
        }
        self.epoll_events.events = events;
        self.epoll_events.note_collected(has_news);
    }

    /// Has the system report on a connection, and what it is by now.
    pub(crate) fn watch(&mut self, place: usize) {
        let PeerState { peer, link: Link::Connected(connection), .. } = &mut self.peers[place] else {
            return;
        };
        connection.reads_awake = 0;
        if std::mem::replace(&mut connection.is_watched, true) {
            return;
        }
        if let Err(error) = self.readiness.add(connection.socket.as_fd(), Source::Peer(place)) {
            let detail = format!("the connection of process {peer} cannot be watched: {error}");
            self.fail(place, Failure { kind: FailureKind::Unreachable, detail });
        }
    }

    /// Watches every connection.
    pub(crate) fn watch_all(&mut self) {
        for place in self.work_lists.direct.list() {
            self.watch(place);
        }
    }

    /// Notes that a connection was of use; the one whose last use is longest ago may not be read directly any more.
    pub(crate) fn used(&mut self, place: usize) {
        if let Some(last) = self.work_lists.direct.used(place) {
            self.watch(last);
        }
    }

    /// Notes a read with data, after which the connection may need no watching.
    pub(crate) fn read_awake(&mut self, place: usize) {
        let Link::Connected(connection) = &mut self.peers[place].link else { return };
        connection.reads_awake = connection.reads_awake.saturating_add(1);
        if connection.is_watched
            && connection.reads_awake >= READS_BEFORE_UNWATCHED
            && !connection.blocked
            && self.work_lists.direct.contains(place)
        {
            // When the system refuses, it goes on with its reports.
            connection.is_watched = self.readiness.remove(connection.socket.as_fd()).is_err();
        }
    }
}
