//! Jobs on several hosts. Most hosts here are this machine under other names: the launch agent is a shell that forgets the name.

#![allow(missing_docs)]

mod common;

use common::{Run, Running, rmarun};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RANK: &str = env!("CARGO_BIN_EXE_rma-test-rank");
const WORLD: &str = env!("CARGO_BIN_EXE_rma-test-world");
const RMARUN: &str = env!("CARGO_BIN_EXE_rmarun");
/// Of ends that no time limit of the launcher brings about.
const SOON: Duration = Duration::from_secs(5);

/// What runs a command on a host: the first word is the host's.
struct Agent(tempfile::TempDir);

impl Agent {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("agent"), script).unwrap();
        Self(directory)
    }

    fn command(&self, hosts: &str, words: &[&str]) -> Command {
        let agent = format!("sh {}", self.0.path().join("agent").to_str().unwrap());
        rmarun(["--launch-agent", &agent, "--hosts", hosts].iter().chain(words))
    }
}

/// A host that is this machine.
fn agent() -> Agent {
    Agent::new("shift\nexec \"$@\"\n")
}

fn start(hosts: &str, words: &[&str]) -> (Agent, Running) {
    let agent = agent();
    let running = Running::start(agent.command(hosts, words));
    (agent, running)
}

fn run(hosts: &str, words: &[&str]) -> Run {
    start(hosts, words).1.finish()
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The one proxy; its guard has the same command line.
fn proxy(running: &Running) -> i32 {
    let both = running.wait_for(2, &format!("{RMARUN} --proxy"));
    let name = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    both.into_iter().find(|pid| name(pid) == "rmarun\n").unwrap()
}

#[test]
fn ranks_of_all_hosts_find_each_other() {
    for (hosts, options, mapping) in [
        ("a:2,b", "-n 4", "(vector,(0,1,2),(1,1,1))"),
        ("localhost:2,b:2", "-n 4 --map-by node", "(vector,(0,2,1))"),
        ("b,localhost:3", "", "(vector,(0,1,1),(1,1,3))"),
    ] {
        let words: Vec<&str> = options.split_whitespace().chain([RANK, "exchange"]).collect();
        let run = run(hosts, &words);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{hosts}: {run:?}");
        let expected: Vec<_> =
            (0..4).map(|rank| format!("rank {rank} of 4, 64 secret digits, {mapping}")).collect();
        assert_eq!(run.sorted_lines(), expected, "{hosts}");
    }
}

#[test]
fn a_world_on_three_hosts_communicates() {
    let agent = agent();
    let mut command = agent.command("localhost:2,a:2,b", &[WORLD, "collectives"]);
    command.env("RMA_TCP_LISTEN", "127.0.0.1");
    let run = Running::start(command).finish();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(run.text().matches(" is done\n").count(), 5);
}

#[test]
fn programs_have_variables_directories_arguments_and_output_as_on_one_host() {
    let script = "echo $PMI_RANK/$PMI_SIZE $RMA_TEST_A $PWD \"$0\"; printf end >&2";
    let words =
        ["-n", "2", "--tag-output", "-x", "RMA_TEST_A=a=b c", "--wdir", "/", "sh", "-c", script, "d  e"];
    let run = run("a,b,c", &[&words[..], &[":", "--wdir", "/usr", "sh", "-c", script, "x"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.sorted_lines(), ["[0] 0/3 a=b c / d  e", "[1] 1/3 a=b c / d  e", "[2] 2/3 /usr x"]);
    let mut errors: Vec<_> = run.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] end", "[1] end", "[2] end"]);
}

#[test]
fn variables_about_a_host_are_those_of_the_host() {
    let agent = Agent::new("shift\nSLURMD_NODENAME=there exec \"$@\"\n");
    let mut command = agent.command("localhost,b", &["sh", "-c", "echo $PMI_RANK $SLURMD_NODENAME"]);
    command.env("SLURMD_NODENAME", "here");
    let run = Running::start(command).finish();
    assert_eq!(run.sorted_lines(), ["0 here", "1 there"], "{run:?}");
}

#[test]
fn long_output_and_input_pass_whole() {
    let agent = agent();
    let mut command = agent.command("a,b", &["sh", "-c", "wc -c; head -c 3000000 /dev/zero"]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut stdin = running.child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&vec![b'x'; 900_000]).unwrap());
    let run = running.finish();
    writer.join().unwrap();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout.iter().filter(|byte| **byte == 0).count(), 6_000_000);
    let counts = run.text().replace('\0', " ");
    let counts: Vec<_> = counts.split_whitespace().collect();
    assert!(counts.contains(&"900000") && counts.contains(&"0"), "{counts:?}");
}

