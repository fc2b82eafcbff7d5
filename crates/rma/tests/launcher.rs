//! The launcher as its users see it: what it forwards, how jobs end, what it says, what it leaves behind.

#![allow(missing_docs)]

mod common;

use common::{Running, rmarun, run, run_words};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

const FIVE_SECONDS: Duration = Duration::from_secs(5);

fn shell<'a>(options: &'a str, script: &'a str) -> common::Run {
    run_words(options.split_whitespace().chain(["sh", "-c", script]))
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn ranks_find_each_other() {
    for size in [1, 2, 7, 16] {
        let run = run(&format!("-n {size} RANK exchange"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        let mut expected: Vec<_> = (0..size)
            .map(|rank| format!("rank {rank} of {size}, 64 secret digits, (vector,(0,1,{size}))"))
            .collect();
        expected.sort_unstable();
        assert_eq!(run.sorted_lines(), expected);
    }
}

#[test]
fn a_program_without_a_launcher_is_a_job_of_one() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rma-test-rank")).output().unwrap();
    assert_eq!(output.stdout, b"no launcher\n");
}

#[test]
fn programs_that_are_not_parallel_run_too() {
    let run = shell("-n 3", "echo $PMI_RANK/$PMI_SIZE; echo error $PMI_RANK >&2");
    assert_eq!(run.code, Some(0));
    assert_eq!(run.sorted_lines(), ["0/3", "1/3", "2/3"]);
    let mut errors: Vec<_> = run.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["error 0", "error 1", "error 2"]);
}

#[test]
fn options_reach_the_ranks() {
    let run = shell("-n 1 --channel tcp --ranks-per-node 2", "echo $RMA_CHANNEL $RMA_RANKS_PER_NODE");
    assert_eq!(run.text(), "tcp 2\n");
    let run = shell("-np 2 --tag-output", "echo a; printf b");
    assert_eq!(run.sorted_lines(), ["[0] a", "[0] b", "[1] a", "[1] b"]);
}

#[test]
fn variables_and_directories_are_those_of_the_program() {
    let script = "echo $PMI_RANK $RMA_TEST_A $RMA_TEST_B $PWD";
    let words = ["-x", "RMA_TEST_A=a=b c", "--wdir", "/", "-n", "2", "sh", "-c", script].into_iter().chain([
        ":",
        "--env",
        "RMA_TEST_B=2",
        "-wdir",
        "/usr",
        "sh",
        "-c",
        script,
    ]);
    let run = run_words(words);
    assert_eq!(run.sorted_lines(), ["0 a=b c /", "1 a=b c /", "2 2 /usr"], "{run:?}");
    let run = shell("-x HOME -n 1", "test -n \"$HOME\" && echo set");
    assert_eq!(run.text(), "set\n");
}

#[test]
fn a_directory_that_cannot_be_entered_is_named() {
    let run = shell("-n 2 --wdir /no/such/directory", "true");
    assert_eq!(run.code, Some(126));
    assert!(run.stderr.contains("cannot start ranks in /no/such/directory (--wdir)"), "{}", run.stderr);
}

#[test]
fn programs_of_one_job_find_each_other() {
    let run = run("-n 2 RANK exchange : RANK exchange : -n 3 RANK exchange");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let expected: Vec<_> =
        (0..6).map(|rank| format!("rank {rank} of 6, 64 secret digits, (vector,(0,1,6))")).collect();
    assert_eq!(run.sorted_lines(), expected);
}

#[test]
fn a_later_program_that_cannot_run_ends_the_job() {
    let run = run("-n 2 sleep 50 : ./no-such-program");
    assert_eq!(run.code, Some(127));
    assert!(run.stderr.contains("./no-such-program"), "{}", run.stderr);
}

