//! `RMA_TCP_AUTHENTICATE`: tampering on the way is found, and nothing of it is handed over.

mod common;

use common::{Book, LIMIT, LOOPBACK, Rank, drive, settings};
use rma_ch_tcp::{TcpChannel, TcpConfig};
use rma_core::channel::{Failure, FailureKind, Lane};
use rma_core::ids::Peer;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// Hello and proof, before the first record of the dialer.
const HANDSHAKE: [usize; 2] = [104, 32];
/// The record of one packet of five bytes: its header, the frame, its tag.
const RECORD: usize = 20 + (8 + 5) + 16;
const PACKETS: [&[u8; 5]; 2] = [b"first", b"other"];

/// The two ends of a relay: towards the dialer, and towards the answerer.
struct Ends {
    back: TcpStream,
    there: TcpStream,
}

/// Passes on what comes to it, but for the first two records of the dialer, which go to `tamper`. Answers its
/// address.
fn relay(to: String, tamper: impl FnOnce([Vec<u8>; 2], &mut Ends) + Send + 'static) -> String {
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
        let mut ends = Ends { back: from, there: to };
        tamper(records, &mut ends);
        let _ = std::io::copy(&mut ends.back, &mut ends.there);
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

/// Sends both packets in a record each, and waits until `done`. Answers both ranks.
fn send_both(
    tamper: impl FnOnce([Vec<u8>; 2], &mut Ends) + Send + 'static,
    mut done: impl FnMut(&[Rank]) -> bool,
) -> [Rank; 2] {
    let mut ranks = pair([true; 2], |address| relay(address, tamper));
    ranks[0].send(1, Lane::Request, PACKETS[0]);
    // Connected when the system has taken the first packet.
    drive(&mut ranks[..], "a connection", |ranks| ranks[0].channel.system_calls().reads > 0);
    let _ = ranks[0].poll();
    ranks[0].send(1, Lane::Request, PACKETS[1]);
    drive(&mut ranks, "the end", |ranks| done(ranks));
    ranks.try_into().unwrap()
}

/// [`send_both`] with these bytes in the place of the records, up to a failure at the answerer; answers that
/// one.
fn replace(tamper: impl FnOnce([Vec<u8>; 2]) -> Vec<u8> + Send + 'static) -> Rank {
    let tamper = |records, ends: &mut Ends| ends.there.write_all(&tamper(records)).unwrap();
    let [_, rank] = send_both(tamper, |ranks| !ranks[1].log.failed.is_empty());
    rank
}

/// What was handed over before the failure, which has to be that of a record of this number.
fn handed_over_before(rank: &Rank, record: u64) -> Vec<Vec<u8>> {
    let [(Peer(peer), Failure { kind: FailureKind::Protocol, detail })] = &rank.log.failed[..] else {
        panic!("{:?}", rank.log.failed)
    };
    let (process, record) = (format!("process {peer} "), format!("record {record} "));
    for part in [&process, &record, "wrong tag", "RMA_TCP_AUTHENTICATE"] {
        assert!(detail.contains(part), "{part:?} is not in {detail:?}");
    }
    handed_over(rank)
}

fn handed_over(rank: &Rank) -> Vec<Vec<u8>> {
    rank.log.packets.iter().map(|packet| packet.2.clone()).collect()
}

#[test]
fn what_is_passed_on_as_it_was_arrives() {
    let pass = |records: [Vec<u8>; 2], ends: &mut Ends| ends.there.write_all(&records.concat()).unwrap();
    let [_, rank] = send_both(pass, |ranks| ranks[1].log.packets.len() == 2);
    assert_eq!(handed_over(&rank), PACKETS);
    assert_eq!(rank.log.failed, []);
}

#[test]
fn a_changed_byte_is_found_wherever_it_is() {
    for at in 0..2 * RECORD {
        let rank = replace(move |records| {
            let mut bytes = records.concat();
            bytes[at] ^= 1 << (at % 8);
            bytes
        });
        let whole = at / RECORD;
        assert_eq!(handed_over_before(&rank, whole as u64), PACKETS[..whole], "byte {at}");
    }
}

#[test]
fn records_that_are_repeated_swapped_or_left_out_are_found() {
    let rank = replace(|[one, two]| [one.clone(), one, two].concat());
    assert_eq!(handed_over_before(&rank, 1), PACKETS[..1]);
    let rank = replace(|[one, two]| [two, one].concat());
    assert!(handed_over_before(&rank, 0).is_empty());
    let rank = replace(|[_, two]| two);
    assert!(handed_over_before(&rank, 0).is_empty());
}

#[test]
fn what_comes_back_to_its_sender_is_found() {
    let turn_back = |records: [Vec<u8>; 2], ends: &mut Ends| ends.back.write_all(&records[0]).unwrap();
    let [rank, other] = send_both(turn_back, |ranks| !ranks[0].log.failed.is_empty());
    assert!(handed_over_before(&rank, 0).is_empty());
    assert!(handed_over(&other).is_empty());
}

/// Where a stream ends too early is a death, whatever was under way: the goodbye is part of what is sealed.
#[test]
fn a_stream_that_is_cut_off_is_a_death_and_nothing_of_a_cut_record_is_handed_over() {
    for end in [0, 1, 20, RECORD - 1, RECORD, RECORD + 1, RECORD + 20, 2 * RECORD - 1, 2 * RECORD] {
        let cut = move |records: [Vec<u8>; 2], ends: &mut Ends| {
            ends.there.write_all(&records.concat()[..end]).unwrap();
            ends.there.shutdown(Shutdown::Write).unwrap();
        };
        let [_, rank] = send_both(cut, |ranks| !ranks[1].log.failed.is_empty());
        let [(Peer(0), Failure { kind: FailureKind::Dead, detail })] = &rank.log.failed[..] else {
            panic!("cut at {end}: {:?}", rank.log.failed)
        };
        assert!(detail.contains("without a goodbye"), "{detail}");
        assert_eq!(handed_over(&rank), PACKETS[..end / RECORD], "cut at {end}");
    }
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
