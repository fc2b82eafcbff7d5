//! The same programs under launchers that speak PMIx: Open MPI's `mpirun`, where it is installed.
//!
//! `mpirun.openmpi` in PATH is tried, and what `RMA_TEST_OPENMPI` names: paths, separated by colons. Without any, each test says so
//! and passes.

#![allow(missing_docs)]

mod common;

use common::Running;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const WORLD: &str = env!("CARGO_BIN_EXE_rma-test-world");

/// Every launcher there is.
fn launchers() -> Vec<PathBuf> {
    let split =
        |name: &str| std::env::var_os(name).map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>());
    let in_path = split("PATH").unwrap_or_default().into_iter().map(|folder| folder.join("mpirun.openmpi"));
    let mut found: Vec<_> = in_path.filter(|path| path.is_file()).take(1).collect();
    found.extend(split("RMA_TEST_OPENMPI").unwrap_or_default().into_iter().filter(|path| path.is_file()));
    if found.is_empty() {
        println!(
            "skipped: no mpirun.openmpi in PATH (Debian's package openmpi-bin has it), and RMA_TEST_OPENMPI is not set"
        );
    }
    found
}

/// Runs a job of `size` ranks under each launcher and looks at it.
fn each(size: usize, program: &[&str], variables: &[(&str, &str)], look: impl Fn(&common::Run)) {
    for launcher in launchers() {
        let mut command = Command::new(&launcher);
        command.args(["-n", &size.to_string()]).args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The launcher's own settings, of version 4 and of version 5: more ranks than cores, also as root, started here.
        for (name, value) in [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ] {
            command.env(name, value);
        }
        command.envs(variables.iter().copied());
        // Ranks must not look like those of a job that this test is part of.
        for name in ["PMI_FD", "PMI_RANK", "PMI_SIZE"] {
            command.env_remove(name);
        }
        println!("{} -n {size} {program:?}", launcher.display());
        look(&Running::start(command).finish());
    }
}

#[test]
fn worlds_start_and_compute() {
    for size in [1, 4] {
        each(size, &[WORLD, "collectives"], &[], |run| {
            assert_eq!(run.code, Some(0), "{run:?}");
            let expected: Vec<_> = (0..size).map(|rank| format!("{rank} of {size} is done")).collect();
            assert_eq!(run.sorted_lines(), expected, "{run:?}");
            assert_eq!(run.stderr, "", "{run:?}");
        });
    }
}

#[test]
fn ranks_of_a_machine_share_memory() {
    each(3, &[WORLD, "window"], &[], |run| {
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.sorted_lines().iter().all(|line| line.contains(": 3 direct, ")), "{run:?}");
    });
    each(3, &[WORLD, "window"], &[("RMA_CHANNEL", "tcp"), ("RMA_STATS", "1")], |run| {
        assert_eq!(run.code, Some(0), "{run:?}");
        let expected = [0, 1, 2].map(|rank| format!("{rank}: 1 direct, some by packets"));
        assert_eq!(run.sorted_lines(), expected, "{run:?}");
        assert!(run.stderr.contains("summary of 3 of 3 ranks"), "{run:?}");
    });
}

#[test]
fn an_abort_ends_the_job_with_its_status() {
    each(3, &[WORLD, "abort", "1", "7"], &[], |run| assert_eq!(run.code, Some(7), "{run:?}"));
}

#[test]
fn a_death_ends_the_job() {
    each(3, &[WORLD, "kill", "1"], &[], |run| assert_ne!(run.code, Some(0), "{run:?}"));
}

#[test]
fn a_missing_library_is_a_line_with_the_packages_name() {
    let mut command = Command::new(WORLD);
    command.arg("rank").envs([("PMIX_RANK", "0"), ("PMIX_NAMESPACE", "a"), ("RMA_PMIX_LIB", "/nowhere.so")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE"] {
        command.env_remove(name);
    }
    let run = Running::start(command).finish();
    assert_ne!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("libpmix2") && run.stderr.contains("RMA_PMIX_LIB"), "{run:?}");
}
