//! Jobs that no launcher has started: another runtime's processes, with nothing but an allgather.

#![allow(missing_docs)]

mod common;

use common::LIMIT;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Instant;

const WORLD: &str = env!("CARGO_BIN_EXE_rma-test-world");
/// What a launcher of this test's own process would say.
const OTHERS: [&str; 6] = ["PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE"];

/// Runs a job whose ranks gather over files; answers what became of each.
fn gathered(size: u32, action: &[&str], variables: &[(&str, &str)]) -> Vec<Output> {
    let folder = tempfile::tempdir().unwrap();
    let start = |rank| {
        let mut command = Command::new(WORLD);
        command.args(action).envs(variables.iter().copied());
        command.env("RMA_TEST_GATHER", format!("{}:{rank}:{size}", folder.path().display()));
        for name in OTHERS {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ranks: Vec<Child> = (0..size).map(start).collect();
    let begin = Instant::now();
    let end = |mut child: Child| {
        while child.try_wait().unwrap().is_none() && begin.elapsed() < LIMIT {
            thread::sleep(std::time::Duration::from_millis(2));
        }
        // One that has ended is not killed any more.
        let _ = child.kill();
        child.wait_with_output().unwrap()
    };
    ranks.into_iter().map(end).collect()
}

fn lines(outputs: &[Output]) -> Vec<String> {
    outputs.iter().map(|output| String::from_utf8_lossy(&output.stdout).trim_end().to_owned()).collect()
}

#[test]
fn processes_with_an_allgather_are_a_job() {
    for size in [1, 3] {
        let outputs = gathered(size, &["collectives"], &[]);
        let expected: Vec<_> = (0..size).map(|rank| format!("{rank} of {size} is done")).collect();
        assert_eq!(lines(&outputs), expected, "{outputs:?}");
        assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    }
}

/// The launcher does not tell them which ranks share a machine.
#[test]
fn they_find_out_that_they_share_memory() {
    let outputs = gathered(3, &["window"], &[]);
    assert!(lines(&outputs).iter().all(|line| line.contains(": 3 direct, ")), "{outputs:?}");
    let outputs = gathered(3, &["window"], &[("RMA_CHANNEL", "tcp")]);
    assert!(lines(&outputs).iter().all(|line| line.ends_with(": 1 direct, some by packets")), "{outputs:?}");
}

/// The summary of all ranks is made behind a fence of its own.
#[test]
fn rank_0_sums_up_what_all_have_counted() {
    let outputs = gathered(3, &["window"], &[("RMA_STATS", "1"), ("RMA_CHANNEL", "tcp")]);
    let said = String::from_utf8_lossy(&outputs[0].stderr);
    assert!(said.contains("3 of 3 ranks") || said.contains("3 ranks"), "{outputs:?}");
}

#[test]
fn a_rank_that_fails_fails_the_others() {
    let outputs = gathered(3, &["panic", "1"], &[]);
    assert!(outputs.iter().all(|output| !output.status.success()), "{outputs:?}");
}

/// Makes two machines, as network namespaces that end with the shell, and runs a rank on each. They have no route but to the
/// networks that they are in, and a bridge of the same address on both.
const TWO_MACHINES: &str = r#"
set -e
mount -t sysfs sysfs /sys
unshare --net --uts sleep 60 & other=$!
trap 'kill $other' EXIT
for _ in $(seq 200); do [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.01; done
there() { nsenter --target "$other" --net --uts "$@"; }
hostname one; there hostname two
ip link add eth0 type veth peer name eth0 netns "$other"
at() { "$@" ip link set lo up; "$@" ip link add br0 type bridge; "$@" ip addr add 172.17.0.1/16 dev br0; "$@" ip link set br0 up; "$@" ip link set eth0 up; }
at env; at there
for address in $1; do ip addr add "${address/N/1}" dev eth0 nodad; there ip addr add "${address/N/2}" dev eth0 nodad; done
shift
RMA_TEST_GATHER=$FOLDER:1:2 there "$@" & last=$!
RMA_TEST_GATHER=$FOLDER:0:2 "$@"
wait $last
"#;

#[test]
fn machines_without_a_default_route_find_each_other() {
    let can = Command::new("unshare").args(["--net", "--uts", "--mount", "ip", "link"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: this machine makes no network namespaces (unshare and ip, as root)");
        return;
    }
    for (addresses, listen) in
        [("10.77.0.N/24", "auto"), ("fd77::N/64", "auto"), ("10.77.0.N/24 10.78.0.N/24", "10.78.0.0/16")]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("timeout");
        command.args(["20", "unshare", "--net", "--uts", "--mount", "bash", "-c", TWO_MACHINES, "bash"]);
        command.args([addresses, WORLD, "window"]);
        command.env("FOLDER", folder.path()).env("RMA_TCP_LISTEN", listen);
        OTHERS.iter().for_each(|name| {
            command.env_remove(name);
        });
        let run = command.output().unwrap();
        let mut lines: Vec<_> = std::str::from_utf8(&run.stdout).unwrap().lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [0, 1].map(|rank| format!("{rank}: 1 direct, some by packets")),
            "{addresses}: {run:?}"
        );
    }
}
