//! A connection that is not of the job is dropped, and the job does not notice.

mod common;

use common::{Book, LIMIT, Rank, drive, is_closed, ranks, settings};
use rma_ch_tcp::{TcpChannel, TcpConfig};
use rma_core::channel::conformance::Sleeper;
use rma_core::channel::{Armed, Channel, FailureKind, Lane};
use rma_core::ids::Peer;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The job works, and notices no unauthenticated connection.
fn check(ranks: &mut [Rank]) {
    let before = ranks[1].log.packets.len();
    ranks[0].send(1, Lane::Request, b"to one");
    ranks[1].send(0, Lane::Response, b"to zero");
    drive(ranks, "packets both ways", |r| r[1].log.packets.len() > before && !r[0].log.packets.is_empty());
    assert_eq!(ranks[1].log.packets[before], (Peer(0), Lane::Request, b"to one".to_vec()));
    for rank in ranks {
        assert_eq!(rank.log.failed, []);
        assert_eq!(rank.channel.usage().peers, 1);
    }
}

fn connect(rank: &Rank) -> TcpStream {
    TcpStream::connect(rank.channel.address()).unwrap()
}

#[test]
fn a_speaker_of_another_protocol_is_dropped_at_once() {
    let mut ranks = ranks(2, &TcpConfig::default());
    let words: [&[u8]; 4] = [b"G", b"GET / HTTP/1.1\r\n\r\n", &[0; 500], b"\x89rmatcp\r"];
    let begin = Instant::now();
    for word in words {
        let mut connection = connect(&ranks[1]);
        connection.write_all(word).unwrap();
        drive(&mut ranks, "the connection to be dropped", |_| is_closed(&mut connection));
        check(&mut ranks);
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "unauthenticated connections are not waited for");
}

#[test]
fn random_bytes_to_the_port_disturb_no_peer() {
    let mut ranks = ranks(2, &TcpConfig::default());
    let mut state = 1u64;
    for round in 0..200usize {
        let mut connection = connect(&ranks[0]);
        let bytes: Vec<u8> = (0..round % 97)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        // Half of them begin like a peer, so that they get further.
        let _ = connection.write_all(if round % 2 == 0 { b"\x89rmatcp\n\x01\x00\x02\x01" } else { b"" });
        let _ = connection.write_all(&bytes);
        drop(connection);
        for rank in &mut ranks {
            let _ = rank.poll();
        }
    }
    check(&mut ranks);
    assert_eq!(ranks[0].channel.usage().peers, 1);
}

/// A dialer that knows everything but the secret (or the job's name) fails there and is dropped here.
#[test]
fn the_wrong_secret_or_job_is_dropped_and_told() {
    for (wrong, word) in [(false, "secret"), (true, "job")] {
        let mut job = ranks(2, &TcpConfig::default());
        let book = Book::default();
        *book.lock().unwrap() = vec![String::new(), job[1].channel.address()];
        let mut settings = settings(0, 2, TcpConfig::default(), &book);
        if wrong {
            settings.job = "another".to_owned();
        } else {
            settings.secret = [0; 32];
        }
        let mut outsider = Rank::new(TcpChannel::bind(settings).unwrap());
        outsider.send(1, Lane::Request, b"let me in");
        let end = Instant::now() + LIMIT;
        while outsider.log.failed.is_empty() {
            let _ = (outsider.poll(), job[0].poll(), job[1].poll());
            assert!(Instant::now() < end, "no refusal arrives");
        }
        let (peer, failure) = &outsider.log.failed[0];
        assert_eq!((*peer, failure.kind), (Peer(1), FailureKind::Protocol));
        assert!(failure.detail.contains(word), "{failure}");
        check(&mut job);
        assert_eq!(job[1].log.packets.len(), 1, "nothing of the refused process came through");
    }
}

/// A server that is not of the job, at the address of a peer, cannot play the peer: it fails for the dialer.
#[test]
fn another_server_at_a_peers_address_is_not_the_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let book = Book::default();
    *book.lock().unwrap() = vec![String::new(), listener.local_addr().unwrap().to_string()];
    let channel = TcpChannel::bind(settings(0, 2, TcpConfig::default(), &book)).unwrap();
    let mut ranks = [Rank::new(channel)];
    ranks[0].send(1, Lane::Request, b"for one only");
    let (mut connection, _) = listener.accept().unwrap();
    drive(&mut ranks, "the connection", |r| {
        let mut hello = [0; 104];
        let _ = r[0].poll();
        connection.peek(&mut hello).unwrap() == 104
    });
    connection.write_all(&[0x89; 84]).unwrap();
    drive(&mut ranks, "the failure", |r| !r[0].log.failed.is_empty());
    let failure = &ranks[0].log.failed[0].1;
    assert_eq!(failure.kind, FailureKind::Protocol, "{failure}");
    assert!(ranks[0].channel.reserve(Peer(1), Lane::Request, 8).is_err());
}

