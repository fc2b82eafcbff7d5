//! What a job tells of itself: the timeline of `RMA_TRACE`, the summary of `RMA_STATS`, and ranks that wait for long.

#![allow(missing_docs)]

mod common;

use common::foreign::Foreign;
use common::{LIMIT, Running, rmarun};
use rma::{ReduceOp, World};
use rma_core::epoch::Assert;
use rma_core::ids::Peer;
use rma_core::window::WindowSpec;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const OBSERVED: &str = env!("CARGO_BIN_EXE_rma-test-observed");

type Variables = &'static [(&'static str, &'static str)];

/// Every path between two ranks, as variables.
const PATHS: [Variables; 5] = [
    &[],
    &[("RMA_CHANNEL", "shm")],
    &[("RMA_CHANNEL", "tcp")],
    &[("RMA_DIRECT", "0")],
    &[("RMA_RANKS_PER_NODE", "2")],
];

fn start(ranks: u32, words: &[&str], variables: Variables, more: &[(&str, &Path)]) -> Running {
    let ranks = ranks.to_string();
    let mut command = rmarun(["-n", &ranks, OBSERVED].iter().chain(words));
    command.envs(variables.iter().copied()).envs(more.iter().copied());
    Running::start(command)
}

/// The events of a timeline, which must be whole.
fn events(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let timeline: Value = serde_json::from_str(&text).expect("the timeline is JSON");
    timeline["traceEvents"].as_array().expect("a list of events").clone()
}

fn of_rank(events: &[Value], rank: u32) -> impl Iterator<Item = &Value> {
    events.iter().filter(move |event| event["pid"] == rank)
}

fn count(events: &[Value], rank: u32, phase: &str, name: &str) -> usize {
    of_rank(events, rank).filter(|event| event["ph"] == phase && event["name"] == name).count()
}

