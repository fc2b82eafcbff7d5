//! Several channels as one: each peer is reached by one of them, chosen once and for all by place.
//!
//! Invariants: the route of a peer never changes, so order within a lane is that of its channel (clause C1); at most one
//! channel holds a reservation that counts, the one that granted room last. A router without channels reaches nobody: the
//! channel of a job of one process.

use super::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, FailureKind, Lane, MIN_PACKET, Polled,
    Room, Sink, Source, Usage,
};
use crate::datatype::Gather;
use crate::ids::Peer;
use crate::progress::Registrar;
use std::{fmt, io};

/// Which of the channels reaches a peer, as an index; `None` when none does.
pub type Route = Box<dyn Fn(Peer) -> Option<usize> + Send>;

/// Channels of several kinds, joined.
pub struct Router {
    channels: Vec<Box<dyn Channel>>,
    route: Route,
    /// The channel that granted the reservation in force.
    reserved: Option<usize>,
    /// The channel that is polled first: another one each time, so that a busy one does not take all of the budget.
    first: usize,
}

impl Router {
    /// Joins `channels`; `route` always answers the same for a peer.
    pub fn new(channels: Vec<Box<dyn Channel>>, route: Route) -> Self {
        Self { channels, route, reserved: None, first: 0 }
    }

    fn index_of(&self, peer: Peer) -> Result<usize, Failure> {
        (self.route)(peer).filter(|index| *index < self.channels.len()).ok_or_else(|| Failure {
            kind: FailureKind::Unreachable,
            detail: format!("no channel of this process reaches process {peer}"),
        })
    }

    fn reserved(&mut self) -> &mut dyn Channel {
        let index = self.reserved.expect("fill and commit follow a reservation that was granted");
        &mut *self.channels[index]
    }
}

// SAFETY: memory is only handed through to channels that keep clause C4 themselves.
unsafe impl Channel for Router {
    fn capabilities(&self) -> Capabilities {
        let all = self.channels.iter().map(|channel| channel.capabilities());
        let least = all.reduce(|a, b| Capabilities {
            name: "router",
            max_packet: a.max_packet.min(b.max_packet),
            bulk_from: a.bulk_from.min(b.bulk_from),
        });
        least.unwrap_or(Capabilities { name: "nobody", max_packet: MIN_PACKET, bulk_from: MIN_PACKET })
    }