#[test]
fn lines_of_many_ranks_stay_whole() {
    const LINES: usize = 2000;
    let script =
        "i=0; while [ $i -lt 2000 ]; do echo \"<$PMI_RANK-$i-abcdefghijklmnopqrstuvwxyz>\"; i=$((i+1)); done";
    let run = shell("-n 4", script);
    let mut next = [0; 4];
    for line in run.text().lines() {
        let inner = line.strip_prefix('<').and_then(|l| l.strip_suffix("-abcdefghijklmnopqrstuvwxyz>"));
        let (rank, number) = inner.and_then(|l| l.split_once('-')).unwrap_or_else(|| panic!("{line:?}"));
        let rank: usize = rank.parse().unwrap();
        assert_eq!(number.parse::<usize>().unwrap(), next[rank], "{line}");
        next[rank] += 1;
    }
    assert_eq!(next, [LINES; 4]);
}

#[test]
fn any_bytes_pass_also_without_a_last_newline() {
    let run = shell("-n 1", r"printf 'a\000b\377\r\n\n\001 end'");
    assert_eq!(run.stdout, b"a\0b\xff\r\n\n\x01 end");
    let run = shell("-n 2", r"printf '\000\377'");
    assert_eq!(run.stdout, b"\0\xff\n\0\xff");
    let run = shell("-n 1", "head -c 5000000 /dev/zero");
    assert_eq!(run.stdout.len(), 5_000_000);
    assert!(run.stdout.iter().all(|byte| *byte == 0));
}

#[test]
fn rank_0_reads_the_standard_input_and_the_others_its_end() {
    let mut command = rmarun(["-n", "3", "sh", "-c", "wc -c | sed s/^/$PMI_RANK:/"]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut stdin = running.child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&vec![b'x'; 300_000]).unwrap());
    let run = running.finish();
    writer.join().unwrap();
    assert_eq!(run.sorted_lines(), ["0:300000", "1:0", "2:0"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let mut running = Running::start(rmarun(["-n", "2", "yes"]));
    drop(running.child.stdout.take());
    let run = running.finish();
    assert_eq!(run.code, Some(128 + 13), "{run:?}");
    assert!(run.stderr.contains("SIGPIPE"), "{}", run.stderr);
}

#[test]
fn a_slow_reader_slows_the_ranks_and_loses_nothing() {
    let script =
        "i=0; while [ $i -lt 400 ]; do head -c 9999 /dev/zero | tr '\\000' $PMI_RANK; echo; i=$((i+1)); done";
    let mut running = Running::start(rmarun(["-n", "2", "sh", "-c", script]));
    let mut stdout = running.child.stdout.take().unwrap();
    std::thread::sleep(Duration::from_millis(300)); // the reader is slow: that is the case
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
        text
    });
    let run = running.finish();
    assert_eq!(run.code, Some(0));
    let text = reader.join().unwrap();
    for rank in ["0", "1"] {
        assert_eq!(text.lines().filter(|line| **line == rank.repeat(9999)).count(), 400);
    }
}

#[test]
fn a_death_ends_the_job_and_names_the_rank() {
    for (action, code, why) in [
        ("kill 2 9", 137, "was killed by signal 9 (SIGKILL)"),
        ("kill 0 15", 143, "was killed by signal 15 (SIGTERM)"),
        ("exit 3 42", 42, "exited with status 42"),
        ("exit 1 0", 1, "exited with status 0 without finalizing"),
        ("panic 1", 101, "exited with status 101"),
        ("abort 2 5", 5, "called abort with exit status 5"),
        ("garbage 1", 1, "sent a line that is not PMI-1: field \"this\" without '='"),
    ] {
        let run = run(&format!("-n 4 RANK {action}"));
        assert_eq!(run.code, Some(code), "{action}: {run:?}");
        let rank = action.split(' ').nth(1).unwrap();
        let line = run.stderr.lines().find(|line| line.starts_with("rmarun: rank ")).unwrap();
        assert!(line.starts_with(&format!("rmarun: rank {rank} (pid ")), "{action}: {line}");
        assert!(line.contains(why), "{action}: {line}");
        assert_eq!(run.stderr.matches("rmarun:").count(), 1, "{}", run.stderr);
        assert!(run.took < FIVE_SECONDS, "{action} took {:?}", run.took);
    }
}

