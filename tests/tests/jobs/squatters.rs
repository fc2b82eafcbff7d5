//! A foreign process on the machine, which sees the names of all sockets, works out what further names may be
//! and takes them, and fills what there is with connections that say nothing. Jobs start all the same, and
//! share their windows' memory.

use rma_tests::job::{Job, Running, is_second_pass};
use rma_tests::paths::PATHS;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, sendto, socket_with,
};
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

const RANKS: u32 = 6;
const ROUNDS: u32 = 6;
/// Silent connections to each socket.
const SILENT: usize = 300;

/// Names of this library's sockets that a process holds.
fn names_of(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let held: HashSet<_> = links.map(|link| link.display().to_string()).collect();
    let text = std::fs::read_to_string("/proc/net/unix").unwrap();
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() > 7 && held.contains(&format!("socket:[{}]", row[6])));
    rows.filter_map(|row| Some(row[7].strip_prefix('@').filter(|name| name.starts_with("rma-"))?.to_owned()))
        .collect()
}

fn socket(kind: SocketType) -> OwnedFd {
    socket_with(AddressFamily::UNIX, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None).unwrap()
}

/// A name in which one number is another, and one word another: those of other processes, if names are made that way.
fn neighbors(name: &str) -> Vec<String> {
    let parts: Vec<_> = name.split('-').collect();
    let mut found = Vec::new();
    for at in 1..parts.len() {
        let others = (0..RANKS).map(|rank| rank.to_string());
        for other in others.chain(["channel", "mailbox"].map(str::to_owned)) {
            let mut changed: Vec<_> = parts.iter().map(|part| (*part).to_owned()).collect();
            changed[at] = other;
            found.extend(["channel", "mailbox"].map(|last| {
                let mut twice = changed.clone();
                if let Some(word) = twice.last_mut() {
                    last.clone_into(word);
                }
                twice.join("-")
            }));
            found.push(changed.join("-"));
        }
    }
    found
}

/// Attacks every socket of the job as it appears, until each rank has its two. Answers what holds the attack up.
fn attack(running: &Running) -> Vec<OwnedFd> {
    let begin = Instant::now();
    let (mut seen, mut held) = (HashSet::new(), Vec::new());
    while seen.len() < 2 * RANKS as usize && begin.elapsed() < Duration::from_secs(5) {
        let pids = running.processes().ranks().into_iter().map(|(_, pid)| pid);
        for name in pids.flat_map(names_of) {
            if !seen.insert(name.clone()) {
                continue;
            }
            for other in neighbors(&name) {
                let address = SocketAddrUnix::new_abstract_name(other.as_bytes()).unwrap();
                for kind in [SocketType::SEQPACKET, SocketType::DGRAM] {
                    let squatter = socket(kind);
                    if bind(&squatter, &address).is_ok() {
                        held.push(squatter);
                    }
                }
            }
            let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
            for _ in 0..SILENT {
                let connection = socket(SocketType::SEQPACKET);
                if connect(&connection, &address).is_ok() {
                    held.push(connection);
                }
                // What takes datagrams takes these, until it is full.
                let _ = sendto(socket(SocketType::DGRAM), b"noise", SendFlags::DONTWAIT, &address);
            }
        }
    }
    assert!(!held.is_empty(), "nothing was attacked");
    println!("{} sockets were attacked", seen.len());
    held
}

#[test]
fn jobs_share_memory_while_a_foreign_process_takes_names_and_fills_sockets() {
    if is_second_pass() {
        return;
    }
    for round in 0..ROUNDS {
        let job = Job::new(RANKS, "heat2d")
            .line("--rows 64 --cols 64 --steps 2000 --sync fence --check --no-picture --packets")
            .limit(Duration::from_secs(60));
        let running = job.start();
        let held = attack(&running);
        let ended = running.finish();
        drop(held);
        assert!(ended.status.success(), "round {round}: {ended:#?}");
        assert!(ended.stdout.contains("equal to the serial run, bit by bit"), "{ended:#?}");
        // Processes that fall back to packets say so.
        assert!(!ended.stderr.contains("share"), "round {round}: it fell back to packets: {ended:#?}");
        PATHS[0].check(RANKS, &ended);
    }
}