    fn capabilities_for(&self, peer: Peer) -> Capabilities {
        match self.index_of(peer) {
            Ok(index) => self.channels[index].capabilities_for(peer),
            Err(_) => self.capabilities(),
        }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.channels.iter_mut().try_for_each(|channel| channel.register(registrar))
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        let index = self.index_of(peer)?;
        self.channels[index].connect(peer)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.reserved = None;
        let index = self.index_of(peer)?;
        let room = self.channels[index].reserve(peer, lane, len)?;
        if room == Room::Granted {
            self.reserved = Some(index);
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        self.reserved().fill(source);
    }

    fn commit(&mut self) {
        self.reserved().commit();
        self.reserved = None;
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.reserved = None;
        let index = self.index_of(peer)?;
        self.channels[index].send_bulk(peer, lane, head, body, token)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reserved = None;
        let count = self.channels.len();
        let mut sum = Polled::default();
        for at in 0..count {
            let packets = budget.packets - sum.packets;
            if packets == 0 {
                sum.more = true;
                break;
            }
            let channel = &mut self.channels[(self.first + at) % count];
            let polled = channel.poll(sink, Budget { packets, ..budget });
            sum.packets += polled.packets;
            sum.moved |= polled.moved;
            sum.more |= polled.more;
        }
        self.first = if count == 0 { 0 } else { (self.first + 1) % count };
        sum
    }

    fn arm(&mut self) -> Armed {
        // All are armed even when one is busy already; arming has no effect on a channel that is polled instead.
        self.channels.iter_mut().fold(Armed::Sleep, |all, channel| match channel.arm() {
            Armed::Busy => Armed::Busy,
            Armed::Sleep => all,
        })
    }

    fn close(&mut self) -> Closing {
        self.channels.iter_mut().fold(Closing::Closed, |all, channel| match channel.close() {
            Closing::Pending => Closing::Pending,
            Closing::Closed => all,
        })
    }

    fn usage(&self) -> Usage {
        self.channels.iter().map(|channel| channel.usage()).fold(Usage::default(), |a, b| Usage {
            peers: a.peers + b.peers,
            bytes: a.bytes + b.bytes,
            limit_bytes: a.limit_bytes + b.limit_bytes,
        })
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.channels.iter().map(|channel| channel.capabilities().name).collect();
        f.debug_struct("Router").field("channels", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Delivery, Placement};
    use std::sync::{Arc, Mutex};

    type Log = Arc<Mutex<Vec<String>>>;

    /// A channel that writes down what it is asked, and has packets to hand over.
    struct Scribe {
        name: &'static str,
        max_packet: usize,
        waiting: u32,
        armed: Armed,
        room: Room,
        log: Log,
    }

    impl Scribe {
        fn note(&self, what: impl fmt::Display) {
            self.log.lock().unwrap().push(format!("{}: {what}", self.name));
        }
    }

    // SAFETY: no memory is kept.
    unsafe impl Channel for Scribe {
        fn capabilities(&self) -> Capabilities {
            Capabilities { name: self.name, max_packet: self.max_packet, bulk_from: self.max_packet / 2 }
        }

        fn register(&mut self, _: &Registrar) -> io::Result<()> {
            Ok(())
        }

        fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
            self.note(format_args!("connect {peer}"));
            Ok(())
        }

        fn reserve(&mut self, peer: Peer, _: Lane, len: usize) -> Result<Room, Failure> {
            self.note(format_args!("reserve {len} to {peer}"));
            Ok(self.room)
        }

        fn fill(&mut self, source: Source<'_>) {
            self.note(format_args!("fill {}", source.len()));
        }

        fn commit(&mut self) {
            self.note("commit");
        }

        fn send_bulk(
            &mut self,
            peer: Peer,
            _: Lane,
            _: &[u8],
            body: Gather,
            _: BulkToken,
        ) -> Result<Room, Failure> {
            self.note(format_args!("bulk {} to {peer}", body.remaining()));
            Ok(self.room)
        }

        fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
            let packets = self.waiting.min(budget.packets);
            for _ in 0..packets {
                let _ = sink.packet(Peer(0), Lane::Request, self.name.as_bytes());
            }
            self.waiting -= packets;
            Polled { packets, moved: false, more: self.waiting > 0 }
        }

        fn arm(&mut self) -> Armed {
            self.armed
        }

        fn close(&mut self) -> Closing {
            self.note("close");
            if self.name == "near" { Closing::Closed } else { Closing::Pending }
        }

        fn usage(&self) -> Usage {
            Usage { peers: 1, bytes: 10, limit_bytes: 100 }
        }
    }

    #[derive(Default)]
    struct Names(Vec<String>);

    impl Sink for Names {
        fn packet(&mut self, _: Peer, _: Lane, bytes: &[u8]) -> Delivery {
            self.0.push(String::from_utf8_lossy(bytes).into_owned());
            Delivery::Accepted
        }

        fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
            Placement::Refused("no bulk in this test")
        }

        fn bulk_received(&mut self, _: Peer, _: Lane) {}

        fn bulk_sent(&mut self, _: BulkToken) {}

        fn writable(&mut self, _: Peer, _: Lane) {}

