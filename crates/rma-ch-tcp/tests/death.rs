//! A process that is killed in the midst of a body.

mod common;

use common::{Book, LIMIT, Rank, drive, settings};
use rma_ch_tcp::{TcpChannel, TcpConfig};
use rma_core::channel::{BulkToken, Channel, Closing, Failure, FailureKind, Lane};
use rma_core::ids::Peer;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

static BODY: [u8; 32 << 20] = [7; 32 << 20];

/// Not a test: the process that is killed, as peer 1. Prints its address, then obeys commands.
#[test]
#[ignore = "the other tests of this file run it, as a process of its own: cargo test -p rma-ch-tcp --test death"]
fn victim() {
    let Ok(task) = std::env::var("RMA_TEST_VICTIM") else { return };
    let (job, home) = task.split_once(' ').unwrap();
    let book = Book::default();
    *book.lock().unwrap() = vec![home.to_owned()];
    let mut me = Rank::new(TcpChannel::bind(settings(1, 2, TcpConfig::default(), &book)).unwrap());
    println!("address {}", me.channel.address());
    if job == "sends" {
        me.send(0, Lane::Request, b"before");
        me.send_bulk(0, Lane::Request, &BODY, 1);
    }
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        let _ = me.poll();
        if job == "receives" && !me.log.heads.is_empty() {
            println!("head");
            // Reads no more, so that the body is stuck when this is killed.
            thread::sleep(LIMIT);
        }
    }
}

struct Victim {
    child: Child,
    lines: Receiver<String>,
}

impl Victim {
    fn start(job: &str, home: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim", "--ignored", "--nocapture"])
            .env("RMA_TEST_VICTIM", format!("{job} {home}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (say, lines) = mpsc::channel();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| say.send(line)).ok();
        });
        Self { child, lines }
    }

    /// The rest of the next line in which `begin` stands, if it has been said.
    fn heard(&mut self, begin: &str) -> Option<String> {
        // The harness prints a name without a line's end before the first output.
        let rest = |line: String| line.find(begin).map(|at| line[at + begin.len()..].trim().to_owned());
        self.lines.try_iter().find_map(rest)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn survivor(job: &str) -> (Rank, Victim) {
    let book = Book::default();
    let rank = Rank::new(TcpChannel::bind(settings(0, 2, TcpConfig::default(), &book)).unwrap());
    let mut victim = Victim::start(job, &rank.channel.address());
    let end = Instant::now() + LIMIT;
    let address = loop {
        if let Some(address) = victim.heard("address ") {
            break address;
        }
        assert!(Instant::now() < end, "the victim does not start");
        thread::yield_now();
    };
    *book.lock().unwrap() = vec![String::new(), address];
    (rank, victim)
}

#[test]
fn a_receiver_that_is_killed_gives_the_body_back() {
    let (rank, mut victim) = survivor("receives");
    let mut ranks = [rank];
    ranks[0].send_bulk(1, Lane::Request, &BODY, 1);
    ranks[0].send_bulk(1, Lane::Response, &BODY, 2);
    let mut heard = false;
    drive(&mut ranks, "the buffers between to be full", |r| {
        // The victim stops after the first head; what it does not read stops here.
        let idle = (0..1000).all(|_| r[0].poll().is_idle());
        heard |= victim.heard("head").is_some();
        idle && heard
    });
    assert_eq!(ranks[0].log.sent, [], "a body of this size cannot have left");
    victim.child.kill().unwrap();
    drive(&mut ranks, "the report", |r| !r[0].log.failed.is_empty());
    ranks[0].log.sent.sort_by_key(|token| token.0);
    assert_eq!(ranks[0].log.sent, [BulkToken(1), BulkToken(2)], "each body once");
    assert_eq!(ranks[0].log.failed.len(), 1);
    assert_eq!(ranks[0].log.failed[0].1.kind, FailureKind::Dead);
    assert!(ranks[0].channel.connect(Peer(1)).is_err());
}

#[test]
fn a_sender_that_is_killed_is_failed_after_what_came() {
    let (rank, mut victim) = survivor("sends");
    let mut ranks = [rank];
    drive(&mut ranks, "the head", |r| !r[0].log.heads.is_empty());
    victim.child.kill().unwrap();
    drive(&mut ranks, "the report", |r| !r[0].log.failed.is_empty());
    let log = &ranks[0].log;
    assert_eq!(log.packets, [(Peer(1), Lane::Request, b"before".to_vec())]);
    assert_eq!(log.heads.len(), 1);
    assert_eq!((log.failed.len(), log.failed[0].1.kind), (1, FailureKind::Dead));
    if log.bodies.is_empty() {
        assert!(log.failed[0].1.detail.contains("gone"), "{}", log.failed[0].1);
    }
}

/// A stopped process stands in for a machine that says nothing: its system confirms, but it reads nothing and closes nothing.
#[test]
fn a_peer_that_is_given_up_is_failed_behind_what_came_and_not_waited_for() {
    let (rank, mut victim) = survivor("sends");
    let mut ranks = [rank];
    drive(&mut ranks, "the head", |r| !r[0].log.heads.is_empty());
    ranks[0].send_bulk(1, Lane::Request, &BODY, 1);
    drive(&mut ranks, "the buffers between to be full", |r| (0..100).all(|_| r[0].poll().is_idle()));
    ranks[0].channel.give_up(Peer(1), "as the test wishes");
    drive(&mut ranks, "the report", |r| !r[0].log.failed.is_empty());
    let log = &ranks[0].log;
    assert_eq!(log.packets, [(Peer(1), Lane::Request, b"before".to_vec())]);
    assert_eq!((log.sent.as_slice(), log.failed.len()), (&[BulkToken(1)][..], 1));
    let Failure { kind, detail } = &log.failed[0].1;
    assert!(*kind == FailureKind::Dead && detail.contains("as the test wishes"), "{detail}");
    assert_eq!(ranks[0].channel.close(), Closing::Closed);
    victim.child.kill().unwrap();
}

/// Its address is of no machine (RFC 5737): a dial would take as long as the system lets it.
#[test]
fn a_peer_that_is_given_up_before_there_was_a_connection_is_not_dialled() {
    for is_dialled in [false, true] {
        let book = Book::default();
        *book.lock().unwrap() = vec![String::new(), "203.0.113.1:9".to_owned()];
        let mut rank = Rank::new(TcpChannel::bind(settings(0, 2, TcpConfig::default(), &book)).unwrap());
        if is_dialled && rank.channel.connect(Peer(1)).is_err() {
            // A machine without a route says so at once.
            continue;
        }
        rank.channel.give_up(Peer(1), "as the test wishes");
        let _ = rank.poll();
        assert_eq!(rank.log.failed.len(), 1, "{is_dialled}");
        assert!(rank.log.failed[0].1.detail.contains("as the test wishes"), "{:?}", rank.log.failed);
        assert!(rank.channel.connect(Peer(1)).is_err());
        assert_eq!(rank.channel.close(), Closing::Closed);
    }
}