#[test]
fn a_rank_that_blames_itself_waits_for_one_that_is_dying() {
    let run = run("-n 2 RANK follow 1");
    assert!(run.stderr.contains("rank 1 (pid "), "{}", run.stderr);
    assert_eq!((run.code, run.stderr.matches("rmarun:").count()), (Some(137), 1), "{}", run.stderr);
}

#[test]
fn a_kill_from_outside_is_named_rather_than_what_follows() {
    let running = Running::start(rmarun(["-n", "4", env!("CARGO_BIN_EXE_rma-test-rank"), "wait", "9"]));
    let ranks = running.wait_for(4, env!("CARGO_BIN_EXE_rma-test-rank"));
    send(ranks[2], Signal::KILL);
    let run = running.finish();
    assert_eq!(run.code, Some(137));
    assert!(run.stderr.contains(&format!("(pid {}) was killed by signal 9", ranks[2])), "{}", run.stderr);
    // An exit with a bad status that comes just before the death of another rank is not the cause.
    let script = "if [ $PMI_RANK = 0 ]; then exit 3; else sleep 0.02; kill -9 $$; fi";
    let run = shell("-n 2", script);
    assert!(run.stderr.contains("rank 1 "), "{}", run.stderr);
    assert_eq!(run.code, Some(137));
}

#[test]
fn ranks_that_do_not_want_to_end_are_killed() {
    let run = shell(
        "-n 3 --grace 1",
        "if [ $PMI_RANK = 1 ]; then exit 7; fi; trap '' TERM; while :; do sleep 100; done",
    );
    assert_eq!(run.code, Some(7));
    assert!(run.took < FIVE_SECONDS, "{:?}", run.took);
}

#[test]
fn stopped_ranks_are_ended_too() {
    let script = "if [ $PMI_RANK = 0 ]; then kill -STOP $$; fi; sleep 0.1; exit 4";
    let run = shell("-n 2", script);
    assert_eq!(run.code, Some(4));
    assert!(run.took < FIVE_SECONDS);
}

#[test]
fn the_others_go_on_when_asked_to() {
    let script = "if [ $PMI_RANK = 0 ]; then exit 6; fi; sleep 0.3; echo $PMI_RANK went on";
    let run = shell("-n 3 --on-failure continue", script);
    assert_eq!(run.sorted_lines(), ["1 went on", "2 went on"]);
    assert_eq!(run.code, Some(6));
    assert!(run.stderr.contains("rank 0 (pid "), "{}", run.stderr);
    let last = run.stderr.lines().last();
    let expected = "rmarun: rank 0 exited with status 6; the other 2 ranks went on to the end";
    assert_eq!(last, Some(expected), "{}", run.stderr);
}

#[test]
fn finishing_with_a_bad_status_is_a_failure() {
    let run = run("-n 2 RANK finish 0 9");
    assert_eq!(run.code, Some(9));
    assert!(run.stderr.contains("exited with status 9"));
}

#[test]
fn a_job_can_have_a_time_limit() {
    let run = shell("-n 2 --timeout 1", "sleep 100");
    assert_eq!(run.code, Some(124));
    assert!(run.stderr.contains("--timeout"), "{}", run.stderr);
    assert!(run.took < FIVE_SECONDS);
}

#[test]
fn programs_that_cannot_run_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plain");
    std::fs::write(&file, "text").unwrap();
    let file = file.to_str().unwrap();
    for (program, code, why) in [
        ("no-such-program-anywhere", 127, "cannot run no-such-program-anywhere: there is no program"),
        ("./no-such-file", 127, "there is no such file"),
        (file, 126, "permission denied"),
        ("/tmp", 126, "that is a directory"),
    ] {
        let run = run_words(["-n", "4", program]);
        assert_eq!(run.code, Some(code), "{program}: {run:?}");
        assert!(run.stderr.contains(why), "{program}: {}", run.stderr);
        assert!(run.took < FIVE_SECONDS);
    }
}

