//! The queue written to a socket that takes little at a time, and read back by the decoder.

use super::*;
use crate::config::TcpConfig;
use crate::frame::{Decoder, Step};
use rma_core::datatype::{Layout, Loop};
use rma_core::mem::ReadSpan;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

fn limits(send: u64, bulks: u64, chunk: u64) -> Limits {
    Limits::new(&TcpConfig {
        packet_bytes: 200,
        send_bytes: send,
        bulks,
        chunk_bytes: chunk,
        ..TcpConfig::default()
    })
}

fn gather(bytes: &[u8]) -> Gather {
    // SAFETY: every test keeps the bytes until its queue is gone.
    Gather::span(unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) })
}

fn send(queue: &mut SendQueue, lane: Lane, bytes: &[u8], limits: &Limits) -> bool {
    if queue.reserve(lane, bytes.len(), limits) == Room::Full {
        return false;
    }
    let half = bytes.len() / 2;
    queue.fill(lane, 0, Source::Bytes(&bytes[..half]));
    queue.fill(lane, half, Source::Memory(&mut gather(&bytes[half..])));
    queue.commit(lane, bytes.len());
    true
}

/// What came out of the socket, per lane: packets, and heads with their bodies.
fn decode(wire: &[u8]) -> [Vec<(Vec<u8>, Vec<u8>)>; 2] {
    let mut decoder = Decoder::new(200);
    let mut said: [Vec<(Vec<u8>, Vec<u8>)>; 2] = Default::default();
    let mut rest = wire;
    while !rest.is_empty() {
        if let Some(body) = decoder.body() {
            let (bytes, after) = rest.split_at(body.chunk_left as usize);
            said[body.lane as usize].last_mut().unwrap().1.extend(bytes);
            decoder.body_arrived(body.chunk_left);
            rest = after;
            continue;
        }
        let used = match decoder.decode(rest).unwrap() {
            Step::Need(len) => panic!("{len} bytes needed, {} there", rest.len()),
            Step::Packet { lane, bytes, used } => {
                said[lane as usize].push((bytes.to_vec(), Vec::new()));
                used
            }
            Step::Bulk { lane, head, used, .. } => {
                said[lane as usize].push((head.to_vec(), Vec::new()));
                used
            }
            Step::Chunk | Step::Goodbye => frame::HEADER,
        };
        rest = &rest[used..];
    }
    said
}

