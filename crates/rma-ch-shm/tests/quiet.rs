//! What a process that only sends learns of others.

use rma_ch_shm::{ShmChannel, ShmConfig, ShmSettings};
use rma_core::channel::{Budget, BulkToken, Channel, Delivery, Failure, Lane, Placement, Room, Sink};
use rma_core::datatype::Scatter;
use rma_core::ids::Peer;
use std::time::{Duration, Instant};

const BUDGET: Budget = Budget { packets: 64, bytes: 1 << 20 };
const LIMIT: Duration = Duration::from_secs(30);

/// The senders of the packets that came.
#[derive(Default)]
struct Seen(Vec<Peer>);

impl Sink for Seen {
    fn packet(&mut self, from: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.0.push(from);
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], len: u64) -> Placement {
        Placement::Into(Scatter::discard(len))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        panic!("{peer} failed: {failure:?}");
    }
}

#[test]
fn a_rank_that_only_sends_looks_at_its_sockets_now_and_then() {
    let config = ShmConfig::default();
    let interval = config.check_interval;
    let job = format!("quiet-{}", std::process::id());
    let [mut sender, mut receiver, mut third] = [0, 1, 2].map(|me| {
        let (me, job, config) = (Peer(me), job.clone(), config.clone());
        ShmChannel::new(ShmSettings { me, size: 3, job, secret: [3; 32], config }).unwrap()
    });
    let (mut at_sender, mut at_receiver, mut at_third) = (Seen::default(), Seen::default(), Seen::default());
    let until = Instant::now() + LIMIT;
    assert_eq!(sender.send(Peer(1), Lane::Request, b"first").unwrap(), Room::Granted);
    while at_receiver.0.is_empty() || !sender.is_quiet() {
        assert!(Instant::now() < until, "the two have not met");
        let _ = receiver.poll(&mut at_receiver, BUDGET);
        let _ = sender.poll(&mut at_sender, BUDGET);
    }

    assert_eq!(third.send(Peer(0), Lane::Request, b"hello").unwrap(), Room::Granted);
    let mut sends = 0;
    while sender.is_quiet() {
        assert!(sends < interval, "{sends} packets have left, and the sender does not look for news");
        assert_eq!(sender.send(Peer(1), Lane::Request, b"more").unwrap(), Room::Granted);
        let _ = receiver.poll(&mut at_receiver, BUDGET);
        sends += 1;
    }
    while at_sender.0.is_empty() {
        assert!(Instant::now() < until, "the third is not heard");
        let _ = sender.poll(&mut at_sender, BUDGET);
        let _ = third.poll(&mut at_third, BUDGET);
    }
    assert_eq!(at_sender.0, [Peer(2)]);
}