/// What the launcher lacks is not told of the program, whichever descriptor is the first that it does not get.
#[test]
fn a_limit_of_open_files_is_named() {
    let ended: Vec<_> = (8..=48)
        .step_by(2)
        .map(|limit| {
            let script = format!("ulimit -n {limit} && exec \"$0\" \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_rmarun"), "-n", "4", "true"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let run = Running::start(command).finish();
            if run.code != Some(0) {
                let named = format!(
                    "RLIMIT_NOFILE, ulimit -n: {limit} for this process; about 88 are needed for 4 ranks"
                );
                assert_eq!((run.code, run.stderr.matches(&named).count()), (Some(71), 1), "{run:?}");
                assert!(!run.stderr.contains("cannot run"), "{run:?}");
            }
            run.stderr
        })
        .collect();
    // Some have begun to start ranks, and some have started all.
    assert!(ended.iter().any(|text| text.contains("cannot start rank")), "{ended:?}");
    assert_eq!(ended.last().map(String::as_str), Some(""));
}

#[test]
fn bad_usage_is_told_and_nothing_starts() {
    for (line, why) in [
        ("-n 0 true", "1..=65536"),
        ("-n x true", "invalid"),
        ("-n 2", "<PROGRAM>"),
        ("", "<PROGRAM>"),
        ("--channel carrier-pigeon true", "auto, shm, tcp"),
    ] {
        let run = run(line);
        assert_eq!(run.code, Some(2), "{line}");
        assert!(run.stderr.contains(why), "{line}: {}", run.stderr);
    }
    assert_eq!(run("--help").code, Some(0));
}

#[test]
fn signals_reach_the_ranks() {
    let script = "trap 'echo got usr2; exit 0' USR2; echo ready; while :; do sleep 0.01; done";
    let mut running = Running::start(rmarun(["-n", "2", "sh", "-c", script]));
    let launcher = running.child.id() as i32;
    let mut stdout = running.child.stdout.take().unwrap();
    let mut text = String::new();
    let mut byte = [0u8; 1];
    while text.matches("ready\n").count() < 2 {
        assert_eq!(std::io::Read::read(&mut stdout, &mut byte).unwrap(), 1);
        text.push(char::from(byte[0]));
    }
    send(launcher, Signal::USR2);
    std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
    assert_eq!(text.matches("got usr2\n").count(), 2);
    // `sleep` dies of the signal too, but it is no rank.
    assert_eq!(running.finish().code, Some(0));
}

#[test]
fn ending_signals_end_the_job() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let running = Running::start(rmarun(["-n", "3", "sleep", "1000"]));
        running.wait_for(3, "sleep");
        send(running.child.id() as i32, signal);
        let run = running.finish();
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.took < FIVE_SECONDS);
    }
}

#[test]
fn a_signal_to_the_launcher_is_no_ranks_death() {
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM"), (Signal::HUP, "SIGHUP")] {
        let running = Running::start(rmarun(["-n", "3", "sleep", "1000"]));
        running.wait_for(3, "sleep");
        send(running.child.id() as i32, signal);
        let run = running.finish();
        let number = signal.as_raw();
        assert_eq!(run.stderr, format!("rmarun: signal {number} ({name}) has ended the job\n"), "{run:?}");
    }
}

#[test]
fn ranks_that_ignore_a_signal_to_the_launcher_have_the_grace_time() {
    for signal in [Signal::TERM, Signal::HUP] {
        let script = "trap '' TERM HUP; exec sleep 1000";
        let running = Running::start(rmarun(["-n", "2", "--grace", "1", "sh", "-c", script]));
        running.wait_for(2, "sleep");
        send(running.child.id() as i32, signal);
        let run = running.finish();
        assert_eq!(run.code, Some(128 + signal.as_raw()), "{run:?}");
        assert!(run.stderr.contains("has ended the job") && !run.stderr.contains("rank"), "{}", run.stderr);
    }
}

