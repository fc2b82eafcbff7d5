//! Connections come about at first use, one for each pair, also when both sides begin at once.

mod common;

use common::{Book, LIMIT, Rank, drive, ranks, settings, smallest};
use rma_ch_tcp::{TcpChannel, TcpConfig};
use rma_core::channel::{Channel, Closing, FailureKind, Lane};
use rma_core::ids::Peer;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Connections of this process in state "established" on a port, counted from its side that listens.
fn established(address: &str) -> usize {
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let local = format!("0100007F:{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|f| f.len() > 3 && f[1] == local && f[3] == "01").count()
}

/// Both ranks begin in the same moment, from threads of their own, many times, with pauses that shift the moment.
#[test]
fn two_that_connect_at_once_end_on_one_connection_and_lose_nothing() {
    let mut chosen = [0; 2];
    for round in 0..300u32 {
        let config = if round % 3 == 0 { smallest() } else { TcpConfig::default() };
        let ranks = ranks(2, &config);
        let addresses: Vec<_> = ranks.iter().map(|rank| rank.channel.address()).collect();
        let (start, end) = (Barrier::new(2), Barrier::new(2));
        let ranks: Vec<Rank> = thread::scope(|scope| {
            let threads: Vec<_> = ranks
                .into_iter()
                .zip(0..)
                .map(|(mut rank, me): (Rank, u32)| {
                    let (start, end) = (&start, &end);
                    scope.spawn(move || {
                        let limit = Instant::now() + LIMIT;
                        start.wait();
                        for _ in 0..(if me == round % 2 { round * 40 } else { 0 }) {
                            std::hint::spin_loop();
                        }
                        let other = 1 - me;
                        let words: [&[u8]; 2] = [b"first", b"second"];
                        // The second packet goes out at an unlike moment of the handshake.
                        rank.send(other, Lane::Request, words[0]);
                        for _ in 0..round % 7 {
                            let _ = rank.poll();
                        }
                        rank.send(other, Lane::Response, words[1]);
                        while rank.log.packets.len() < 2 {
                            let _ = rank.poll();
                            assert!(Instant::now() < limit, "round {round}: {rank:?}");
                        }
                        // The other may still need this side to finish.
                        for _ in 0..50 {
                            let _ = rank.poll();
                            thread::yield_now();
                        }
                        end.wait();
                        rank
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (rank, other) in ranks.iter().zip([1, 0]) {
            let mut packets = rank.log.packets.clone();
            packets.sort_by_key(|packet| packet.1 as usize);
            let expected = vec![
                (Peer(other), Lane::Request, b"first".to_vec()),
                (Peer(other), Lane::Response, b"second".to_vec()),
            ];
            assert_eq!(packets, expected, "round {round}");
            assert_eq!(rank.log.failed, [], "round {round}");
        }
        let mut ranks = ranks;
        // One that is given up may take a while to be closed on a busy machine.
        let limit = Instant::now() + LIMIT;
        let counts = loop {
            ranks.iter_mut().for_each(|rank| {
                let _ = rank.poll();
            });
            let counts: Vec<_> = addresses.iter().map(|address| established(address)).collect();
            if counts.iter().sum::<usize>() == 1 {
                break counts;
            }
            assert!(Instant::now() < limit, "round {round}: connections at the listeners: {counts:?}");
        };
        chosen[usize::from(counts[0] == 1)] += 1;
    }
    assert!(chosen[0] > 0, "no connection of the lower rank was ever the one: {chosen:?}");
}

/// All pairs of many ranks at once, driven in turns, so that every state of a handshake meets every other.
#[test]
fn all_pairs_connect_at_once() {
    for config in [TcpConfig::default(), smallest()] {
        const RANKS: u32 = 12;
        let mut ranks = ranks(RANKS, &config);
        for (me, rank) in (0..).zip(&mut ranks) {
            for other in (0..RANKS).filter(|other| *other != me) {
                rank.send(other, Lane::ALL[(me + other) as usize % 2], &[me as u8, other as u8]);
            }
        }
        let mut step = 0u32;
        drive(&mut ranks, "all packets", |ranks| {
            step += 1;
            // Some ranks are ahead of others.
            for ahead in 0..step % 5 {
                let _ = ranks[((step + ahead) * 7 % RANKS) as usize].poll();
            }
            ranks.iter().all(|rank| rank.log.packets.len() == RANKS as usize - 1)
        });
        for (me, rank) in (0u32..).zip(&mut ranks) {
            assert_eq!(rank.log.failed, []);
            assert_eq!(rank.channel.usage().peers, RANKS as usize - 1);
            rank.log.packets.sort_by_key(|packet| packet.0);
            let from = rank.log.packets.iter().map(|packet| packet.0.0);
            assert!(from.eq((0..RANKS).filter(|other| *other != me)));
            assert!(rank.log.packets.iter().all(|p| p.2 == [p.0.0 as u8, me as u8]));
        }
        drive(&mut ranks, "all to close", |ranks| {
            // Every one of them, so that none waits for one that was not asked.
            ranks.iter_mut().map(|rank| rank.channel.close()).filter(|c| *c == Closing::Pending).count() == 0
        });
    }
}

/// Without a listener there, that peer fails at once, and the others are reached.
#[test]
fn a_refused_connection_fails_that_peer_only() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let book = Book::default();
    let mut ranks: Vec<Rank> = (0..2)
        .map(|me| {
            let rank = Rank::new(TcpChannel::bind(settings(me, 5, TcpConfig::default(), &book)).unwrap());
            book.lock().unwrap().push(rank.channel.address());
            rank
        })
        .collect();
    book.lock().unwrap().extend([format!("{port}@far"), "nonsense".to_owned()]);
    let far = format!("process 2 cannot be reached at {port} (far): ");
    ranks[0].send(1, Lane::Request, b"hello");
    for (peer, word) in
        [(2, "refused"), (2, &*far), (3, "nonsense"), (4, "book"), (5, "0 to 4"), (0, "this process")]
    {
        let _ = ranks[0].channel.connect(Peer(peer));
        let begin = Instant::now();
        drive(&mut ranks, "the failure", |r| r[0].channel.connect(Peer(peer)).is_err());
        assert!(begin.elapsed() < Duration::from_secs(2));
        let failure = ranks[0].channel.connect(Peer(peer)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unreachable);
        assert!(failure.detail.contains(word), "{failure}");
        assert_eq!(ranks[0].channel.reserve(Peer(peer), Lane::Request, 8), Err(failure));
    }
    drive(&mut ranks, "the packet and the reports", |r| {
        r[1].log.packets.len() == 1 && r[0].log.failed.len() == 3
    });
    let failed: Vec<_> = ranks[0].log.failed.iter().map(|f| f.0).collect();
    assert_eq!(failed, [Peer(2), Peer(3), Peer(4)], "peers that exist are reported once, others never");
}

/// A system that answers nothing: unreachable when the time is over, and not before.
#[test]
fn a_silent_system_is_unreachable_in_time() {
    // A listener whose queue is full: its system drops what else would connect.
    let full = rustix_listener_with_full_queue();
    let book = Book::default();
    *book.lock().unwrap() = vec![String::new(), full.0.clone()];
    let config = TcpConfig { connect_timeout_s: 1, ..TcpConfig::default() };
    let mut ranks = [Rank::new(TcpChannel::bind(settings(0, 2, config, &book)).unwrap())];
    let begin = Instant::now();
    ranks[0].send(1, Lane::Request, b"hello?");
    drive(&mut ranks, "the failure", |r| !r[0].log.failed.is_empty());
    let failure = &ranks[0].log.failed[0].1;
    assert_eq!(failure.kind, FailureKind::Unreachable);
    let took = begin.elapsed();
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(5), "{took:?}: {failure}");
}

/// Not a test: what [`bytes_under_way_in_a_cut_network_end_in_time`] does in a network of its own.
#[test]
#[ignore = "another test runs it, as a process of its own: cargo test -p rma-ch-tcp --test contact"]
fn cut_off() {
    if std::env::var("RMA_TEST_CUT_OFF").is_err() {
        return;
    }
    let config = TcpConfig { ack_timeout_s: 1, ..TcpConfig::default() };
    let ip = |to: &str| Command::new("ip").args(["link", "set", "lo", to]).status().unwrap();
    assert!(ip("up").success());
    let mut ranks = ranks(2, &config);
    ranks[0].send(1, Lane::Request, b"before");
    drive(&mut ranks, "the packet", |r| !r[1].log.packets.is_empty());
    assert!(ip("down").success());
    let begin = Instant::now();
    ranks[0].send(1, Lane::Request, b"lost");
    drive(&mut ranks, "the failure", |r| !r[0].log.failed.is_empty());
    let failure = &ranks[0].log.failed[0].1;
    let took = begin.elapsed();
    assert!(failure.detail.contains("its system has confirmed nothing for 1 s"), "{failure}");
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(5), "{took:?}: {failure}");
    println!("found");
}

#[test]
fn bytes_under_way_in_a_cut_network_end_in_time() {
    let inner = std::env::current_exe().unwrap();
    let mut apart = Command::new("unshare");
    apart.args(["--map-root-user", "--net", "--"]).arg(inner).args([
        "--exact",
        "cut_off",
        "--ignored",
        "--nocapture",
    ]);
    let may = Command::new("unshare").args(["--map-root-user", "--net", "--", "ip", "link"]).output();
    if !may.is_ok_and(|ended| ended.status.success()) {
        println!("skipped: there is no network of its own to be had here");
        return;
    }
    let ended = apart.env("RMA_TEST_CUT_OFF", "1").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("found"),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// A process that takes nothing for long lives while its system answers, however rarely that is asked whether there is room.
#[test]
fn a_peer_that_takes_nothing_is_not_silent() {
    static BODY: [u8; 32 << 20] = [7; 32 << 20];
    let config = TcpConfig { ack_timeout_s: 1, ..TcpConfig::default() };
    let mut ranks = ranks(2, &config);
    ranks[0].send_bulk(1, Lane::Request, &BODY, 1);
    drive(&mut ranks, "the head", |r| !r[1].log.heads.is_empty());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) {
        let _ = ranks[0].poll();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(ranks[0].log.failed.is_empty(), "{:?}", ranks[0].log.failed);
    drive(&mut ranks, "the body", |r| !r[1].log.bodies.is_empty());
}

type Held = (String, rustix::fd::OwnedFd, Vec<std::net::TcpStream>);

fn rustix_listener_with_full_queue() -> Held {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};
    let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
    let listener = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
    let any = std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    bind(&listener, &any).unwrap();
    listen(&listener, 0).unwrap();
    let address: std::net::SocketAddr = getsockname(&listener).unwrap().try_into().unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        held.push(stream);
        assert!(held.len() < 10, "a queue of length 0 never fills");
    }
    (address.to_string(), listener, held)
}

/// Every descriptor is closed on exec, so that no child keeps a connection alive.
#[test]
fn descriptors_do_not_pass_to_other_programs() {
    let mut ranks = ranks(2, &TcpConfig::default());
    ranks[0].send(1, Lane::Request, b"connect");
    drive(&mut ranks, "the connection", |r| !r[1].log.packets.is_empty());
    let mut sockets = 0;
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let path = entry.unwrap().path();
        let Ok(target) = std::fs::read_link(&path) else { continue };
        if !target.to_string_lossy().starts_with("socket:") {
            continue;
        }
        let number = path.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(info) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { continue };
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
        // The close-on-exec bit, in octal.
        assert!(u32::from_str_radix(flags, 8).unwrap() & 0o2_000_000 != 0, "descriptor {number}: {flags}");
        sockets += 1;
    }
    assert!(sockets >= 4, "two listeners and two ends");
}
