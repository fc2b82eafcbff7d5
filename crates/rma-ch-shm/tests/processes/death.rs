//! Death by SIGKILL, at any moment: noticed at once also by a sleeping peer, and nothing is left behind.

use crate::family::{Part, Place, Relative, listen, say};
use crate::station::Station;
use rma_core::channel::{Channel, FailureKind, Lane};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const BODY: usize = 3_000_000;

/// A child that sends bodies until it is killed.
pub(crate) fn stream() {
    let place = Place::from_env();
    let mut station = Station::new(&place, BODY);
    say("ready");
    listen();
    for token in 0.. {
        station.until("room for a body", |s| s.send_body(0, token).unwrap());
    }
}

/// A child that makes contact and then does nothing. What it opens is closed on exec, and closed in the end.
pub(crate) fn linger() {
    // What standard streams, or the machinery of tests, open once is open now.
    say("here");
    let before = descriptors();
    let place = Place::from_env();
    let mut station = Station::new(&place, 1);
    station.send(0, Lane::Request, 1);
    let meanwhile = descriptors();
    for number in meanwhile.difference(&before) {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
        assert!(u32::from_str_radix(flags, 8).unwrap() & CLOSE_ON_EXEC != 0, "descriptor {number}: {info}");
    }
    assert!(meanwhile.len() >= before.len() + 5, "a listener, a connection, a doorbell, two to wait on");
    say("ready");
    listen();
    station.close();
    assert_eq!(descriptors(), before);
    say("closed");
    listen();
}

/// `O_CLOEXEC` as the system shows it.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// Numbers of the descriptors of this process that stay open.
fn descriptors() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap());
    // The directory that is being read is among them.
    let is_there = |number: &u32| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
    numbers.collect::<Vec<u32>>().into_iter().filter(is_there).collect()
}

/// Names of sockets in no file system, with their inodes.
fn sockets() -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string("/proc/net/unix").unwrap();
    let words = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let named = words.filter_map(|words| Some((words.get(7)?.clone(), words.get(6)?.clone())));
    named.filter(|(name, _)| name.starts_with("@rma-")).collect()
}

/// Those that a process holds.
fn sockets_of(pid: u32) -> BTreeSet<(String, String)> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let held: Vec<_> = links.map(|link| link.display().to_string()).collect();
    let is_held = |inode: &str| held.contains(&format!("socket:[{inode}]"));
    sockets().into_iter().filter(|(_, inode)| is_held(inode)).collect()
}

fn shared_files() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("rma")).collect()
}

#[test]
fn a_kill_in_the_middle_of_bodies_both_ways_is_noticed_and_leaves_nothing() {
    let number = (1 << 30) + std::process::id();
    for (round, backing) in ["memfd", "devshm"].into_iter().cycle().take(10).enumerate() {
        let place = Place { backing: backing.to_owned(), ..Place::new(0, u32::MAX) };
        let mut station = Station::new(&place, BODY);
        let idle_bytes = station.channel.usage().bytes;
        let mut child = Relative::start(Part::Stream, &place, number, &[]);
        child.hear("ready");
        let listening = sockets_of(child.id());
        assert_eq!(listening.len(), 1, "the child listens");
        child.tell();
        // The child does not take this one: its memory must come back all the same.
        let bodies = round as u32 % 4;
        station.until("some bodies", |s| s.log.bodies.get(&number).copied().unwrap_or(0) >= bodies);
        assert_eq!(station.send_body(number, 5), Ok(true));
        for _ in 0..round * 17 {
            station.poll_once();
        }
        child.kill();
        let killed = Instant::now();
        station.until("word of the death", |s| !s.log.failed.is_empty());
        assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
        let [(peer, failure)] = &station.log.failed[..] else { panic!("{:?}", station.log.failed) };
        assert_eq!(failure.kind, FailureKind::Dead);
        assert!(*peer == number && failure.detail.contains(&format!("process {number}")), "{failure}");
        assert_eq!(station.log.sent, [5]);
        assert!(sockets().is_disjoint(&listening));
        assert_eq!(shared_files(), BTreeSet::new());
        assert_eq!(station.channel.usage().bytes, idle_bytes, "the rings were given back");
        station.close();
    }
}

#[test]
fn one_that_leaves_in_order_is_no_failure_and_what_it_sent_last_arrives() {
    const CHILD: u32 = 978;
    for _ in 0..5 {
        let place = Place::new(0, 1000);
        let mut station = Station::new(&place, 1);
        let mut child = Relative::start(Part::Linger, &place, CHILD, &[]);
        child.hear("ready");
        child.tell();
        child.hear("closed");
        child.tell();
        child.join();
        // All of it happened before this process looked for the first time.
        station.until("the packet", |s| s.got(CHILD, Lane::Request) == [1]);
        for _ in 0..1000 {
            station.poll_once();
        }
        assert!(station.log.failed.is_empty(), "{:?}", station.log.failed);
        assert!(station.send_body(CHILD, 1).unwrap_err().detail.contains("has left"));
        station.close();
    }
}

#[test]
fn a_stopped_process_is_alive() {
    let place = Place::new(0, 1000);
    let mut station = Station::new(&place, 1);
    let mut child = Relative::start(Part::Linger, &place, 979, &[]);
    child.hear("ready");
    station.until("the packet", |s| s.got(979, Lane::Request) == [1]);
    let id = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    station.rest(Duration::from_millis(300));
    assert!(station.log.failed.is_empty());
    rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
    child.tell();
    child.hear("closed");
    child.tell();
    child.join();
    assert!(station.log.failed.is_empty());
}