#[test]
fn a_rank_in_a_session_of_its_own_gets_signals_too() {
    let running = Running::start(rmarun(["-n", "2", "setsid", "sleep", "1000"]));
    running.wait_for(2, "sleep");
    send(running.child.id() as i32, Signal::TERM);
    let run = running.finish();
    assert_eq!(run.code, Some(128 + 15), "{run:?}");
    // One that ignores it is killed, and so is one of a job that ends for another reason.
    let script = "trap '' TERM; if [ $PMI_RANK = 1 ]; then sleep 0.2; exit 5; fi; exec sleep 1000";
    let run = run_words(["-n", "2", "--grace", "1", "setsid", "sh", "-c", script]);
    assert_eq!(run.code, Some(5), "{run:?}");
}

#[test]
fn nothing_is_left_when_the_launcher_is_killed() {
    // Children of ranks too, also those that ignore every polite signal.
    let script = "trap '' TERM HUP INT; sleep 1000 & sleep 1000; :";
    let mut running = Running::start(rmarun(["-n", "3", "sh", "-c", script]));
    running.wait_for(6, "sleep");
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    running.assert_nothing_is_left();
}

#[test]
fn what_ranks_leave_running_ends_with_the_job() {
    let run = shell("-n 2", "sleep 1000 & echo done");
    assert_eq!(run.sorted_lines(), ["done", "done"]);
    assert_eq!(run.code, Some(0));
    assert!(run.took < FIVE_SECONDS);
}

/// A time that no other process sleeps for: not another test, and not what a run of these tests has left that
/// was cut off.
fn marked_seconds(test: u32) -> u32 {
    test * 100_000_000 + std::process::id()
}

/// A script that starts three processes out of the job's group: in a session of their own, behind a parent that ends, and
/// without the environment. `sleep` of this number of seconds tells them.
fn leaving(seconds: u32) -> String {
    let quiet = "</dev/null >/dev/null 2>&1 &";
    format!(
        "setsid sleep {seconds} {quiet} (setsid sleep {seconds} {quiet}) \n setsid env -i sleep {seconds} {quiet}"
    )
}

