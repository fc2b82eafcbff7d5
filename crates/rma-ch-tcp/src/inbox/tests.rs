//! A connection that is read in turns.

use super::*;
use crate::config::TcpConfig;
use crate::seal::Sealer;
use rma_core::channel::{BulkToken, Failure};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

const KEY: [u8; 32] = [9; 32];

/// What has come.
#[derive(Default)]
struct Arrived(Vec<Vec<u8>>);

impl Sink for Arrived {
    fn packet(&mut self, _: Peer, _: Lane, bytes: &[u8]) -> Delivery {
        self.0.push(bytes.to_vec());
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], body_len: u64) -> Placement {
        Placement::Into(Scatter::discard(body_len))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {
        self.0.push(b"body".to_vec());
    }

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, _: Peer, _: Failure) {}
}

fn packet(bytes: &[u8]) -> Vec<u8> {
    [&frame::packet(Lane::Request, bytes.len() as u32)[..], bytes].concat()
}

/// What has come is read up to the end of what the system has at that time, for that is reported once: also behind a turn that was too
/// short for what had been read, of which a part has not been taken then.
#[test]
fn a_turn_that_says_that_nothing_is_left_has_asked_the_system() {
    const BODY: [u8; 10] = *b"0123456789";
    for is_sealed in [false, true] {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut sealer = Sealer::new(&KEY);
        let mut send = |records: &[Vec<u8>]| {
            for bytes in records {
                let mut bytes = bytes.clone();
                if is_sealed {
                    sealer.room()[..bytes.len()].copy_from_slice(&bytes);
                    sealer.seal(bytes.len());
                    bytes = sealer.waiting().to_vec();
                    sealer.sent(bytes.len());
                }
                far.write_all(&bytes).unwrap();
            }
        };
        let keys = Keys { send: KEY, receive: KEY };
        let mut inbox = Inbox::new(&Limits::new(&TcpConfig::default()), is_sealed.then_some(&keys));
        let mut arrived = Arrived::default();
        let mut read = |inbox: &mut Inbox, packets: u32| {
            let mut turn = Turn::new(&mut arrived, Budget { packets, bytes: 1 << 20 });
            inbox.receive(near.as_fd(), Peer(1), false, &mut turn).unwrap()
        };
        let head = frame::bulk(Lane::Request, 4, BODY.len() as u64);
        let chunk = frame::chunk(Lane::Request, BODY.len() as u32);
        let begin = [&head[..], b"head", &chunk, &BODY[..4]].concat();
        send(&[begin, [&BODY[4..], &packet(b"behind")].concat()]);
        assert_eq!(read(&mut inbox, 1), Halt::Budget);
        send(&[packet(b"later")]);
        assert_eq!(read(&mut inbox, 100), Halt::Drained);
        assert_eq!(arrived.0, [&b"body"[..], b"behind", b"later"], "sealed: {is_sealed}");
    }
}
