//! Worlds of real processes, started by the launcher, over every channel.

#![allow(missing_docs)]

mod common;

use common::paths::{is_slow, messages};
use common::{Running, rmarun};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

const WORLD: &str = env!("CARGO_BIN_EXE_rma-test-world");
const FIVE_SECONDS: Duration = Duration::from_secs(5);

/// Every path between two ranks, as variables.
const PATHS: [&[(&str, &str)]; 6] = [
    &[],
    &[("RMA_CHANNEL", "shm")],
    &[("RMA_CHANNEL", "tcp")],
    &[("RMA_DIRECT", "0")],
    &[("RMA_RANKS_PER_NODE", "2")],
    &[("RMA_RANKS_PER_NODE", "1"), ("RMA_CHANNEL", "auto")],
];

fn start(ranks: u32, action: &str, variables: &[(&str, &str)]) -> Running {
    let ranks = ranks.to_string();
    let words = ["-n", &ranks, WORLD].into_iter().chain(action.split(' '));
    let mut command = rmarun(words);
    command.envs(variables.iter().copied());
    Running::start(command)
}

fn run(ranks: u32, action: &str, variables: &[(&str, &str)]) -> common::Run {
    start(ranks, action, variables).finish()
}

#[track_caller]
fn assert_good(run: &common::Run) {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
}

#[test]
fn collectives_work_over_every_path() {
    for path in PATHS {
        let most = if is_slow(path) { 3 } else { 16 };
        for ranks in [1, 2, 3, 4, 7, 16].into_iter().filter(|ranks| *ranks <= most) {
            let run = run(ranks, "collectives", path);
            assert_good(&run);
            assert_eq!(run.text().matches(" is done\n").count(), ranks as usize, "{path:?}");
        }
    }
}

#[test]
fn messages_arrive_over_every_path() {
    for path in PATHS {
        for ranks in [1, 2, 5] {
            let run = run(ranks, messages(path), path);
            assert_good(&run);
            assert_eq!(run.text().matches(" is done\n").count(), ranks as usize, "{path:?}");
        }
    }
}

#[test]
fn threads_synchronize_windows_of_their_own_over_every_path() {
    for path in PATHS {
        let run = run(3, "threads", path);
        assert_good(&run);
        assert_eq!(run.text().matches(" is done\n").count(), 3, "{path:?}");
    }
}

#[test]
fn the_smallest_sizes_work_too() {
    let smallest = [
        ("RMA_MESSAGE_EAGER", "0"),
        ("RMA_MESSAGE_WINDOW", "1"),
        ("RMA_SHM_RING_BYTES", "256"),
        ("RMA_SHM_PACKET_BYTES", "192"),
        ("RMA_SHM_BULK_BYTES", "1"),
        ("RMA_TCP_PACKET_BYTES", "192"),
        ("RMA_POLL_PACKETS", "1"),
        ("RMA_POLL_BYTES", "1"),
        ("RMA_SPIN", "0"),
    ];
    for path in PATHS {
        let variables = [&smallest[..], path].concat();
        for action in ["collectives", "messages"] {
            assert_good(&run(3, action, &variables));
        }
    }
}

#[test]
fn windows_are_direct_where_they_can_be() {
    for (path, ranks, direct) in [
        (PATHS[0], 4, 4),
        (PATHS[1], 4, 1),
        (PATHS[2], 4, 1),
        (PATHS[3], 4, 1),
        (PATHS[4], 4, 2),
        (PATHS[5], 3, 1),
    ] {
        let run = run(ranks, "window", path);
        assert_good(&run);
        assert_eq!(
            run.text().matches(&format!(": {direct} direct")).count(),
            ranks as usize,
            "{path:?}: {run:?}"
        );
    }
}