/// Times ascend in every thread, begins and ends nest, and every begin has its end.
fn assert_nested(events: &[Value]) {
    let mut last: HashMap<(u64, u64), f64> = HashMap::new();
    let mut open: HashMap<(u64, u64), Vec<&str>> = HashMap::new();
    let mut epochs: HashSet<&str> = HashSet::new();
    for event in events.iter().filter(|event| event["ph"] != "M") {
        let thread = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let time = event["ts"].as_f64().unwrap();
        assert!((0.0..60e6).contains(&time), "{event}");
        let before = last.insert(thread, time).unwrap_or(0.0);
        assert!(event["ph"] == "e" || before <= time, "time goes back: {event}");
        match event["ph"].as_str().unwrap() {
            "B" => open.entry(thread).or_default().push(event["name"].as_str().unwrap()),
            "E" => {
                assert!(open.entry(thread).or_default().pop().is_some(), "an end without a begin: {event}")
            }
            "b" => assert!(epochs.insert(event["id"].as_str().unwrap()), "begun twice: {event}"),
            "e" => assert!(epochs.remove(event["id"].as_str().unwrap()), "an end without a begin: {event}"),
            "i" => {}
            "X" => assert_eq!(event["dur"], 0),
            other => panic!("phase {other}: {event}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "begun and not ended: {open:?}");
    assert!(epochs.is_empty(), "epochs without an end: {epochs:?}");
}

/// Every packet that one rank has sent is the same one that another has received: they have the same id, and it arrived
/// after it left.
fn assert_packets_arrive(events: &[Value]) -> usize {
    let ids = |category: &str, side: &str| {
        let packets = events.iter().filter(|event| event["cat"] == category);
        let entries: Vec<_> = packets
            .map(|event| {
                assert_eq!(event[side], true, "{event}");
                (event["bind_id"].as_str().unwrap(), event)
            })
            .collect();
        let by_id: HashMap<_, _> = entries.iter().copied().collect();
        assert_eq!(by_id.len(), entries.len(), "an id for each packet");
        by_id
    };
    let (sent, received) = (ids("sent", "flow_out"), ids("received", "flow_in"));
    for (id, arrival) in &received {
        let departure = sent.get(id).unwrap_or_else(|| panic!("{arrival} was not sent"));
        let (to, from) = (&departure["args"]["to"], &arrival["args"]["from"]);
        assert_eq!((to, from), (&arrival["pid"], &departure["pid"]));
        assert_eq!(departure["args"]["bytes"], arrival["args"]["bytes"], "{departure} {arrival}");
        let name = |event: &Value| event["name"].as_str().unwrap().split_once(' ').unwrap().1.to_owned();
        assert_eq!(name(departure), name(arrival));
        assert!(
            departure["ts"].as_f64().unwrap() <= arrival["ts"].as_f64().unwrap(),
            "{departure} {arrival}"
        );
    }
    // A goodbye has no receiver any more.
    assert!(sent.len() >= received.len());
    received.len()
}

fn files_of(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_timeline_has_every_call_epoch_and_packet_over_every_path() {
    const RANKS: u32 = 3;
    for path in PATHS {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("trace.json");
        let run = start(RANKS, &["traffic"], path, &[("RMA_TRACE", &file)]).finish();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{path:?}");
        assert_eq!(files_of(directory.path()), ["trace.json"], "the ranks' own files are gone");
        let events = events(&file);
        assert_nested(&events);
        let packets = assert_packets_arrive(&events);
        assert!(packets > 0, "the ranks talk about where they are at least");
        for rank in 0..RANKS {
            let (next, started) = ((rank + 1) % RANKS, |name| count(&events, rank, "B", name));
            for (call, times) in [
                ("win_create", 1),
                ("fence", 2),
                ("lock", 3),
                ("flush", 3),
                ("unlock", 3),
                ("lock_all", 1),
                ("flush_all", 1),
                ("unlock_all", 1),
                ("post", 1),
                ("start", 1),
                ("complete", 1),
                ("wait", 1),
                ("barrier", 1),
                ("win_free", 1),
                ("finalize", 1),
            ] {
                // The span of a wait inside a call has the same name as the call.
                let waits = of_rank(&events, rank).filter(|e| e["cat"] == "wait" && e["ph"] == "B").count();
                let waits = if call == "wait" { waits } else { 0 };
                assert!(started(call) - waits >= times, "{path:?}: rank {rank}: {call}: {}", started(call));
                let exact = !["barrier", "finalize"].contains(&call);
                assert!(
                    !exact || started(call) - waits == times,
                    "{path:?}: rank {rank}: {call}: {}",
                    started(call)
                );
            }
            // In mapped memory, or as a packet: an operation is recorded once.
            let put = started("put") + count(&events, rank, "i", "put");
            let get = started("get") + count(&events, rank, "i", "get");
            assert_eq!((put, get), (6, 3), "{path:?}: rank {rank}");
            let lock = format!("lock epoch to {next}, window traffic");
            for (epoch, times) in [
                ("fence epoch, window traffic", 1),
                (lock.as_str(), 3),
                ("lock_all epoch, window traffic", 1),
                ("start epoch, window traffic", 1),
                ("post epoch, window traffic", 1),
            ] {
                assert_eq!(count(&events, rank, "b", epoch), times, "{path:?}: rank {rank}: {epoch}");
            }
            let end = of_rank(&events, rank).find(|event| event["cat"] == "end").expect("the rank's end");
            let one_sided = |category: &str| {
                let packets = of_rank(&events, rank).filter(|event| event["cat"] == category);
                packets.filter(|event| !event["name"].as_str().unwrap().ends_with(" message")).count() as u64
            };
            assert_eq!(
                end["args"]["packets_sent"].as_u64(),
                Some(one_sided("sent")),
                "{path:?}: rank {rank}"
            );
            assert_eq!(end["args"]["packets_received"].as_u64(), Some(one_sided("received")), "{path:?}");
            assert_eq!(end["args"]["events left out"], 0);
        }
        let is_direct = path.is_empty();
        // Where there is room for nothing, a put alone is a pack.
        let is_put = |name: &str| name == "send put" || name == "send pack";
        let puts = events.iter().filter(|event| event["name"].as_str().is_some_and(is_put)).count();
        assert_eq!(puts > 0, !is_direct, "{path:?}: {puts} packets");
    }
}

/// What a program does must not depend on whether tracing is on.
#[test]
fn a_trace_changes_no_packet() {
    if std::env::var_os("RMA_TEST_SMALLEST").is_some() {
        return; // what leaves when depends on time where there is room for nothing
    }
    for path in [PATHS[1], PATHS[2]] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("trace.json");
        let plain = start(2, &["traffic"], path, &[]).finish();
        let traced = start(2, &["traffic"], path, &[("RMA_TRACE", &file)]).finish();
        assert_eq!(plain.sorted_lines(), traced.sorted_lines(), "{path:?}");
    }
}

#[test]
fn a_job_of_one_without_a_launcher_has_a_timeline() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.json");
    let output =
        std::process::Command::new(OBSERVED).arg("traffic").env("RMA_TRACE", &file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_nested(&events(&file));
    assert_eq!(files_of(directory.path()), ["trace.json"]);
}

#[test]
fn what_finds_no_room_is_counted_and_the_rest_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.json");
    let run = start(2, &["traffic", "60"], &[("RMA_TRACE_BYTES", "4096")], &[("RMA_TRACE", &file)]).finish();
    assert_eq!(run.code, Some(0));
    assert_eq!(run.stderr.matches("events were left out").count(), 2, "{}", run.stderr);
    let events = events(&file);
    assert_nested(&events);
    for rank in 0..2 {
        let end = of_rank(&events, rank).find(|event| event["cat"] == "end").unwrap();
        assert!(end["args"]["events left out"].as_u64() > Some(10), "{end}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_said_and_the_job_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("nowhere/trace.json");
    let device = directory.path().join("device");
    std::os::unix::fs::symlink("/dev/full", &device).unwrap();
    let taken = directory.path().join("directory");
    std::fs::create_dir(&taken).unwrap();
    for (path, cause) in [(&nowhere, "No such file"), (&device, "no file"), (&taken, "no file")] {
        let run = start(2, &["traffic"], &[], &[("RMA_TRACE", path)]).finish();
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(run.stderr.matches("the job goes on without it").count(), 2, "{}", run.stderr);
        let name = if path == &nowhere { "nowhere" } else { path.to_str().unwrap() };
        assert!(run.stderr.contains(cause) && run.stderr.contains(name), "{}", run.stderr);
        assert_eq!(run.text().lines().count(), 2);
    }
    assert_eq!(files_of(directory.path()), ["device", "directory"], "nothing was put in their place");
    assert!(device.is_symlink());
}

/// A rank is killed while the others wait: what was written until then becomes a timeline all the same.
#[test]
fn a_job_that_fails_leaves_what_there_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.json");
    let mut running = start(3, &["hang"], PATHS[2], &[("RMA_TRACE", &file)]);
    let mut output = BufReader::new(running.child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let ranks = running.wait_for(3, OBSERVED);
    // Until they are asleep in the fence, their parts say less. Rank 0 may hear of the death, and end its
    // fence, before it is ended itself; a killed rank cannot.
    for rank in [0, 2] {
        let part = directory.path().join(format!("trace.json.{rank}.part"));
        let until = std::time::Instant::now() + LIMIT;
        while !std::fs::read_to_string(&part).unwrap_or_default().contains("\tfence\t") {
            assert!(std::time::Instant::now() < until, "rank {rank} has not written that it waits");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let victim = rustix::process::Pid::from_raw(*ranks.last().unwrap()).unwrap();
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
    let run = running.finish();
    assert_ne!(run.code, Some(0));
    let events = events(&file);
    assert_nested(&events);
    let unfinished = events.iter().filter(|event| event["args"]["unfinished"] == true).count();
    assert!(unfinished > 0 && count(&events, 0, "B", "fence") == 1, "{unfinished}");
    assert_eq!(files_of(directory.path()), ["trace.json"]);
}

/// How a job that hangs is ended.
#[derive(Clone, Copy, Debug)]
enum Ended {
    ByTimeout,
    BySignal(rustix::process::Signal),
}

/// Rank 0 waits for good for rank 1, which has left the library, and sleeps. However the job ends, its timeline has the call.
#[test]
fn a_job_that_hangs_leaves_a_timeline_that_names_the_call() {
    use rustix::process::Signal;
    let signals = [Signal::TERM, Signal::KILL];
    let waits = [
        ("fence", "fence", PATHS[0]),
        ("fence", "fence", PACKETS),
        ("lock", "lock", PATHS[0]),
        ("lock", "unlock", PACKETS),
        ("receive", "receive", PATHS[0]),
        ("receive", "receive", PACKETS),
    ];
    std::thread::scope(|threads| {
        for signal in signals {
            let ended = Ended::BySignal(signal);
            threads.spawn(move || waits.iter().for_each(|wait| leaves_a_timeline(*wait, ended)));
        }
        // Each of these sleeps until its limit.
        for wait in waits {
            threads.spawn(move || leaves_a_timeline(wait, Ended::ByTimeout));
        }
    });
}

fn leaves_a_timeline((kind, waits_in, path): (&str, &str, Variables), ended: Ended) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.json");
    let limit = if matches!(ended, Ended::ByTimeout) { "5" } else { "50" };
    let mut command = rmarun(["--timeout", limit, "-n", "2", OBSERVED, "late", kind]);
    // No agent serves in place of the late rank, and nothing lets it go on.
    command.env("RMA_AGENT", "0").env("RMA_TEST_GO", directory.path().join("never")).env("RMA_TRACE", &file);
    let running = Running::start({
        command.envs(path.iter().copied());
        command
    });
    if let Ended::BySignal(signal) = ended {
        let part = directory.path().join("trace.json.0.part");
        let wait = format!("\twait\t{waits_in}\t");
        let until = std::time::Instant::now() + LIMIT / 2;
        while !std::fs::read_to_string(&part).unwrap_or_default().contains(&wait) {
            assert!(
                std::time::Instant::now() < until,
                "{kind} {path:?}: rank 0 has not written that it waits"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        for pid in running.wait_for(2, OBSERVED) {
            // One that has ended because of the other is gone already.
            let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
        }
    }
    let run = running.finish();
    assert_ne!(run.code, Some(0), "{run:?}");
    let events = events(&file);
    assert_nested(&events);
    let is_wait = |event: &&Value| event["cat"] == "wait" && event["args"]["call"] == waits_in;
    let waits = of_rank(&events, 0).filter(is_wait).count();
    assert!(waits > 0, "{kind} {path:?} {ended:?}: no {waits_in} among {events:?}");
    assert!(of_rank(&events, 0).any(|event| event["args"]["unfinished"] == true), "{kind} {ended:?}");
    let made = [count(&events, 1, "B", "win_create"), count(&events, 1, "B", "win_free")];
    assert_eq!(made, [1, 0], "the late rank's calls are there too");
    let left: Vec<_> = files_of(directory.path()).into_iter().filter(|name| name.contains("trace")).collect();
    assert_eq!(left, ["trace.json"]);
}

#[test]
fn the_summary_adds_up() {
    for path in PATHS {
        let stats: Vec<_> = path.iter().copied().chain([("RMA_STATS", "1")]).collect();
        let mut command = rmarun(["-n", "3", OBSERVED, "traffic"]);
        command.envs(stats);
        let run = Running::start(command).finish();
        assert_eq!(run.code, Some(0), "{run:?}");
        let lines: Vec<_> = run.stderr.lines().collect();
        assert!(lines[0].starts_with("rma: summary of 3 of 3 ranks, "), "{}", run.stderr);
        assert!(lines.iter().all(|line| line.starts_with("rma: ")), "{}", run.stderr);
        // The program prints what it has counted before its end.
        let numbers = |line: &str| line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
        let printed: Vec<_> = run.text().lines().map(numbers).collect();
        let row = |name: &str| {
            let row = lines.iter().find(|line| line.split_whitespace().nth(1) == Some(name));
            row.map_or(0, |row| row.split_whitespace().nth(2).unwrap().parse().unwrap())
        };
        let sent: u64 = printed.iter().map(|line| line[1]).sum();
        let received: u64 = printed.iter().map(|line| line[2]).sum();
        assert_eq!(
            (row("packets_sent"), row("packets_received")),
            (sent, received),
            "{path:?}: {}",
            run.stderr
        );
        assert!(row("progress_steps") > 0);
        // Each rank puts eight bytes six times and gets them three times.
        let mapped = ["mapped_puts", "mapped_gets", "mapped_accumulates", "mapped_bytes"].map(row);
        let ranks = match path {
            [] => 3,
            // Rank 0 alone has a next one on its node.
            [("RMA_RANKS_PER_NODE", _)] => 1,
            _ => 0,
        };
        assert_eq!(mapped, [6 * ranks, 3 * ranks, 0, 72 * ranks], "{path:?}: {}", run.stderr);
    }
}

#[test]
fn waits_are_timed_by_call_and_by_the_rank_that_is_late() {
    World::run_threads(2, |world| {
        let engine = world.engine();
        engine.keep_statistics();
        let window = engine.create_window(world.group(), WindowSpec::Allocate { len: 8, unit: 8 })?;
        // A rank that is kept from its core is not in the fence first.
        for _ in 0..100 {
            world.barrier()?;
            if world.rank() == 1 {
                std::thread::sleep(Duration::from_millis(3));
            }
            window.fence(Assert::NONE)?;
            let waited = engine.waited();
            let (waits, in_fence) = waited.calls.get("fence").copied().unwrap_or_default();
            let for_the_late = waited.peers.get(&Peer(1)).copied().unwrap_or_default();
            let is_seen = waits > 0 && in_fence.min(for_the_late) >= Duration::from_millis(1);
            let is_seen = [u64::from(is_seen && world.rank() == 0)];
            if world.allreduce(ReduceOp::Max, &is_seen)? == [1] {
                return window.free();
            }
        }
        panic!("rank {}: {:?}", world.rank(), engine.waited());
    })
    .unwrap();
}

/// Runs a job in which rank 1 is late until rank 0 has said `reports` times that it waits; gives those lines, and whether the
/// job has succeeded. The launcher is one that asks for no reports, so ranks tell by themselves.
fn reports(kind: &str, variables: Variables, reports: usize) -> (Vec<String>, bool) {
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let mut job = Foreign::start(2, || {
        let mut command = Command::new(OBSERVED);
        // No agent serves in place of the late rank.
        command
            .args(["late", kind])
            .env("RMA_AGENT", "0")
            .env("RMA_TEST_GO", &go)
            .env("RMA_WAIT_REPORT", "1");
        command.envs(variables.iter().copied()).stdout(Stdio::null());
        command
    });
    let errors = BufReader::new(job.errors(0));
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        for line in errors.lines().map_while(Result::ok) {
            let _ = say.send(line);
        }
    });
    let mut lines = Vec::new();
    while lines.len() < reports {
        let line = said.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{kind}: no report {variables:?}"));
        if line.starts_with("rma: rank 0: ") {
            lines.push(line);
        }
    }
    std::fs::write(&go, "").unwrap();
    let is_good = job.finish();
    (lines, is_good)
}

/// The waits of each kind run at the same time: they sleep.
fn assert_reports(cases: &[(&'static str, Variables, &'static str)]) {
    std::thread::scope(|threads| {
        for (kind, variables, expected) in cases {
            threads.spawn(move || {
                let (lines, is_good) = reports(kind, variables, 1);
                assert!(is_good, "{kind}: {lines:?}");
                let said = lines[0].strip_prefix("rma: rank 0: ").unwrap();
                let (text, since) = said.rsplit_once(", since ").expect("since when");
                assert_eq!(text, *expected, "{kind} {variables:?}");
                assert!(since.len() == "12:34:56 UTC".len() && since.ends_with(" UTC"), "{since}");
            });
        }
    });
}

const PACKETS: Variables = &[("RMA_CHANNEL", "tcp")];
const WORDS: Variables = &[("RMA_CHANNEL", "tcp"), ("RMA_FENCE_PACKETS", "2")];
const BARRIER: Variables = &[("RMA_CHANNEL", "tcp"), ("RMA_FENCE_PACKETS", "0")];
const RINGS: Variables = &[("RMA_CHANNEL", "shm")];

#[test]
fn a_wait_for_a_late_rank_of_the_node_names_it() {
    assert_reports(&[
        ("create", &[], "win_create has waited 1 s for all 2 ranks to create a window, next for process 1"),
        ("fence", &[], "fence has waited 1 s for rank 1 to enter the fence (window \"halo\")"),
        ("lock", &[], "lock has waited 1 s for the lock of rank 1, which rank 1 holds (window \"halo\")"),
        (
            "start",
            &[],
            "start has waited 1 s for the post of rank 1, in the epoch that start opened (window \"halo\")",
        ),
        (
            "wait",
            &[],
            "wait has waited 1 s for rank 1 to call complete, in the epoch that post opened (window \"halo\")",
        ),
        (
            "nameless",
            &[],
            "fence has waited 1 s for rank 1 to enter the fence (window 2 made by MPI_Win_create_dynamic)",
        ),
        ("receive", &[], "receive has waited 1 s for a message to arrive, next for process 1"),
    ]);
}

#[test]
fn a_wait_for_a_late_rank_elsewhere_names_it() {
    assert_reports(&[
        ("fence", WORDS, "fence has waited 1 s for rank 1 to enter the fence (window \"halo\")"),
        (
            "fence",
            BARRIER,
            "fence has waited 1 s for all 2 ranks to enter the fence, next for process 1 (window \"halo\")",
        ),
        (
            "lock",
            PACKETS,
            "unlock has waited 1 s for the lock of rank 1, and 1 operations behind it, in the epoch that lock opened (window \"halo\")",
        ),
        (
            "start",
            RINGS,
            "complete has waited 1 s for the post of rank 1, in the epoch that start opened (window \"halo\")",
        ),
        (
            "flush",
            PACKETS,
            "flush has waited 1 s for the lock of rank 1, and 1 operations behind it, in the epoch that lock_all opened (window \"halo\")",
        ),
        (
            "flush_all",
            RINGS,
            "flush_all has waited 1 s for rank 1 to complete operations, in the epoch that lock_all opened (window \"halo\")",
        ),
        (
            "unlock_all",
            PACKETS,
            "unlock_all has waited 1 s for rank 1 to complete operations, in the epoch that lock_all opened (window \"halo\")",
        ),
    ]);
}

#[test]
fn a_wait_for_others_to_come_names_them() {
    assert_reports(&[
        ("barrier", &[], "barrier has waited 1 s for the other ranks of the collective, next for process 1"),
        (
            "free",
            PACKETS,
            "win_free has waited 1 s for all 2 ranks to free the window, next for process 1 (window \"halo\")",
        ),
        ("finalize", &[], "finalize has waited 1 s for the other ranks of the collective"),
    ]);
}

/// The second report comes when the wait has lasted twice as long, and not before.
#[test]
fn a_wait_that_goes_on_reports_again_after_twice_the_time() {
    let (lines, is_good) = reports("receive", &[], 2);
    assert!(is_good, "{lines:?}");
    for (line, text) in lines.iter().zip(["has waited 1 s for", "has waited 2 s for"]) {
        assert!(line.contains(text), "{lines:?}");
    }
}
