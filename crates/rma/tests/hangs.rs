//! The launcher reports a job that hangs, once: what each rank waits for, and why none goes on.

#![allow(missing_docs)]

mod common;

use common::{Run, Running, rmarun};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::ChildStderr;
use std::time::{Duration, Instant};

const HANG: &str = env!("CARGO_BIN_EXE_rma-test-hang");

type Variables = &'static [(&'static str, &'static str)];

const MAPPED: Variables = &[];
const TCP: Variables = &[("RMA_CHANNEL", "tcp")];
const SHM: Variables = &[("RMA_CHANNEL", "shm")];
const NODES: Variables = &[("RMA_RANKS_PER_NODE", "2")];

fn start(ranks: &str, options: &[&str], kind: &str, variables: Variables, report: &str) -> Running {
    let mut command = rmarun(["-n", ranks].iter().chain(options).chain(&[HANG, kind]));
    command.env("RMA_WAIT_REPORT", report).envs(variables.iter().copied());
    Running::start(command)
}

fn run(ranks: &str, options: &[&str], kind: &str, variables: Variables) -> Run {
    start(ranks, options, kind, variables, "1").finish()
}

/// What the launcher has said, each line once, without the time.
fn said(run: &Run) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    for line in run.stderr.lines().filter_map(|line| line.strip_prefix("rmarun: ")) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn assert_says(run: &Run, text: &str) {
    assert!(said(run).iter().any(|line| line.contains(text)), "{text:?} is missing in {}", run.stderr);
}

/// Runs cases at the same time: they sleep.
fn each<T: Sync>(cases: &[T], case: impl Fn(&T) + Sync) {
    std::thread::scope(|threads| {
        for one in cases {
            threads.spawn(|| case(one));
        }
    });
}

#[test]
fn a_circle_of_locks_is_named_and_ends_the_job_if_it_is_to() {
    let three =
        "ranks 0 → 1 → 2 → 0 wait in a circle for locks of window \"forces\"; nothing they do can open it";
    let two = "ranks 0 → 1 → 0 wait in a circle for locks of window \"forces\"; nothing they do can open it";
    each(&[("3", three, MAPPED), ("2", two, TCP), ("2", two, SHM), ("3", three, NODES)], |case| {
        let (ranks, circle, variables) = *case;
        let run = run(ranks, &["--on-deadlock", "end"], "locks", variables);
        assert_eq!(run.code, Some(125), "{}", run.stderr);
        assert_says(&run, circle);
        assert_eq!(run.stderr.matches("wait in a circle").count(), 1, "{}", run.stderr);
        assert!(
            run.stderr.ends_with("the job is in a deadlock (--on-deadlock=end); ending it\n"),
            "{}",
            run.stderr
        );
    });
}

#[test]
fn circles_of_messages_are_deadlocks_too() {
    each(&[("3", "receives", "MPI_Recv"), ("2", "sends", "MPI_Send")], |(ranks, kind, call)| {
        let run = run(ranks, &["--on-deadlock=end"], kind, MAPPED);
        assert_eq!(run.code, Some(125), "{}", run.stderr);
        assert_says(&run, &format!("rank 0 for rank 1, in {call}"));
    });
}

#[test]
fn a_rank_that_never_entered_is_named_with_what_it_does_instead() {
    let fence = "rank 3 never entered MPI_Win_fence on window \"forces\" that ranks 0-2 are in: it";
    each(
        &[
            ("fence-receive", "waits in MPI_Recv for a message from rank 1", MAPPED),
            ("fence-receive", "waits in MPI_Recv for a message from rank 1", TCP),
            ("fence-compute", "has computed outside MPI for ", MAPPED),
            ("fence-sleep", "has slept outside MPI for ", MAPPED),
            ("fence-stop", "is stopped (SIGSTOP)", MAPPED),
            ("fence-stop", "is stopped (SIGSTOP)", NODES),
        ],
        |(kind, does, variables)| {
            let run = run("4", &["--timeout", "4"], kind, variables);
            assert_eq!(run.code, Some(124), "{kind}: {}", run.stderr);
            assert_says(&run, &format!("{fence} {does}"));
            assert_says(&run, "ranks 0-2 have waited");
            // Not once for each rank: those in the fence have one line in each of the reports after 1, 2 and 4 s.
            let lines = run.stderr.lines().filter(|line| line.contains("s in MPI_Win_fence")).count();
            assert!(lines <= 4, "{kind}: {}", run.stderr);
        },
    );
}

