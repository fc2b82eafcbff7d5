//! One end of a channel that sleeps whenever it may: what tests send with, and a sink that checks every byte.

use crate::family::{LIMIT, Place};
use rma_ch_shm::ShmChannel;
use rma_core::channel::conformance::Sleeper;
use rma_core::channel::{
    Armed, Budget, BulkToken, Channel, Closing, Delivery, Failure, Lane, Placement, Room, Sink, Source,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const BUDGET: Budget = Budget { packets: 64, bytes: 1 << 20 };

/// A channel and what it got.
pub(crate) struct Station {
    pub(crate) channel: ShmChannel,
    pub(crate) log: Log,
    sleeper: Sleeper,
    deadline: Instant,
    /// Bytes of bodies under way.
    body: Vec<u8>,
}

/// What arrived.
#[derive(Default)]
pub(crate) struct Log {
    /// Numbers of packets by peer and lane, in order.
    pub(crate) packets: BTreeMap<(u32, u8), Vec<u32>>,
    /// Whole bodies by peer.
    pub(crate) bodies: BTreeMap<u32, u32>,
    pub(crate) sent: Vec<u64>,
    pub(crate) failed: Vec<(u32, Failure)>,
    place: Vec<u8>,
}

/// Byte `at` of a body.
fn pattern(at: usize) -> u8 {
    (at * 31 + at / 251) as u8
}

/// Hundredths of seconds that the processors of this machine, if it is a virtual one, have stood still, as the system shows them.
fn stolen_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    text.lines()
        .next()
        .and_then(|total| total.split_whitespace().nth(8))
        .map_or(0, |stolen| stolen.parse().unwrap())
}

impl Station {
    pub(crate) fn new(place: &Place, body_len: usize) -> Self {
        let mut channel = place.channel().unwrap();
        let (sleeper, registrar) = Sleeper::new();
        channel.register(&registrar).unwrap();
        let body = (0..body_len).map(pattern).collect();
        let log = Log { place: vec![0; body_len], ..Log::default() };
        Self { channel, log, sleeper, deadline: Instant::now() + LIMIT, body }
    }

    /// Polls for one small packet at most.
    pub(crate) fn poll_once(&mut self) {
        let _ = self.channel.poll(&mut self.log, Budget { packets: 1, bytes: 1 });
    }

    /// Polls for a while, asleep whenever nothing is to do.
    pub(crate) fn rest(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let polled = self.channel.poll(&mut self.log, BUDGET);
            if polled.is_idle() && self.channel.arm() == Armed::Sleep {
                self.sleeper.sleep(end.saturating_duration_since(Instant::now())).unwrap();
            }
        }
    }

    /// Polls, asleep whenever nothing is to do, until `done`.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        loop {
            let polled = self.channel.poll(&mut self.log, BUDGET);
            if done(self) {
                return;
            }
            if polled.is_idle() && self.channel.arm() == Armed::Sleep {
                let (begin, stolen) = (Instant::now(), stolen_ticks());
                self.sleeper.sleep(Duration::from_secs(5)).unwrap();
                if begin.elapsed() >= Duration::from_secs(5) {
                    let late = self.channel.poll(&mut self.log, BUDGET);
                    // A virtual machine whose processors stood still for seconds has not rung, and that is no lost ring.
                    let stolen = stolen_ticks() - stolen;
                    assert!(
                        late.is_idle() || stolen > 100,
                        "slept over {late:?} while waiting for {what}; {stolen} ticks were stolen from the machine"
                    );
                }
            }
            assert!(Instant::now() < self.deadline, "still waiting for {what}");
        }
    }

    /// Sends a packet with a number, of a length that follows from it.
    pub(crate) fn send(&mut self, to: u32, lane: Lane, number: u32) {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.resize(4 + number as usize * 7 % 150, number as u8);
        self.until("room", |s| s.channel.reserve(Peer(to), lane, bytes.len()).unwrap() == Room::Granted);
        self.channel.fill(Source::Bytes(&bytes));
        self.channel.commit();
    }

    /// Starts a body; false when there is no room.
    pub(crate) fn send_body(&mut self, to: u32, token: u64) -> Result<bool, Failure> {
        // SAFETY: the vector is neither changed nor dropped before the channel, which is dropped first as a field.
        let span = unsafe { ReadSpan::new(self.body.as_ptr(), self.body.len()) };
        let (head, body) = (b"body", Gather::span(span));
        let room = self.channel.send_bulk(Peer(to), Lane::Request, head, body, BulkToken(token))?;
        Ok(room == Room::Granted)
    }

    /// Numbers received from a peer in a lane.
    pub(crate) fn got(&self, from: u32, lane: Lane) -> &[u32] {
        self.log.packets.get(&(from, lane as u8)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn close(mut self) {
        self.until("to close", |s| s.channel.close() == Closing::Closed);
    }
}

impl Sink for Log {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        let number = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        assert_eq!(bytes.len(), 4 + number as usize * 7 % 150);
        assert!(bytes[4..].iter().all(|b| *b == number as u8));
        self.packets.entry((from.0, lane as u8)).or_default().push(number);
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, head: &[u8], body_len: u64) -> Placement {
        assert_eq!((head, body_len), (&b"body"[..], self.place.len() as u64));
        self.place.fill(0);
        // SAFETY: the vector is not touched until the body is in place, and lives as long as the channel.
        Placement::Into(Scatter::span(unsafe { WriteSpan::new(self.place.as_mut_ptr(), self.place.len()) }))
    }

    fn bulk_received(&mut self, from: Peer, _: Lane) {
        assert!(self.place.iter().enumerate().all(|(at, byte)| *byte == pattern(at)));
        *self.bodies.entry(from.0).or_default() += 1;
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.sent.push(token.0);
    }

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.failed.push((peer.0, failure));
    }
}
