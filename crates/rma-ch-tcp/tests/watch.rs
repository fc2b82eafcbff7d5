//! What the channel asks the system: few calls while there is traffic, and nothing is missed for that.

mod common;

use common::{Rank, drive, ranks};
use rma_ch_tcp::{SystemCalls, TcpConfig};
use rma_core::channel::{Armed, Budget, Channel, Lane, Room};
use rma_core::ids::Peer;

/// More round trips than it takes until a connection is not watched.
const MANY: usize = 200;

/// Two ranks send each other a packet in turn, `times` over. Answers the most reads that one poll made.
fn ping_pong(ranks: &mut [Rank], (a, b): (usize, usize), times: usize) -> u64 {
    let mut most = 0;
    let mut poll = |rank: &mut Rank| {
        let reads = rank.channel.system_calls().reads;
        let _ = rank.poll();
        most = most.max(rank.channel.system_calls().reads - reads);
    };
    for round in 0..times {
        for (from, to) in [(a, b), (b, a)] {
            let before = ranks[to].log.packets.len();
            ranks[from].send(to as u32, Lane::Request, b"a packet");
            // Not always as many, so that each poll asks the system at some time.
            for _ in 0..=round % 2 {
                poll(&mut ranks[from]);
            }
            while ranks[to].log.packets.len() == before {
                poll(&mut ranks[to]);
            }
        }
    }
    most
}

fn connected(size: u32, config: &TcpConfig) -> Vec<Rank> {
    let mut all = ranks(size, config);
    for from in 0..size {
        for to in (0..size).filter(|to| *to != from) {
            all[from as usize].send(to, Lane::Request, b"hello");
        }
    }
    let met = |all: &mut [Rank]| all.iter().all(|rank| rank.log.packets.len() == size as usize - 1);
    drive(&mut all, "all to have met", met);
    all
}

/// Arms until the system has reported something: no poll reads meanwhile.
fn is_notified(rank: &mut Rank) -> bool {
    let end = std::time::Instant::now() + common::LIMIT;
    while std::time::Instant::now() < end {
        if rank.channel.arm() == Armed::Busy {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[test]
fn a_poll_reads_a_connection_once() {
    let mut ranks = connected(2, &TcpConfig::default());
    assert_eq!(ping_pong(&mut ranks, (0, 1), MANY), 1);
}

#[test]
fn epoll_events_are_collected_seldom_while_there_are_none() {
    let mut ranks = connected(2, &TcpConfig::default());
    ping_pong(&mut ranks, (0, 1), MANY);
    let before = ranks[1].channel.system_calls();
    for _ in 0..1600 {
        let _ = ranks[1].poll();
    }
    let SystemCalls { reads, epoll_waits } = ranks[1].channel.system_calls();
    assert_eq!((reads - before.reads, epoll_waits - before.epoll_waits), (1600, 100));
}

#[test]
fn a_rank_that_sleeps_after_traffic_is_woken_by_a_packet() {
    let mut ranks = connected(2, &TcpConfig::default());
    for _ in 0..3 {
        ping_pong(&mut ranks, (0, 1), MANY);
        while ranks[1].channel.arm() == Armed::Busy {
            let _ = ranks[1].poll();
        }
        ranks[0].send(1, Lane::Request, b"wake up");
        let _ = ranks[0].poll();
        assert!(is_notified(&mut ranks[1]), "a packet is not reported");
        let before = ranks[1].log.packets.len();
        drive(&mut ranks, "the packet", |all| all[1].log.packets.len() > before);
    }
}

#[test]
fn a_connection_that_others_have_displaced_is_heard() {
    let config = TcpConfig { direct_reads: 1, ..TcpConfig::default() };
    let mut ranks = connected(3, &config);
    for peer in [0, 1, 0, 1] {
        ping_pong(&mut ranks, (peer, 2), MANY);
        let other = 1 - peer;
        let before = ranks[2].log.packets.len();
        ranks[other].send(2, Lane::Request, b"I am here too");
        let _ = ranks[other].poll();
        let mut polls = 0;
        while ranks[2].log.packets.len() == before {
            let _ = ranks[2].poll();
            polls += 1;
            assert!(polls < 100_000, "a packet of a peer that is not read directly is not seen");
        }
    }
}

#[test]
fn a_connection_is_heard_while_another_one_is_never_quiet() {
    const FLOOD: usize = 200;
    const SHORT: Budget = Budget { packets: 8, bytes: 1 << 20 };
    let mut ranks = connected(3, &TcpConfig::default());
    ping_pong(&mut ranks, (1, 2), MANY);
    for _ in 0..FLOOD {
        ranks[0].send(2, Lane::Request, b"one of many packets");
        let _ = ranks[0].poll();
    }
    let Rank { channel, log } = &mut ranks[2];
    while log.packets.last().is_none_or(|(from, ..)| *from != Peer(0)) {
        let _ = channel.poll(log, SHORT);
    }
    ranks[1].send(2, Lane::Request, b"one packet");
    let _ = ranks[1].poll();
    let Rank { channel, log } = &mut ranks[2];
    let before = log.packets.len();
    for _ in 0..4 {
        let _ = channel.poll(log, SHORT);
    }
    let new = &log.packets[before..];
    let flood = new.iter().filter(|(from, ..)| *from == Peer(0)).count();
    assert!(flood > SHORT.packets as usize, "there was no flood");
    assert!(new.iter().any(|(from, ..)| *from == Peer(1)), "a packet waits for the end of the flood");
}

#[test]
fn a_rank_that_could_not_write_after_traffic_goes_on_writing() {
    static BODY: [u8; 8 << 20] = [7; 8 << 20];
    let mut ranks = connected(2, &TcpConfig::default());
    ping_pong(&mut ranks, (0, 1), MANY);
    ranks[0].send_bulk(1, Lane::Request, &BODY, 1);
    for _ in 0..50 {
        // The other rank reads nothing until the socket is full.
        let _ = ranks[0].poll();
    }
    assert_eq!(ranks[0].log.sent, [], "the body fits into the socket, and nothing was tested");
    // A connection is watched again also when it is read in vain for long: that is not what this waits for.
    for _ in 0..2000 {
        for rank in &mut ranks {
            let _ = rank.poll();
        }
    }
    assert_eq!((ranks[1].log.bodies.len(), ranks[0].log.sent.len()), (1, 1));
}

#[test]
fn the_end_of_a_peer_is_noticed_on_a_connection_that_is_read() {
    let mut ranks = connected(2, &TcpConfig::default());
    ping_pong(&mut ranks, (0, 1), MANY);
    drop(ranks.remove(0));
    let end = std::time::Instant::now() + common::LIMIT;
    while ranks[0].log.failed.is_empty() {
        let _ = ranks[0].poll();
        assert!(std::time::Instant::now() < end, "the end was not noticed");
    }
    assert_eq!(ranks[0].log.failed[0].0, Peer(0));
    assert!(!matches!(ranks[0].channel.reserve(Peer(0), Lane::Request, 1), Ok(Room::Granted)));
}
