//! `RMA_TCP_AUTHENTICATE`: what somebody on the way does to a connection is found, and nothing of it is handed over.

mod common;

use common::{Book, LIMIT, LOOPBACK, Rank, drive, settings};
use rma_ch_tcp::{TcpChannel, TcpConfig};
use rma_core::channel::{Failure, FailureKind, Lane};
use rma_core::ids::Peer;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

/// Hello and proof, before the first record of who connects.
const HANDSHAKE: [usize; 2] = [104, 32];
/// The record of one packet of five bytes: its header, the frame, its tag.
const RECORD: usize = 20 + (8 + 5) + 16;
const PACKETS: [&[u8; 5]; 2] = [b"first", b"other"];

/// Passes on what comes to it, but for the first two records of who connects, which it has in hand. Answers its address.
fn relay(to: String, tamper: impl FnOnce([Vec<u8>; 2]) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut from, _) = listener.accept().unwrap();
        let mut to = TcpStream::connect(to).unwrap();
        for stream in [&from, &to] {
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
        }
        let (mut back, mut there) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let backward = thread::spawn(move || {
            let _ = std::io::copy(&mut there, &mut back);
            let _ = back.shutdown(Shutdown::Both);
        });
        for len in HANDSHAKE {
            let mut message = vec![0; len];
            from.read_exact(&mut message).unwrap();
            to.write_all(&message).unwrap();
        }
        let records = [(); 2].map(|()| {
            let mut record = vec![0; RECORD];
            from.read_exact(&mut record).unwrap();
            record
        });
        to.write_all(&tamper(records)).unwrap();
        let _ = std::io::copy(&mut from, &mut to);
        backward.join().unwrap();
    });
    address
}

fn config(authenticate: bool) -> TcpConfig {
    TcpConfig { authenticate, ..TcpConfig::default() }
}

/// Two ranks with these switches, the first of which reaches the second by way of what `route` makes of the second's address.
fn pair(switches: [bool; 2], route: impl FnOnce(String) -> String) -> Vec<Rank> {
    let books = [Book::default(), Book::default()];
    let channels = [0, 1].map(|me| {
        TcpChannel::bind(settings(me, 2, config(switches[me as usize]), &books[me as usize])).unwrap()
    });
    let [zero, one] = [0, 1].map(|me: usize| channels[me].address());
    *books[1].lock().unwrap() = vec![zero.clone(), one.clone()];
    *books[0].lock().unwrap() = vec![zero, route(one)];
    channels.map(Rank::new).into()
}

/// Sends both packets in a record each, and waits until `done`.
fn send_both(
    tamper: impl FnOnce([Vec<u8>; 2]) -> Vec<u8> + Send + 'static,
    mut done: impl FnMut(&Rank) -> bool,
) -> Rank {
    let mut ranks = pair([true; 2], |address| relay(address, tamper));
    ranks[0].send(1, Lane::Request, PACKETS[0]);
    // Connected when the system has taken the first packet.
    drive(&mut ranks[..], "a connection", |ranks| ranks[0].channel.system_calls().reads > 0);
    let _ = ranks[0].poll();
    ranks[0].send(1, Lane::Request, PACKETS[1]);
    drive(&mut ranks, "the end", |ranks| done(&ranks[1]));
    ranks.remove(1)
}

/// What was handed over before the failure, which has to be that of a record of this number.
fn handed_over_before(rank: &Rank, record: u64) -> Vec<Vec<u8>> {
    let [(Peer(0), Failure { kind: FailureKind::Protocol, detail })] = &rank.log.failed[..] else {
        panic!("{:?}", rank.log.failed)
    };
    for part in ["process 0 ", &format!("record {record} "), "wrong tag", "RMA_TCP_AUTHENTICATE"] {
        assert!(detail.contains(part), "{part:?} is not in {detail:?}");
    }
    rank.log.packets.iter().map(|packet| packet.2.clone()).collect()
}

#[test]
fn what_is_passed_on_as_it_was_arrives() {
    let rank = send_both(|records| records.concat(), |rank| rank.log.packets.len() == 2);
    assert_eq!(rank.log.packets.iter().map(|packet| &packet.2[..]).collect::<Vec<_>>(), PACKETS);
    assert_eq!(rank.log.failed, []);
}