#[test]
fn a_reader_that_goes_away_ends_ranks_of_other_hosts() {
    let (_agent, mut running) = start("a,b", &["yes"]);
    drop(running.child.stdout.take());
    let run = running.finish();
    assert_eq!(run.code, Some(128 + 13), "{run:?}");
}

#[test]
fn a_failure_names_rank_and_host() {
    for (action, code, why) in [
        ("kill 2 9", 137, "was killed by signal 9 (SIGKILL)"),
        ("exit 2 42", 42, "exited with status 42"),
        ("abort 2 5", 5, "called abort with exit status 5"),
        ("garbage 2", 1, "sent a line that is not PMI-1"),
    ] {
        let words: Vec<_> = ["-n", "3", RANK].into_iter().chain(action.split(' ')).collect();
        let run = run("localhost,a,b", &words);
        assert_eq!(run.code, Some(code), "{action}: {run:?}");
        let line = run.stderr.strip_prefix("rmarun: rank 2 (pid ").unwrap_or_else(|| panic!("{run:?}"));
        assert!(line.contains(" on b) ") && line.contains(why), "{action}: {line}");
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(run.took < SOON, "{action} took {:?}", run.took);
    }
}

#[test]
fn a_killed_proxy_is_a_lost_host_and_leaves_nothing() {
    let script = "setsid sleep 1000 & sleep 1000";
    let (_agent, running) = start("localhost,a:2", &["sh", "-c", script]);
    running.wait_for(6, "sleep");
    send(proxy(&running), Signal::KILL);
    let run = running.finish();
    assert_eq!(run.code, Some(69), "{run:?}");
    let expected = "rmarun: host a is lost (ranks 1-2): the launch agent was killed by signal 9\n";
    assert_eq!(run.stderr, expected);
    assert!(run.took < SOON, "{:?}", run.took);
}

#[test]
fn the_others_go_on_without_a_host_when_asked_to() {
    let script = "if [ $PMI_RANK = 0 ]; then kill -9 $PPID; fi; sleep 0.3; echo $PMI_RANK";
    let run = run("a:2,b", &["--on-failure", "continue", "sh", "-c", script]);
    assert_eq!((run.code, run.text()), (Some(69), "2\n"), "{run:?}");
    let last = run.stderr.lines().last().unwrap();
    assert!(last.contains("rank 1 is lost with its host a; the other rank went on"), "{last}");
}

#[test]
fn a_killed_launcher_leaves_nothing_on_other_hosts() {
    let (_agent, running) = start("localhost,a,b", &["sh", "-c", "setsid sleep 1000 & sleep 1000"]);
    running.wait_for(6, "sleep");
    send(running.child.id() as i32, Signal::KILL);
    assert_eq!(running.finish().code, None);
}

#[test]
fn signals_and_time_limits_end_ranks_of_all_hosts() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (_agent, running) = start("localhost,a,b", &["sleep", "1000"]);
        running.wait_for(3, "sleep");
        send(running.child.id() as i32, signal);
        let run = running.finish();
        assert_eq!((run.code, run.stderr.lines().count()), (Some(code), 1), "{run:?}");
        assert!(run.took < SOON, "{:?}", run.took);
    }
    let run = run("a,b", &["--timeout", "1", "sleep", "1000"]);
    assert_eq!(run.code, Some(124), "{run:?}");
}