        fn failed(&mut self, _: Peer, _: Failure) {}
    }

    /// Peers below 10 by `near`, below 20 by `far`.
    fn router(near: (u32, Armed, Room), far: (u32, Armed, Room)) -> (Router, Log) {
        let log = Log::default();
        let scribe = |name, max_packet, (waiting, armed, room)| -> Box<dyn Channel> {
            Box::new(Scribe { name, max_packet, waiting, armed, room, log: Arc::clone(&log) })
        };
        let channels = vec![scribe("near", 1000, near), scribe("far", 400, far)];
        let route = |peer: Peer| [10, 20].iter().position(|limit| peer.0 < *limit);
        (Router::new(channels, Box::new(route)), log)
    }

    const IDLE: (u32, Armed, Room) = (0, Armed::Sleep, Room::Granted);

    #[test]
    fn every_peer_has_its_channel() {
        let (mut router, log) = router(IDLE, IDLE);
        assert_eq!(router.capabilities(), Capabilities { name: "router", max_packet: 400, bulk_from: 200 });
        assert_eq!(router.capabilities_for(Peer(3)).max_packet, 1000);
        assert_eq!(router.capabilities_for(Peer(13)).name, "far");
        router.connect(Peer(3)).unwrap();
        assert_eq!(router.reserve(Peer(12), Lane::Request, 5), Ok(Room::Granted));
        assert_eq!(router.reserve(Peer(2), Lane::Request, 6), Ok(Room::Granted));
        router.fill(Source::Bytes(b"abcdef"));
        router.commit();
        let body = Gather::span(crate::mem::ReadSpan::EMPTY);
        assert_eq!(router.send_bulk(Peer(19), Lane::Response, b"h", body, BulkToken(0)), Ok(Room::Granted));
        let expected = [
            "near: connect 3",
            "far: reserve 5 to 12",
            "near: reserve 6 to 2",
            "near: fill 6",
            "near: commit",
            "far: bulk 0 to 19",
        ];
        assert_eq!(*log.lock().unwrap(), expected);
        let failure = router.reserve(Peer(20), Lane::Request, 1).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unreachable);
        assert!(failure.detail.contains("process 20"));
        assert_eq!(router.usage(), Usage { peers: 2, bytes: 20, limit_bytes: 200 });
        assert_eq!(router.close(), Closing::Pending);
    }

    #[test]
    fn the_budget_is_for_all_and_taken_in_turns() {
        let (mut router, _) = router((9, Armed::Sleep, Room::Granted), (9, Armed::Sleep, Room::Granted));
        let mut names = Names::default();
        let budget = Budget { packets: 4, bytes: 100 };
        for _ in 0..4 {
            let polled = router.poll(&mut names, budget);
            assert_eq!((polled.packets, polled.more), (4, true));
        }
        assert_eq!(names.0.iter().filter(|name| *name == "near").count(), 8);
        let polled = router.poll(&mut names, budget);
        assert_eq!((polled.packets, polled.more), (2, false));
    }

    #[test]
    fn one_busy_channel_keeps_the_sleeper_awake() {
        let busy = (0, Armed::Busy, Room::Granted);
        for (near, far, expected) in
            [(IDLE, IDLE, Armed::Sleep), (busy, IDLE, Armed::Busy), (IDLE, busy, Armed::Busy)]
        {
            assert_eq!(router(near, far).0.arm(), expected);
        }
    }

    #[test]
    fn a_full_reservation_is_none() {
        let (mut router, _) = router((0, Armed::Sleep, Room::Full), IDLE);
        assert_eq!(router.reserve(Peer(12), Lane::Request, 5), Ok(Room::Granted));
        assert_eq!(router.reserve(Peer(2), Lane::Request, 5), Ok(Room::Full));
        let fill = std::panic::AssertUnwindSafe(|| router.fill(Source::Bytes(b"x")));
        assert!(std::panic::catch_unwind(fill).is_err());
    }

    #[test]
    fn no_channels_are_the_channel_of_a_job_of_one() {
        let mut router = Router::new(Vec::new(), Box::new(|_| None));
        assert_eq!(router.capabilities().max_packet, MIN_PACKET);
        assert!(router.poll(&mut Names::default(), Budget { packets: 1, bytes: 1 }).is_idle());
        assert_eq!((router.arm(), router.close()), (Armed::Sleep, Closing::Closed));
        assert!(router.connect(Peer(1)).is_err());
    }
}