/// What a process does is seen by the proxy of its host.
#[test]
fn ranks_of_other_hosts_are_told_of_in_the_same_way() {
    let directory = tempfile::tempdir().unwrap();
    let agent = directory.path().join("agent");
    std::fs::write(&agent, "shift\nexec \"$@\"\n").unwrap();
    let agent = format!("sh {}", agent.display());
    let options = ["--timeout", "3", "--launch-agent", &agent, "--hosts", "localhost:2,a:2"];
    let cases = [("fence-compute", "has computed outside MPI for "), ("fence-stop", "is stopped (SIGSTOP)")];
    each(&cases, |(kind, does)| {
        let run = run("4", &options, kind, &[("RMA_TCP_LISTEN", "127.0.0.1")]);
        assert_eq!(run.code, Some(124), "{kind}: {}", run.stderr);
        assert_says(&run, &format!("that ranks 0-2 are in: it {does}"));
    });
}

#[test]
fn equal_ranks_of_a_larger_job_share_their_line() {
    each(&[MAPPED, TCP], |variables| {
        let run = run("8", &["--timeout", "3"], "barrier-compute", variables);
        assert_eq!(run.code, Some(124), "{}", run.stderr);
        assert_says(&run, "ranks 0-6 have waited");
        assert_says(
            &run,
            "rank 7 never entered MPI_Barrier on MPI_COMM_WORLD that ranks 0-6 are in: it has computed",
        );
    });
}

#[test]
fn a_rank_that_has_not_done_its_part_is_named() {
    each(
        &[
            (
                "post",
                "rank 2 has not called MPI_Win_post on window \"forces\", for which ranks 0,1 wait: it has slept",
            ),
            (
                "holder",
                "rank 2 holds the lock of rank 0 on window \"forces\" that ranks 0,1 wait for: it has slept",
            ),
            (
                "counters",
                "in MPIX_Win_wait_notify for counter 0, which is at 0, to come to 1 (window \"forces\"), perhaps by ranks 1,2",
            ),
        ],
        |(kind, text)| {
            let run = run("3", &["--timeout", "3"], kind, MAPPED);
            assert_eq!(run.code, Some(124), "{kind}: {}", run.stderr);
            assert_says(&run, text);
        },
    );
}

/// Reads lines until one has this text; gives all of them.
fn read_until(errors: &mut BufReader<ChildStderr>, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in errors.lines().map_while(Result::ok) {
        let is_it = line.contains(text);
        lines.push(line);
        if is_it {
            return lines;
        }
    }
    panic!("{text:?} never came after {lines:?}");
}

#[test]
fn a_signal_to_the_launcher_asks_for_a_report_each_time() {
    let mut running = start("3", &["--timeout", "50"], "locks", MAPPED, "4");
    let launcher = Pid::from_child(&running.child);
    let mut errors = BufReader::new(running.child.stderr.take().unwrap());
    // By themselves they report now, and again when they have waited twice and four times as long.
    read_until(&mut errors, "wait in a circle");
    let begin = Instant::now();
    for _ in 0..3 {
        kill_process(launcher, Signal::USR1).unwrap();
        let lines = read_until(&mut errors, "wait in a circle");
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].contains("rank 0 has waited"), "{lines:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(11), "one of the reports came by itself");
    kill_process(launcher, Signal::TERM).unwrap();
    drop(errors);
    assert_eq!(running.finish().code, Some(143));
}

#[test]
fn the_end_of_the_time_says_what_ranks_wait_for() {
    let run = start("2", &["--timeout", "2"], "locks", MAPPED, "0").finish();
    assert_eq!(run.code, Some(124), "{}", run.stderr);
    let said = said(&run);
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[2].contains("ranks 0 → 1 → 0 wait in a circle"), "{said:?}");
    assert!(said[3].starts_with("the job has run for 2 s"), "{said:?}");
}

#[test]
fn a_job_that_only_takes_long_is_no_deadlock() {
    each(&[("3", "slow"), ("3", "opens"), ("2", "threads")], |(ranks, kind)| {
        let run = run(ranks, &["--on-deadlock=end"], kind, MAPPED);
        assert_eq!(run.code, Some(0), "{kind}: {}", run.stderr);
        let ranks: usize = ranks.parse().unwrap();
        assert_eq!(run.text().matches("is through").count(), ranks, "{kind}: {}", run.text());
        assert!(!run.stderr.contains("nothing they do"), "{kind}: {}", run.stderr);
    });
}

#[test]
fn a_job_whose_waits_are_shorter_than_the_limit_says_nothing() {
    let run = start("3", &[], "slow", MAPPED, "60").finish();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}