/// One host is here, and another one's agent does not get there.
#[test]
fn no_end_of_a_job_waits_for_a_host_that_has_not_answered() {
    let agent = || Agent::new("[ \"$1\" = far ] && exec sleep 1000\nshift\nexec \"$@\"\n");
    let far = "host far has not answered so far (rank 1)";
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let agent = agent();
        let running = Running::start(agent.command("a,far", &["sleep", "999"]));
        running.wait_for(1, "sleep 1000");
        send(running.child.id() as i32, signal);
        let run = running.finish();
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(far), "{run:?}");
        assert!(run.took < SOON, "{run:?}");
    }
    for (words, code, is_told) in [
        (&["--timeout", "1", "sleep", "1000"][..], 124, true),
        (&["false"], 1, true),
        (&["./no-such-file"], 127, false),
    ] {
        let agent = agent();
        let run = Running::start(agent.command("a,far", words)).finish();
        assert_eq!((run.code, run.stderr.contains(far)), (Some(code), is_told), "{words:?}: {run:?}");
        assert!(run.took < SOON, "{words:?}: {run:?}");
    }
}

#[test]
fn a_side_that_is_silent_is_lost_to_the_other() {
    let start = || {
        let agent = agent();
        let mut command = agent.command("a", &["sleep", "1000"]);
        command.env("RMA_HOST_TIMEOUT", "2");
        let running = Running::start(command);
        running.wait_for(1, "sleep");
        (agent, running)
    };
    // A job that is stopped by hand has said so before.
    let (_one, paused) = start();
    send(paused.child.id() as i32, Signal::TSTP);
    let (_two, host) = start();
    send(proxy(&host), Signal::STOP);
    let (_three, launcher) = start();
    send(launcher.child.id() as i32, Signal::STOP);
    let run = host.finish();
    assert_eq!(run.code, Some(69), "{run:?}");
    assert!(
        run.stderr.contains("host a is lost (rank 0): nothing was heard from it for 2 s"),
        "{}",
        run.stderr
    );
    launcher.wait_for(0, "sleep");
    send(launcher.child.id() as i32, Signal::CONT);
    let run = launcher.finish();
    assert_eq!(run.code, Some(69));
    let why = ": nothing was heard from the launcher for 2 s; its ranks here were ended";
    assert!(run.stderr.lines().any(|line| line.starts_with("rmarun on ") && line.ends_with(why)), "{run:?}");
    paused.wait_for(1, "sleep");
    send(paused.child.id() as i32, Signal::CONT);
    send(paused.child.id() as i32, Signal::TERM);
    let run = paused.finish();
    assert_eq!((run.code, run.stderr.lines().count()), (Some(143), 1), "{run:?}");
}

#[test]
fn hosts_that_cannot_start_ranks_say_why() {
    for (script, options, code, why) in [
        ("exit 255", "", 69, "host a cannot be reached (ranks 0-1): the launch agent ended with status 255"),
        ("echo Welcome", "", 69, "\"Welcome\\n\" came where rmarun --proxy was to speak"),
        // So little may be the beginning of a frame's length.
        ("echo; shift; exec \"$@\"", "", 69, "came where rmarun --proxy was to speak"),
        ("printf ab; sleep 1000", "", 69, "\"ab\" came where rmarun --proxy was to speak"),
        ("shift; exec \"$@\"", "--bind-to core -n 4096", 2, "host a: 4096 ranks for"),
        ("shift; exec \"$@\"", "./no-such-file", 127, "host a: cannot run ./no-such-file"),
        (
            "shift; exec \"$@\"",
            "--wdir /no/such/place",
            126,
            "host a: cannot start ranks in /no/such/place (--wdir)",
        ),
    ] {
        let agent = Agent::new(script);
        let words: Vec<_> = options.split_whitespace().chain(["true"]).collect();
        let run = Running::start(agent.command("a:2", &words)).finish();
        assert_eq!(run.code, Some(code), "{script} {options}: {run:?}");
        assert!(run.stderr.contains(why), "{script} {options}: {}", run.stderr);
        assert!(run.took < SOON, "{:?}", run.took);
    }
    let run = Running::start(rmarun(["--launch-agent", "/no/such/agent", "--hosts", "a", "true"])).finish();
    assert_eq!(run.code, Some(71));
    assert!(run.stderr.contains("cannot run /no/such/agent (--launch-agent)"), "{}", run.stderr);
}