#[test]
fn a_program_brings_a_channel_of_its_own() {
    let opened = |ranks: u32, channel: &str, absent: &str| {
        let variables = [("RMA_CHANNEL", channel), ("RMA_TEST_ABSENT", absent)];
        let run = run(ranks, "window", &variables);
        (run.code, run.text().matches("opened its own").count(), run.stderr)
    };
    assert_eq!(opened(2, "x_own", ""), (Some(0), 2, String::new()));
    assert_eq!(opened(2, "x_own,shm", ""), (Some(0), 2, String::new()));
    // Where it is dear, missing, or behind another that reaches too, it is not opened.
    assert_eq!(opened(2, "auto", ""), (Some(0), 0, String::new()));
    assert_eq!(opened(2, "tcp,x_own", ""), (Some(0), 0, String::new()));
    assert_eq!(opened(2, "x_own,tcp", "all"), (Some(0), 0, String::new()));
    let (code, _, said) = opened(2, "x_own,tcp", "1");
    assert!(
        code != Some(0)
            && said.contains(
                ": this rank would use tcp/tcp within and between nodes (x_own: as the test wishes), but"
            ),
        "{said}"
    );
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(said.contains(&format!("process 1 on {}: ", name.trim())), "{said}");
    let (code, _, said) = opened(2, "x_other", "");
    assert!(code != Some(0) && said.contains("has registered a channel x_other"), "{said}");
    let variables = [("RMA_CHANNEL", "shm,ofi"), ("RMA_OFI_LIB", "/no/such.so"), ("RMA_RANKS_PER_NODE", "1")];
    let run_without = run(2, "window", &variables);
    assert!(run_without.code != Some(0), "{run_without:?}");
    assert!(run_without.stderr.contains("cannot be had here: ofi: /no/such.so"), "{run_without:?}");
    let run = run(2, "window", &[("RMA_CHANNEL_PLUGIN", "/no/such.so")]);
    assert!(run.code != Some(0), "{run:?}");
    assert!(
        run.stderr.contains("RMA_CHANNEL_PLUGIN names /no/such.so: the plug-in cannot be loaded"),
        "{run:?}"
    );
}