/// Silent connections fill all places; their time ends, also that of one that drips, and a peer that comes
/// meanwhile gets in.
#[test]
fn silent_connections_make_room_in_time() {
    let config = TcpConfig { unauthenticated: 2, handshake_timeout_s: 1, ..TcpConfig::default() };
    let mut ranks = ranks(2, &config);
    let mut connections: Vec<_> = (0..5).map(|_| connect(&ranks[1])).collect();
    // One that drips: a byte now and then buys no time.
    connections[0].write_all(b"\x89").unwrap();
    ranks[0].send(1, Lane::Request, b"late but whole");
    let begin = Instant::now();
    let (mut sleeper, registrar) = Sleeper::new();
    for rank in &mut ranks {
        rank.channel.register(&registrar).unwrap();
    }
    let mut polls = 0;
    while ranks[1].log.packets.is_empty() {
        let idle = ranks.iter_mut().all(|rank| rank.poll().is_idle());
        if idle && ranks.iter_mut().all(|rank| rank.channel.arm() == Armed::Sleep) {
            sleeper.sleep(LIMIT).unwrap();
            let _ = connections[0].write_all(b"r");
        }
        polls += 1;
        assert!(begin.elapsed() < LIMIT, "the peer never got in");
    }
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    assert!(polls < 1000, "waiting for them kept a core busy: {polls} polls");
    drive(&mut ranks, "all connections to be dropped", |_| connections.iter_mut().all(is_closed));
    check(&mut ranks[..]);
}

/// A hello of process 0 to process 1, which takes only the job's name to make.
fn hello() -> [u8; 104] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let book = Book::default();
    *book.lock().unwrap() = vec![String::new(), listener.local_addr().unwrap().to_string()];
    let mut ranks = [Rank::new(TcpChannel::bind(settings(0, 2, TcpConfig::default(), &book)).unwrap())];
    ranks[0].send(1, Lane::Request, b"hello");
    let (connection, _) = listener.accept().unwrap();
    connection.set_nonblocking(true).unwrap();
    let mut hello = [0; 104];
    drive(&mut ranks, "the hello", |_| connection.peek(&mut hello).is_ok_and(|len| len == 104));
    hello
}

/// More silent connections than there are places, by far: a peer gets in long before their time is over, whether they have
/// said hello or nothing.
#[test]
fn many_silent_connections_hold_up_no_peer() {
    let hello = hello();
    for has_said_hello in [false, true] {
        let config = TcpConfig { unauthenticated: 4, handshake_timeout_s: 20, ..TcpConfig::default() };
        let mut ranks = ranks(2, &config);
        let mut connections: Vec<_> = (0..60).map(|_| connect(&ranks[1])).collect();
        if has_said_hello {
            connections.iter_mut().for_each(|connection| connection.write_all(&hello).unwrap());
        }
        let begin = Instant::now();
        check(&mut ranks[..]);
        // Fifteen places' worth, for a quarter of a second each.
        assert!(begin.elapsed() < Duration::from_secs(10), "{has_said_hello}: {:?}", begin.elapsed());
        drop(connections);
    }
}

/// A peer that is slow to look at its connections is not taken for a silent connection.
#[test]
fn a_handshake_survives_a_receiver_that_computes() {
    let config = TcpConfig {
        unauthenticated: 1,
        handshake_timeout_s: 1,
        connect_timeout_s: 1,
        ..TcpConfig::default()
    };
    let mut ranks = ranks(2, &config);
    ranks[0].send(1, Lane::Request, b"when you have time");
    for (polled, away) in [(0, 1300), (1, 1300), (0, 10), (1, 1300), (0, 10)] {
        // Time passes without a poll, which is what is tested here.
        std::thread::sleep(Duration::from_millis(away));
        for _ in 0..20 {
            let _ = ranks[polled].poll();
        }
    }
    drive(&mut ranks, "the packet", |r| !r[1].log.packets.is_empty());
    assert_eq!(ranks[0].log.failed, []);
}
