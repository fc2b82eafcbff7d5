//! The same programs under another launcher: Hydra's `mpiexec`, where it is installed.
//!
//! `mpiexec.hydra` in PATH is tried, and what `RMA_TEST_HYDRA` names: paths, separated by colons. Without any, each test
//! says so and passes.

#![allow(missing_docs)]

mod common;

use common::Running;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const WORLD: &str = env!("CARGO_BIN_EXE_rma-test-world");
const RANK: &str = env!("CARGO_BIN_EXE_rma-test-rank");

/// Every Hydra there is.
fn launchers() -> Vec<PathBuf> {
    let split =
        |name: &str| std::env::var_os(name).map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>());
    let in_path = split("PATH").unwrap_or_default().into_iter().map(|folder| folder.join("mpiexec.hydra"));
    let mut found: Vec<_> = in_path.filter(|path| path.is_file()).take(1).collect();
    found.extend(split("RMA_TEST_HYDRA").unwrap_or_default().into_iter().filter(|path| path.is_file()));
    if found.is_empty() {
        println!(
            "skipped: no mpiexec.hydra in PATH (Debian's package mpich has it), and RMA_TEST_HYDRA is not set"
        );
    }
    found
}

/// Runs a job under each launcher and looks at it.
fn each(options: &str, program: &[&str], variables: &[(&str, &str)], look: impl Fn(&common::Run)) {
    for launcher in launchers() {
        let mut command = Command::new(&launcher);
        command.args(options.split_whitespace()).args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The launcher's own settings; ranks must not look like those of a job that this test is part of.
        command.env("HYDRA_LAUNCHER", "fork").envs(variables.iter().copied());
        for name in ["PMI_FD", "PMI_RANK", "PMI_SIZE"] {
            command.env_remove(name);
        }
        println!("{} {options} {program:?}", launcher.display());
        look(&Running::start(command).finish());
    }
}

#[test]
fn worlds_start_and_compute() {
    for size in [1, 2, 5] {
        each(&format!("-n {size}"), &[WORLD, "collectives"], &[], |run| {
            assert_eq!(run.code, Some(0), "{run:?}");
            let expected: Vec<_> = (0..size).map(|rank| format!("{rank} of {size} is done")).collect();
            assert_eq!(run.sorted_lines(), expected, "{run:?}");
        });
    }
}

#[test]
fn ranks_of_a_machine_share_memory() {
    for size in [1, 4] {
        each(&format!("-n {size}"), &[WORLD, "window"], &[], |run| {
            assert_eq!(run.code, Some(0), "{run:?}");
            let direct = format!(": {size} direct, ");
            assert_eq!(
                run.sorted_lines().iter().filter(|line| line.contains(&direct)).count(),
                size,
                "{run:?}"
            );
        });
    }
}

#[test]
fn variables_reach_the_ranks() {
    each("-n 3", &[WORLD, "window"], &[("RMA_CHANNEL", "tcp")], |run| {
        assert_eq!(run.code, Some(0), "{run:?}");
        let expected = [0, 1, 2].map(|rank| format!("{rank}: 1 direct, some by packets"));
        assert_eq!(run.sorted_lines(), expected, "{run:?}");
    });
}

/// Machines that are none, started on this one: the mapping is as it is on a cluster, and ranks of different machines talk
/// over TCP.
#[test]
fn ranks_of_several_machines_find_each_other() {
    for (hosts, size, direct) in [
        ("-hosts one,two -n 2", 2, [1, 1, 0, 0]),
        ("-hosts one:1,two:2 -n 3", 3, [1, 2, 2, 0]),
        ("-hosts one,two -ppn 1 -n 4", 4, [2, 2, 2, 2]),
    ] {
        each(hosts, &[WORLD, "window"], &[], |run| {
            assert_eq!(run.code, Some(0), "{hosts}: {run:?}");
            let expected: Vec<_> =
                (0..size).map(|rank| format!("{rank}: {} direct, some by packets", direct[rank])).collect();
            assert_eq!(run.sorted_lines(), expected, "{hosts}");
        });
    }
}

#[test]
fn a_port_serves_as_well_as_a_descriptor() {
    each("-pmi-port -n 2", &[WORLD, "collectives"], &[], |run| {
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(run.sorted_lines(), ["0 of 2 is done", "1 of 2 is done"], "{run:?}");
    });
}

#[test]
fn an_abort_ends_the_job_with_its_status() {
    each("-n 3", &[WORLD, "abort", "1", "7"], &[], |run| assert_eq!(run.code, Some(7), "{run:?}"));
}

#[test]
fn a_death_ends_the_job() {
    each("-n 3", &[RANK, "kill", "1", "9"], &[], |run| {
        assert_ne!(run.code, Some(0), "{run:?}");
        assert!(run.stdout.len() + run.stderr.len() > 0, "the launcher says nothing");
    });
}

#[test]
fn a_launcher_of_another_protocol_is_told_about() {
    let mut command = Command::new(WORLD);
    command.arg("rank").envs([("OMPI_COMM_WORLD_SIZE", "3"), ("OMPI_COMM_WORLD_RANK", "0")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE"] {
        command.env_remove(name);
    }
    let run = Running::start(command).finish();
    assert_eq!(run.text(), "0 of 1\n", "{run:?}");
    assert!(run.stderr.contains("rma: warning: Open MPI's mpirun has started 3 processes"), "{run:?}");
}
