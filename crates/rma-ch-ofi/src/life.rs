//! The lower channel, which peers greet and take leave through, and which knows when one has died.
//!
//! Letters that find no room wait here; there are a handful per peer in its life. Bulk never comes.

use crate::wire::Letter;
use rma_core::channel::{
    Armed, Budget, BulkToken, Channel, Closing, Delivery, Failure, Lane, Placement, Room, Sink, Usage,
};
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::collections::VecDeque;
use std::io;

/// More than a poll has to take at a time.
const BUDGET: Budget = Budget { packets: 32, bytes: 1 << 16 };

/// The lower channel.
pub(crate) struct Life {
    channel: Box<dyn Channel>,
    waiting: VecDeque<(Peer, Vec<u8>)>,
}

/// What it tells.
#[derive(Debug)]
pub(crate) enum News {
    Letter(Peer, Letter),
    /// The peer has died, or was lost.
    Lost(Peer, Failure),
}

/// Keeps what a poll hands over.
#[derive(Default)]
struct Notes(Vec<News>);

impl Life {
    pub(crate) fn new(channel: Box<dyn Channel>) -> Self {
        Self { channel, waiting: VecDeque::new() }
    }

    pub(crate) fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.channel.register(registrar)
    }

    /// Sends a letter, as soon as there is room.
    pub(crate) fn post(&mut self, to: Peer, letter: &Letter) {
        self.waiting.push_back((to, letter.emit()));
        self.send_waiting();
    }

    /// The peer is lost, as others have found; that comes as news.
    pub(crate) fn give_up(&mut self, peer: Peer, cause: &str) {
        self.channel.give_up(peer, cause);
    }

    fn send_waiting(&mut self) -> bool {
        let before = self.waiting.len();
        let mut left = VecDeque::new();
        for (to, bytes) in std::mem::take(&mut self.waiting) {
            // Letters to one peer keep their order.
            let is_behind = left.iter().any(|(other, _): &(Peer, Vec<u8>)| *other == to);
            if is_behind || self.channel.send(to, Lane::Request, &bytes) == Ok(Room::Full) {
                left.push_back((to, bytes));
            }
            // A letter to a peer that is lost has no reader; the loss comes as news.
        }
        self.waiting = left;
        self.waiting.len() < before
    }

    /// Whether letters wait for room.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Moves letters both ways. Whether anything moved.
    pub(crate) fn poll(&mut self, news: &mut Vec<News>) -> bool {
        let sent = self.send_waiting();
        let mut notes = Notes::default();
        let polled = self.channel.poll(&mut notes, BUDGET);
        let sent = sent | (self.is_waiting() && self.send_waiting());
        news.extend(notes.0);
        sent || !polled.is_idle()
    }

    pub(crate) fn arm(&mut self) -> Armed {
        self.channel.arm()
    }

    /// Says goodbye below, behind all letters.
    pub(crate) fn close(&mut self) -> Closing {
        if self.is_waiting() { Closing::Pending } else { self.channel.close() }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.channel.usage()
    }
}

impl Sink for Notes {
    fn packet(&mut self, from: Peer, _: Lane, bytes: &[u8]) -> Delivery {
        match Letter::parse(bytes) {
            Some(letter) => {
                self.0.push(News::Letter(from, letter));
                Delivery::Accepted
            }
            None => Delivery::Refused("no letter of this channel: is another version at work there?"),
        }
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("letters have no bodies")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.0.push(News::Lost(peer, failure));
    }
}
