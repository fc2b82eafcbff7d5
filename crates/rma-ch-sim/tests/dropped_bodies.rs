//! C4 under fire: a sender that drops its channel, or fails, while the receiver's thread copies its body.
//!
//! The sender frees the memory right after the drop, so an access that comes later is a use after free, which the address
//! sanitizer sees; without it, wrong bytes in a body that was reported whole are seen here.

use rma_ch_sim::{SimConfig, SimNet};
use rma_core::channel::{
    Budget, BulkToken, Channel, Delivery, Failure, FailureKind, Lane, Placement, Room, Sink,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const LEN: usize = 50_000;

/// Receives bodies of one peer.
struct Receiver {
    memory: WriteSpan,
    whole: usize,
    failed: Option<FailureKind>,
    refuses: bool,
}

impl Receiver {
    fn check(&self) {
        let mut bytes = vec![0; LEN];
        self.memory.as_read().read(&mut bytes);
        assert!(bytes.iter().all(|b| *b == 7), "a body that was reported whole is not");
        self.memory.clear();
    }
}

impl Sink for Receiver {
    fn packet(&mut self, _: Peer, _: Lane, _: &[u8]) -> Delivery {
        Delivery::Refused("only bulk is expected")
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        if self.refuses {
            return Placement::Refused("this receiver wants nothing");
        }
        Placement::Into(Scatter::span(self.memory))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {
        self.check();
        self.whole += 1;
    }

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, _: Peer, failure: Failure) {
        assert!(self.failed.replace(failure.kind).is_none(), "failed twice");
    }
}

fn race(round: usize, refuses: bool) -> usize {
    let config = SimConfig { body_step_bytes: 2_500, ..SimConfig::default() };
    let net = SimNet::real_time(2, config);
    let mut sender = net.channel(Peer(0));
    let mut receiver = net.channel(Peer(1));
    let mut landing = vec![0u8; LEN];
    // SAFETY: `landing` lives until the receiver's thread has ended, and no reference to it is used before.
    let memory = unsafe { WriteSpan::new(landing.as_mut_ptr(), LEN) };
    let body = vec![7u8; LEN];
    for token in 0..3 {
        // SAFETY: `body` is freed after the sender's channel is dropped, and not written.
        let gather = Gather::span(unsafe { ReadSpan::new(body.as_ptr(), LEN) });
        assert_eq!(
            sender.send_bulk(Peer(1), Lane::Request, &[1], gather, BulkToken(token)),
            Ok(Room::Granted)
        );
    }
    let started = AtomicBool::new(false);
    let (budget, limit) = (Budget { packets: 8, bytes: 1 << 20 }, Instant::now() + Duration::from_secs(10));
    thread::scope(|scope| {
        let started = &started;
        let thread = scope.spawn(move || {
            let mut sink = Receiver { memory, whole: 0, failed: None, refuses };
            started.store(true, SeqCst);
            while sink.failed.is_none() {
                let _ = receiver.poll(&mut sink, budget);
                assert!(Instant::now() < limit, "the end of the sender is never reported");
            }
            let expected = if refuses { FailureKind::Protocol } else { FailureKind::Dead };
            assert_eq!(sink.failed, Some(expected));
            (sink.whole, receiver)
        });
        while !started.load(SeqCst) {
            std::hint::spin_loop();
        }
        for _ in 0..round * 100 {
            std::hint::spin_loop();
        }
        if refuses {
            let mut given_back = Receiver { memory: WriteSpan::EMPTY, whole: 0, failed: None, refuses };
            while given_back.failed.is_none() {
                let _ = sender.poll(&mut given_back, budget);
                assert!(Instant::now() < limit, "a refused sender is never told");
            }
        } else {
            drop(sender);
        }
        drop(body);
        thread.join().expect("the receiver's thread has not failed").0
    })
}

#[test]
fn a_dropped_channel_takes_its_bodies_back() {
    let whole: Vec<usize> = (0..80).map(|round| race(round, false)).collect();
    assert!(whole.iter().all(|n| *n <= 3));
}

#[test]
fn a_refused_sender_gets_its_bodies_back() {
    assert!((0..20).all(|round| race(round, true) == 0));
}