#[test]
fn everything_leaves_in_order_through_a_socket_that_takes_little() {
    let memory: Vec<u8> = (0..100_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let strided = Layout::nest(5, 9, &[Loop { count: 3000, stride: 13 }]).unwrap();
    let long_pieces = Layout::nest(0, 700, &[Loop { count: 100, stride: 900 }]).unwrap();
    for limits in [limits(1, 1, 1), limits(700, 2, 1000), limits(1 << 20, 64, 1 << 19)] {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        rustix::net::sockopt::set_socket_send_buffer_size(&near, 1).unwrap();
        let mut queue = SendQueue::new();
        let mut stage = vec![0; STAGE];
        let mut expected: [Vec<(Vec<u8>, Vec<u8>)>; 2] = Default::default();
        let (mut sent, mut accepted, mut wire) = (Vec::new(), Vec::new(), Vec::new());
        let mut blocked = 0;
        let mut turn = |queue: &mut SendQueue, wire: &mut Vec<u8>, sent: &mut Vec<BulkToken>| {
            let written =
                queue.write(near.as_fd(), &limits, &mut stage, 5000, |token| sent.push(token)).unwrap();
            blocked += usize::from(written.blocked);
            let mut bytes = [0; 8192];
            if let Ok(len) = far.read(&mut bytes) {
                wire.extend(&bytes[..len]);
            }
        };
        for i in 0..120usize {
            let lane = Lane::ALL[i / 3 % 2];
            let packet = &memory[i..i + 1 + i % 200];
            while !send(&mut queue, lane, packet, &limits) {
                turn(&mut queue, &mut wire, &mut sent);
            }
            expected[lane as usize].push((packet.to_vec(), Vec::new()));
            if i % 4 == 0 {
                let run = Layout::contiguous(1 + i as u64 * 100);
                let layout = [&strided, &long_pieces, &run][i / 4 % 3];
                // SAFETY: the layouts end within `memory`, which outlives the queue.
                let body = unsafe { Gather::new(memory.as_ptr(), Layout::clone(layout)) };
                let mut bytes = vec![0; body.remaining() as usize];
                body.clone().read(&mut bytes);
                let token = BulkToken(i as u64);
                let head = &memory[i..i + 10];
                while queue.push_bulk(lane, head, body.clone(), token, &limits) == Room::Full {
                    turn(&mut queue, &mut wire, &mut sent);
                }
                accepted.push(token);
                expected[lane as usize].push((head.to_vec(), bytes));
            }
            assert!(queue.allocated() <= SendQueue::most_allocated(&limits), "{limits:?}");
        }
        queue.say_goodbye();
        while !queue.is_empty() {
            turn(&mut queue, &mut wire, &mut sent);
        }
        let mut tail = Vec::new();
        let _ = far.read_to_end(&mut tail); // ends with "would block"
        wire.extend(tail);
        assert!(blocked > 10, "the socket took everything at once: {blocked}");
        assert_eq!(decode(&wire), expected, "{limits:?}");
        sent.sort_unstable_by_key(|token| token.0);
        assert_eq!(sent, accepted);
        assert!(wire.ends_with(&frame::goodbye()));
    }
}

#[test]
fn a_response_goes_before_requests_and_between_the_pieces_of_their_bodies() {
    let limits = limits(4096, 4, 1000);
    let memory = vec![7; 2_000_000];
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    let mut queue = SendQueue::new();
    assert_eq!(
        queue.push_bulk(Lane::Request, &[1; 5], gather(&memory), BulkToken(1), &limits),
        Room::Granted
    );
    let mut stage = vec![0; STAGE];
    let mut write =
        |queue: &mut SendQueue| queue.write(near.as_fd(), &limits, &mut stage, usize::MAX, |_| ()).unwrap();
    while !write(&mut queue).blocked {}
    assert!(send(&mut queue, Lane::Response, &[9; 20], &limits));
    let mut wire = Vec::new();
    while !queue.is_empty() {
        let mut bytes = [0; 65536];
        if let Ok(len) = far.read(&mut bytes) {
            wire.extend(&bytes[..len]);
        }
        write(&mut queue);
    }
    let _ = far.read_to_end(&mut wire);
    let at = wire.windows(20).position(|bytes| bytes == [9; 20]).unwrap();
    assert!(at < 1_200_000, "the response waited for {at} bytes");
}

#[test]
fn a_body_of_one_mebibyte_leaves_in_one_piece() {
    let limits = Limits::new(&TcpConfig::default());
    for (len, pieces) in [(1 << 20, 1), ((1 << 20) + 1, 2)] {
        let memory = vec![7; len];
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        let mut queue = SendQueue::new();
        let body = gather(&memory);
        assert_eq!(queue.push_bulk(Lane::Request, &[1; 5], body, BulkToken(1), &limits), Room::Granted);
        let (mut stage, mut wire) = (vec![0; STAGE], Vec::new());
        while !queue.is_empty() {
            queue.write(near.as_fd(), &limits, &mut stage, usize::MAX, |_| ()).unwrap();
            let _ = far.read_to_end(&mut wire); // ends with "would block"
        }
        assert_eq!(wire.len(), frame::BULK_HEADER + 5 + pieces * frame::HEADER + len);
        assert_eq!(decode(&wire)[Lane::Request as usize][0].1, memory);
    }
}

#[test]
fn full_is_answered_by_one_notice_for_the_length_asked_last() {
    let limits = limits(500, 1, 1000);
    let memory = [3; 5000];
    let mut queue = SendQueue::new();
    assert!(send(&mut queue, Lane::Request, &[1; 200], &limits));
    assert!(send(&mut queue, Lane::Request, &[1; 200], &limits));
    assert!(!send(&mut queue, Lane::Request, &[1; 200], &limits));
    assert!(send(&mut queue, Lane::Response, &[1; 200], &limits), "lanes have rooms of their own");
    assert!(queue.has_full_lane() && !queue.would_be_writable(&limits));
    assert!(!queue.take_writable(Lane::Request, &limits));
    assert!(!send(&mut queue, Lane::Request, &[1; 90], &limits));
    assert!(send(&mut queue, Lane::Request, &[1; 60], &limits), "shorter ones still fit");
    let (near, _far) = UnixStream::pair().unwrap();
    queue.write(near.as_fd(), &limits, &mut vec![0; STAGE], usize::MAX, |_| ()).unwrap();
    assert!(queue.would_be_writable(&limits));
    assert!(queue.take_writable(Lane::Request, &limits));
    assert!(!queue.take_writable(Lane::Request, &limits), "once");
    assert!(!queue.has_full_lane());

    let body = || gather(&memory);
    assert_eq!(queue.push_bulk(Lane::Request, &[1], body(), BulkToken(1), &limits), Room::Granted);
    assert_eq!(queue.push_bulk(Lane::Request, &[1], body(), BulkToken(2), &limits), Room::Full);
    let mut sent = Vec::new();
    queue.clear(|token| sent.push(token));
    assert_eq!(sent, [BulkToken(1)]);
    assert_eq!((queue.waiting_bytes(), queue.allocated()), (0, 0));
    assert!(queue.take_writable(Lane::Request, &limits), "room after giving up is room");
}