#[test]
fn a_program_on_its_own_is_a_job_of_one() {
    for action in ["collectives", "window"] {
        let output = std::process::Command::new(WORLD).arg(action).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn waiting_ranks_use_no_cpu_also_when_they_outnumber_the_cores() {
    // What else the machine does can make a wait dear; what is ours is there each time.
    const ATTEMPTS: usize = 5;
    for path in [PATHS[0], PATHS[2]] {
        let mut used = Vec::new();
        while used.last().is_none_or(|millis| *millis >= 20) {
            assert!(used.len() < ATTEMPTS, "{path:?}: a waiting rank used so many ms: {used:?}");
            let run = run(16, "wait 0 2000", path);
            assert_good(&run);
            let millis = |line: &str| line.split(' ').next().unwrap().parse::<u64>().unwrap();
            used.push(run.text().lines().map(millis).max().unwrap());
        }
    }
}

#[test]
fn one_machine_listens_on_no_port_unless_tcp_is_wished_for() {
    for (variables, ports) in [(PATHS[0], 0), (PATHS[2], 2)] {
        let running = start(2, "sleep 2", variables);
        let ranks = running.wait_for(2, WORLD);
        std::thread::sleep(Duration::from_millis(300)); // until they have started
        let look = || ranks.iter().map(|pid| listening_sockets(*pid)).collect::<Vec<_>>().concat();
        let (mut listening, until) = (look(), Instant::now() + Duration::from_secs(1));
        while listening.len() < ports && Instant::now() < until {
            listening = look();
        }
        assert_eq!(listening.len(), ports, "{listening:?}");
        assert!(listening.iter().all(|address| address.starts_with("0100007F:")), "{listening:?}");
        assert_good(&running.finish());
    }
}

#[test]
fn bytes_of_others_at_any_port_change_nothing() {
    const ROUNDS: usize = 40;
    for (channel, ports) in [("tcp", 3), ("ofi", 6)] {
        let variables = &[("RMA_CHANNEL", channel)];
        // A rank alone opens no channel, so two look whether there is one.
        if channel == "ofi" && run(2, "rank", variables).code != Some(0) {
            eprintln!("skipped: no libfabric is installed (Debian: libfabric1)");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let end = folder.path().join("end");
        let running = start(3, &format!("rounds_until {}", end.display()), variables);
        let ranks = running.wait_for(3, WORLD);
        let look = || ranks.iter().map(|pid| listening_sockets(*pid)).collect::<Vec<_>>().concat();
        let (mut listening, until) = (look(), Instant::now() + Duration::from_secs(20));
        while listening.len() < ports && Instant::now() < until {
            listening = look();
        }
        assert_eq!(listening.len(), ports, "{listening:?}");
        let mut kept = Vec::new();
        for round in 0..ROUNDS {
            for address in &listening {
                let port = u16::from_str_radix(address.rsplit(':').next().unwrap(), 16).unwrap();
                let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
                let bytes: Vec<u8> = (0..round * round).map(|at| (at * 31 + round) as u8).collect();
                // An end that comes before all is sent is an answer, too.
                let _ = socket.write_all(&bytes);
                if round % 4 == 0 {
                    kept.push(socket);
                }
            }
        }
        std::fs::write(end, "").unwrap();
        let run = running.finish();
        assert_eq!(run.code, Some(0), "{run:?}");
        // A line each time that their number has doubled. With the smallest sizes most make way for others, which is no line.
        let lines = run.stderr.lines().count();
        let least = if std::env::var_os("RMA_OP_POOL_WINDOW").is_some() { 0 } else { 1 };
        assert!((least..=3 * (ROUNDS.ilog2() as usize + 2)).contains(&lines), "{run:?}");
    }
}

/// Local addresses of the sockets that a process listens on, as /proc shows them.
fn listening_sockets(pid: i32) -> Vec<String> {
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap();
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let listening = rows.filter(|row| row[3] == "0A" && own.iter().any(|inode| inode == row[9]));
    listening.map(|row| row[1].to_owned()).collect()
}

#[test]
fn a_rank_that_panics_or_fails_ends_the_job() {
    for path in [PATHS[0], PATHS[2]] {
        for (action, code) in [("panic 1", 101), ("error 1", 1), ("abort 1 9", 9)] {
            let run = run(3, action, path);
            assert_eq!(run.code, Some(code), "{action}: {run:?}");
            assert!(run.stderr.contains("rmarun: rank 1 (pid "), "{action}: {}", run.stderr);
            assert!(run.took < FIVE_SECONDS, "{action} took {:?}", run.took);
        }
    }
}

#[test]
fn a_rank_that_leaves_early_is_no_hang() {
    for path in [PATHS[0], PATHS[1], PATHS[2]] {
        for leaver in 0..4 {
            let run = run(4, &format!("leave {leaver}"), path);
            assert!(run.code.is_some_and(|code| code != 0), "{run:?}");
            assert!(run.stderr.contains("no such file"), "{}", run.stderr);
            assert!(run.took < FIVE_SECONDS, "{:?}", run.took);
        }
    }
}

#[test]
fn memory_that_is_not_there_is_an_error_and_no_hang() {
    for path in PATHS {
        let run = run(4, "huge 2", path);
        assert_eq!(run.code, Some(1), "{path:?}: {run:?}");
        assert!(
            run.stderr.contains("MPI_ERR_NO_MEM") || run.stderr.contains("288230376151711744"),
            "{}",
            run.stderr
        );
        assert!(run.took < FIVE_SECONDS, "{path:?} took {:?}", run.took);
    }
}

#[test]
fn a_killed_rank_is_named_whatever_the_others_say() {
    for round in 0..10u64 {
        let path = PATHS[round as usize % PATHS.len()];
        let running = start(4, "rounds", path);
        let ranks = running.wait_for(4, WORLD);
        std::thread::sleep(Duration::from_millis(30 * round)); // at another point each time
        let victim = ranks[round as usize % 4];
        kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL).unwrap();
        let begin = std::time::Instant::now();
        let run = running.finish();
        assert!(begin.elapsed() < FIVE_SECONDS);
        assert_eq!(run.code, Some(137), "{run:?}");
        let expected = format!("(pid {victim}) was killed by signal 9 (SIGKILL)");
        assert!(run.stderr.contains(&expected), "{path:?}: {}", run.stderr);
    }
}

#[test]
fn wrong_variables_are_errors_and_unknown_ones_warnings() {
    let wrong = run(2, "rank", &[("RMA_SLOTS", "0")]);
    assert_ne!(wrong.code, Some(0));
    assert!(
        wrong.stderr.contains("RMA_SLOTS is set to \"0\", but a number from 1 to 1048576"),
        "{}",
        wrong.stderr
    );
    let unknown = run(2, "rank", &[("RMA_CHANEL", "tcp")]);
    assert_eq!(unknown.code, Some(0));
    assert_eq!(unknown.stderr.matches("RMA_CHANEL").count(), 1, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("the nearest is RMA_CHANNEL"), "{}", unknown.stderr);
    let twice = run(1, "twice", &[]);
    assert!(twice.text().contains("before"), "{}", twice.text());
    let settings = run(1, "settings", &[("RMA_CREDITS", "7")]);
    assert!(settings.text().lines().any(|line| line == "RMA_CREDITS=7"));
}

/// A forked child takes nothing from its parent: what it drops stays, and a call that would leave the process ends it.
#[test]
fn forked_children_leave_the_job_to_their_parent() {
    const OBSERVED: &str = env!("CARGO_BIN_EXE_rma-test-observed");
    for path in PATHS {
        let mut command = rmarun(["-n", "2", OBSERVED, "fork"]);
        command.envs(path.iter().copied());
        let run = Running::start(command).finish();
        assert_eq!(run.code, Some(0), "{path:?}: {run:?}");
        let lines = run.sorted_lines();
        let (counts, deeds): (Vec<&str>, Vec<&str>) =
            lines.iter().copied().partition(|line| line.ends_with(" children"));
        let wrong = deeds.iter().find(|line| !line.ends_with(": right"));
        assert_eq!(wrong, None, "{path:?}: {run:?}");
        let refused: usize = counts[0].split(' ').next().unwrap().parse().unwrap();
        for rank in 0..2 {
            let reported = format!(" called in a forked child of rank {rank}: ");
            assert_eq!(run.stderr.matches(&reported).count(), refused, "{path:?}: {run:?}");
        }
        assert_eq!(run.stderr.lines().count(), 2 * refused, "{path:?}: {run:?}");
    }
}

#[test]
fn a_provider_that_cannot_be_had_is_told_of_once() {
    let wish = ("RMA_OFI_PROVIDER", "nowhere");
    let told =
        "rma: warning: RMA_OFI_PROVIDER is nowhere, but ofi cannot be had here and tcp is used instead: ";
    let apart = run(2, "window", &[wish, PATHS[5][0]]);
    assert_eq!((apart.code, apart.stderr.lines().count()), (Some(0), 1), "{apart:?}");
    assert!(apart.stderr.starts_with(told), "{apart:?}");
    // Without another node there is no use for it.
    assert_good(&run(2, "window", &[wish]));
}

/// What is checked nowhere else.
#[test]
fn numbers_that_must_be_alike_and_are_not_are_named_at_the_start() {
    for (name, value, other) in [
        ("RMA_CREDITS", "8", "64"),
        ("RMA_MESSAGE_WINDOW", "1000", "65536"),
        ("RMA_RANKS_PER_NODE", "1", "0"),
    ] {
        let [first, second] = [value, other].map(|value| format!("{name}={value}"));
        let words =
            ["-n", "1", "-x", &first, WORLD, "window", ":", "-n", "1", "-x", &second, WORLD, "window"];
        let run = Running::start(rmarun(words)).finish();
        let why = format!("{name} is {other} on this rank and {value} on process 0, but must be the same");
        assert!(run.code != Some(0) && run.stderr.contains(&why), "{run:?}");
    }
}

/// A process ends with its last thread: none of the library's is left behind the finalize.
#[test]
fn a_job_ends_when_main_has_left_and_another_thread_finalizes() {
    const OBSERVED: &str = env!("CARGO_BIN_EXE_rma-test-observed");
    for path in PATHS.into_iter().chain([&[("RMA_ON_FAILURE", "continue")][..], &[("RMA_AGENT", "0")]]) {
        for ranks in [1, 2] {
            let ranks = ranks.to_string();
            let mut command = rmarun(["-n", &ranks, OBSERVED, "worker"]);
            command.envs(path.iter().copied());
            let run = Running::start(command).finish();
            assert_good(&run);
            assert_eq!(run.text().lines().count().to_string(), ranks, "{path:?}: {run:?}");
        }
    }
}