#[test]
fn a_changed_byte_is_found_wherever_it_is() {
    for at in 0..2 * RECORD {
        let change = move |records: [Vec<u8>; 2]| {
            let mut bytes = records.concat();
            bytes[at] ^= 1 << (at % 8);
            bytes
        };
        let rank = send_both(change, |rank| !rank.log.failed.is_empty());
        let whole = at / RECORD;
        assert_eq!(handed_over_before(&rank, whole as u64), PACKETS[..whole], "byte {at}");
    }
}

#[test]
fn records_that_are_repeated_swapped_or_left_out_are_found() {
    let repeated = |[one, two]: [Vec<u8>; 2]| [one.clone(), one, two].concat();
    let rank = send_both(repeated, |rank| !rank.log.failed.is_empty());
    assert_eq!(handed_over_before(&rank, 1), PACKETS[..1]);
    let swapped = |[one, two]: [Vec<u8>; 2]| [two, one].concat();
    let rank = send_both(swapped, |rank| !rank.log.failed.is_empty());
    assert!(handed_over_before(&rank, 0).is_empty());
    let left_out = |[_, two]: [Vec<u8>; 2]| two;
    let rank = send_both(left_out, |rank| !rank.log.failed.is_empty());
    assert!(handed_over_before(&rank, 0).is_empty());
}

#[test]
fn a_mixture_is_refused_by_name() {
    for switches in [[true, false], [false, true]] {
        let mut ranks = pair(switches, |address| address);
        ranks[0].send(1, Lane::Request, PACKETS[0]);
        drive(&mut ranks, "the refusal", |ranks| !ranks[0].log.failed.is_empty());
        let detail = &ranks[0].log.failed[0].1.detail;
        let value = u8::from(switches[0]);
        let part = format!("RMA_TCP_AUTHENTICATE is {value} and not as on the other side");
        assert!(detail.contains("process 1 ") && detail.contains(&part), "{detail}");
        assert_eq!(ranks[1].log.packets, []);
    }
}

/// Not a test: the figures of `docs/performance.md`.
#[test]
#[ignore = "a measurement: cargo test --release -p rma-ch-tcp --test authenticate -- --ignored --nocapture"]
fn what_it_costs() {
    static BODY: [u8; 4 << 20] = [7; 4 << 20];
    const ROUNDS: usize = 5;
    let mut best = [[f64::MAX; 2]; 2];
    for _ in 0..ROUNDS {
        for (authenticate, best) in [false, true].into_iter().zip(&mut best) {
            let ranks = pair([authenticate; 2], |address| address);
            let [mut here, mut there]: [Rank; 2] = ranks.try_into().unwrap();
            let end = AtomicBool::new(false);
            let is_over = || end.load(Relaxed);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over() {
                        let _ = there.poll();
                        let packets = there.log.packets.drain(..).count();
                        let bodies = there.log.bodies.drain(..).count();
                        (0..packets + bodies).for_each(|_| there.send(0, Lane::Response, &[1; 64]));
                    }
                });
                let mut turn = |send: &dyn Fn(&mut Rank)| {
                    let start = Instant::now();
                    send(&mut here);
                    while here.log.packets.is_empty() {
                        let _ = here.poll();
                    }
                    here.log.packets.clear();
                    start.elapsed().as_secs_f64()
                };
                for _ in 0..500 {
                    let time = turn(&|rank| rank.send(1, Lane::Request, &[1; 64]));
                    best[0] = best[0].min(time);
                }
                for _ in 0..60 {
                    let time = turn(&|rank| rank.send_bulk(1, Lane::Request, &BODY, 0));
                    best[1] = best[1].min(time);
                }
                end.store(true, Relaxed);
            });
        }
    }
    for (name, [ping, stream]) in ["plain", "authenticated"].into_iter().zip(best) {
        let rate = BODY.len() as f64 / stream / 1e9;
        println!("{name}: round trip of 64 bytes {:.2} µs, bodies of 4 MiB {rate:.2} GB/s", ping * 1e6);
    }
}