#[test]
fn a_dry_run_says_where_ranks_go_and_starts_nothing() {
    let agent = Agent::new("echo started >&2");
    let command = agent.command("a:2,b", &["--dry-run", "--bind-to", "core", "no-such-program"]);
    let run = Running::start(command).finish();
    assert_eq!(run.text(), "rank 0: a, core 0\nrank 1: a, core 1\nrank 2: b, core 0\n");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    // Of an allocation, without a word about hosts.
    let mut command = rmarun(["--dry-run", "true"]);
    command.env("SLURM_JOB_NODELIST", "n[1-2]").env("SLURM_TASKS_PER_NODE", "2,1");
    let run = Running::start(command).finish();
    assert_eq!(run.text(), "rank 0: n1\nrank 1: n1\nrank 2: n2\n");
    let run = Running::start(rmarun(["--hostfile", "/no/such/file", "true"])).finish();
    assert_eq!(run.code, Some(2), "{run:?}");
}

/// As PBS has it: the file names a node for each rank, and the job's script runs on the first one.
#[test]
fn an_allocation_of_pbs_is_where_ranks_run() {
    let agent = agent();
    let file = agent.0.path().join("nodes");
    std::fs::write(&file, "a.cluster\na.cluster\nb.cluster\n").unwrap();
    let launch_agent = format!("sh {}", agent.0.path().join("agent").to_str().unwrap());
    let pbs = |words: &[&str]| {
        let mut command = rmarun(["--launch-agent", &launch_agent].iter().chain(words));
        command.env("PBS_NODEFILE", &file).env("PBS_JOBID", "7.server").env("PBS_ENVIRONMENT", "PBS_BATCH");
        Running::start(command).finish()
    };
    let run = pbs(&["--dry-run", "true"]);
    assert_eq!(run.text(), "rank 0: a.cluster\nrank 1: a.cluster\nrank 2: b.cluster\n");
    let run = pbs(&[RANK, "exchange"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let expected: Vec<_> =
        (0..3).map(|rank| format!("rank {rank} of 3, 64 secret digits, (vector,(0,1,2),(1,1,1))")).collect();
    assert_eq!(run.sorted_lines(), expected);
    // Hosts that are named are taken.
    let run = pbs(&["--hosts", "c", "--dry-run", "-n", "1", "true"]);
    assert_eq!(run.text(), "rank 0: c\n");
    std::fs::remove_file(&file).unwrap();
    let run = pbs(&["true"]);
    assert!(run.code == Some(2) && run.stderr.contains("PBS_NODEFILE: "), "{run:?}");
}

/// Ranks of one host do not see files that ranks of another write: here, since those have another directory.
#[test]
fn parts_of_a_trace_that_stay_on_their_hosts_are_told_of() {
    let agent = agent();
    let traced = |script: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.json");
        let mut command = agent.command("localhost,a", &["sh", "-c", script, WORLD, "window"]);
        command.current_dir(folder.path()).env("RMA_TRACE", &file).env("RMA_TCP_LISTEN", "127.0.0.1");
        let run = Running::start(command).finish();
        (run, file.exists())
    };
    let (run, is_there) = traced("exec $0 \"$@\"");
    assert_eq!((run.code, run.stderr.as_str(), is_there), (Some(0), "", true), "{run:?}");
    let (run, is_there) = traced("mkdir -p $PMI_RANK; RMA_TRACE=$PWD/${PMI_RANK#0}/t.json exec $0 \"$@\"");
    assert!(run.code == Some(0) && is_there, "{run:?}");
    assert!(run.stderr.starts_with("rmarun: RMA_TRACE: what rank 1 on a wrote is there, in "), "{run:?}");
}

#[test]
fn ranks_are_bound_to_cores_before_they_start() {
    let script = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    let run = run("localhost,a", &["--bind-to", "core", "sh", "-c", script]);
    assert_eq!(run.code, Some(0), "{run:?}");
    // Each is the first of its host, which is this machine: all threads of one core.
    let lines = run.sorted_lines();
    assert_eq!((lines.len(), lines[0]), (2, lines[1]));
    let first = lines[0].split(['-', ',']).next().unwrap();
    let path = format!("/sys/devices/system/cpu/cpu{first}/topology/core_cpus_list");
    let Ok(threads) = std::fs::read_to_string(path) else { return };
    assert_eq!(lines[0], threads.trim());
}

/// Two machines: namespaces with a cable between.
struct Cable {
    names: [String; 2],
}

impl Cable {
    fn lay() -> Option<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let names = [0, 1].map(|end| format!("rma{}-{number}{end}", std::process::id()));
        let [a, b] = &names;
        let lines = format!(
            "ip netns add {a} && ip netns add {b} && \
             ip -n {a} link add c type veth peer name c netns {b} && \
             for end in '{a} 1' '{b} 2'; do set -- $end; ip -n $1 addr add 10.78.0.$2/24 dev c && \
             ip -n $1 link set c up && ip -n $1 link set lo up || exit 1; done"
        );
        let cable = Self { names };
        let status = Command::new("sh").args(["-c", &lines]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then_some(cable)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

impl Cable {
    /// Starts a job whose launcher and ranks of the host `10.78.0.1` are on one machine, and those of `10.78.0.2` on the other one.
    fn start(&self, words: &[&str], variables: &[(&str, &str)]) -> (Agent, Running) {
        let [a, b] = &self.names;
        let agent = Agent::new(&format!("shift\nexec ip netns exec {b} \"$@\"\n"));
        let inner = agent.command(words[0], &words[1..]);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", a]).arg(RMARUN).args(inner.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(variables.iter().copied());
        (agent, Running::start(command))
    }

    fn pull(&self) {
        let status = Command::new("ip").args(["-n", &self.names[1], "link", "set", "c", "down"]).status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn a_world_on_two_machines_communicates_over_their_network() {
    let Some(cable) = Cable::lay() else {
        eprintln!("skipped: network namespaces cannot be made here");
        return;
    };
    let (_agent, running) = cable.start(&["10.78.0.1:2,10.78.0.2:2", WORLD, "collectives"], &[]);
    let run = running.finish();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(run.text().matches(" is done\n").count(), 4);
}

/// The launcher knows it first: the connection alone would be given up after half a minute.
#[test]
fn ranks_do_not_wait_for_bytes_to_reach_a_host_that_is_lost() {
    let Some(cable) = Cable::lay() else {
        eprintln!("skipped: network namespaces cannot be made here");
        return;
    };
    let words = ["10.78.0.1:2,10.78.0.2", "-n", "3", "--on-failure", "continue", WORLD, "rounds_until_lost"];
    let (_agent, mut running) = cable.start(&words, &[("RMA_HOST_TIMEOUT", "2")]);
    let mut first = [0; 7];
    running.child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(first, *b"rounds\n");
    cable.pull();
    send(proxy(&running), Signal::STOP);
    let cut = Instant::now();
    let run = running.finish();
    assert!(cut.elapsed() < 2 * SOON, "after {:?}: {run:?}", cut.elapsed());
    // A rank that waits for one that has been told, and has left the collective, is told that.
    let [failed, left] = ["ProcFailed", "ProcAborted"].map(|class| run.text().matches(class).count());
    assert_eq!((run.code, failed.max(1) + left), (Some(69), 2), "{run:?}");
}

/// The launcher reaches both halves, so that each would end well by itself.
#[test]
fn halves_of_a_job_that_have_lost_each_other_do_not_end_well() {
    let Some(cable) = Cable::lay() else {
        eprintln!("skipped: network namespaces cannot be made here");
        return;
    };
    let words =
        ["10.78.0.1:2,10.78.0.2:2", "-n", "4", "--on-failure", "continue", WORLD, "rounds_until_lost"];
    let variables = [("RMA_TCP_ACK_TIMEOUT", "1"), ("RMA_TCP_KEEPALIVE", "1")];
    let (_agent, mut running) = cable.start(&words, &variables);
    let mut first = [0; 7];
    running.child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    cable.pull();
    let run = running.finish();
    // Ranks that wait for one that has left the collective are told that.
    let [failed, left] = ["ProcFailed", "ProcAborted"].map(|class| run.text().matches(class).count());
    assert_eq!((run.code, failed + left), (Some(69), 4), "{run:?}");
    let line = run.stderr.lines().last().unwrap();
    assert!(line.starts_with("rmarun: rank") && line.contains(" on 10.78.0.1 and rank"), "{run:?}");
    assert!(line.contains(" on 10.78.0.2 have lost each other, and went on apart"), "{run:?}");
}