/// Processes that run `sleep` for so many seconds, whatever their environment.
fn sleepers(seconds: u32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let line = format!("sleep\0{seconds}\0");
    entries
        .filter(|entry| {
            std::fs::read_to_string(entry.path().join("cmdline")).is_ok_and(|found| found == line)
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn wait_for_sleepers(seconds: u32, count: usize) -> Vec<i32> {
    let until = std::time::Instant::now() + common::LIMIT;
    loop {
        let found = sleepers(seconds);
        if found.len() == count {
            return found;
        }
        assert!(
            std::time::Instant::now() < until,
            "{} processes in place of {count}: {found:?}",
            found.len()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_ranks_leave_running_out_of_the_group_ends_with_the_job() {
    let seconds = marked_seconds(1);
    let script = format!("trap 'exit 0' USR2; {}\n while :; do sleep 0.01; done", leaving(seconds));
    let running = Running::start(rmarun(["-n", "2", "sh", "-c", &script]));
    wait_for_sleepers(seconds, 6);
    send(running.child.id() as i32, Signal::USR2);
    let run = running.finish();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(sleepers(seconds), Vec::<i32>::new(), "what has no mark is found by its parent");
}

#[test]
fn what_has_left_the_group_ends_when_the_launcher_is_killed() {
    let seconds = marked_seconds(2);
    let script = format!("trap '' TERM HUP; {}\n sleep 1000", leaving(seconds));
    let mut running = Running::start(rmarun(["-n", "2", "sh", "-c", &script]));
    wait_for_sleepers(seconds, 6);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    running.assert_nothing_is_left();
    // Those without an environment have lost every sign.
    for pid in wait_for_sleepers(seconds, 2) {
        send(pid, Signal::KILL);
    }
}

/// A shell that becomes the launcher may have children, which are no part of the job.
#[test]
fn children_that_the_launcher_had_before_are_left_alone() {
    let seconds = marked_seconds(4);
    let script = format!("sleep {seconds} </dev/null >/dev/null 2>&1 & exec \"$0\" -n 1 true");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_rmarun")]);
    assert!(command.status().unwrap().success());
    for pid in wait_for_sleepers(seconds, 1) {
        send(pid, Signal::KILL);
    }
}

#[test]
fn what_has_left_the_group_is_kept_on_request() {
    let seconds = marked_seconds(3);
    let leaves = format!("setsid env -i sleep {seconds} </dev/null >/dev/null 2>&1 &");
    let script = format!("trap 'exit 0' USR2; {leaves}\n while :; do sleep 0.01; done");
    let running = Running::start(rmarun(["-n", "1", "--keep-children", "sh", "-c", &script]));
    wait_for_sleepers(seconds, 1);
    send(running.child.id() as i32, Signal::USR2);
    assert_eq!(running.finish().code, Some(0));
    for pid in wait_for_sleepers(seconds, 1) {
        send(pid, Signal::KILL);
    }
}

#[test]
fn what_loses_its_parent_and_ends_is_not_left_to_be_reaped() {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (true &); done; echo ready; exec sleep 1000";
    let mut running = Running::start(rmarun(["-n", "1", "sh", "-c", script]));
    let launcher = running.child.id() as i32;
    let mut ready = [0u8; 6];
    std::io::Read::read_exact(running.child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let is_dead_child = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().starts_with(&format!(" Z {launcher} "))
    };
    let until = std::time::Instant::now() + FIVE_SECONDS;
    loop {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let dead = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_dead_child)).count();
        if dead == 0 {
            break;
        }
        assert!(std::time::Instant::now() < until, "{dead} dead children of the launcher are left");
    }
    send(launcher, Signal::TERM);
    assert_eq!(running.finish().code, Some(143));
}

/// What cannot be written is the launcher's failure, told with its reason, and no death of a rank.
#[test]
fn a_full_disk_behind_the_output_ends_the_job_and_is_told() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    // The first goes on for ever, the second has ended before anything is written.
    for script in ["while :; do echo text; done", "echo text"] {
        let mut command = rmarun(["-n", "2", "sh", "-c", script]);
        command.stdout(full());
        let run = Running::start(command).finish();
        assert_eq!(run.code, Some(74), "{run:?}");
        let said =
            "rmarun: cannot write the output: No space left on device (os error 28) (standard output)\n";
        assert_eq!(run.stderr, said);
        assert!(run.took < FIVE_SECONDS, "{run:?}");
    }
    let mut command = rmarun(["-n", "2", "sh", "-c", "while :; do echo text >&2; done"]);
    command.stderr(full());
    assert_eq!(Running::start(command).finish().code, Some(74));
}

#[test]
fn a_stopped_job_goes_on() {
    let script = "trap 'echo going on; exit 0' CONT; echo ready; while :; do sleep 0.01; done";
    let mut running = Running::start(rmarun(["-n", "1", "sh", "-c", script]));
    let launcher = running.child.id() as i32;
    let mut stdout = running.child.stdout.take().unwrap();
    let mut ready = [0u8; 6];
    std::io::Read::read_exact(&mut stdout, &mut ready).unwrap();
    send(launcher, Signal::TSTP);
    let until = std::time::Instant::now() + common::LIMIT;
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{launcher}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().starts_with('T')
    };
    while !is_stopped() {
        assert!(std::time::Instant::now() < until);
        std::thread::sleep(Duration::from_millis(2));
    }
    send(launcher, Signal::CONT);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
    assert_eq!(text, "going on\n");
    assert_eq!(running.finish().code, Some(0));
}
