//! The same programs under launchers that speak PMIx: Open MPI's `mpirun`, where it is installed.
//!
//! `mpirun.openmpi` in PATH is tried, and what `RMA_TEST_OPENMPI` names: paths, separated by colons. Without any, each test says so
//! and passes. A library of PMIx that is compiled here stands in for theirs where only the ranks' side is looked at.

#![allow(missing_docs)]

mod common;

use common::Running;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

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

/// Runs a job of three ranks on the library that stands in; what became of each. Nothing where there is no C compiler.
fn stub(program: &[&str], variables: &[(&str, &str)]) -> Vec<Output> {
    const SIZE: usize = 3;
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libpmix.so.2");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/pmix.c");
    let compiler = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    let Ok(status) = compiler else {
        println!("skipped: no C compiler (cc in PATH)");
        return Vec::new();
    };
    assert!(status.success());
    let start = |rank: usize| {
        let mut command = Command::new("timeout");
        command.args(["20", WORLD]).args(program).envs(variables.iter().copied());
        command.env("PMIX_RANK", rank.to_string()).env("PMIX_NAMESPACE", folder.path().file_name().unwrap());
        command.env("RMA_TEST_PMIX", folder.path()).env("RMA_TEST_PMIX_SIZE", SIZE.to_string());
        command.env("RMA_PMIX_LIB", &library);
        for name in ["PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ranks: Vec<Child> = (0..SIZE).map(start).collect();
    ranks.into_iter().map(|rank| rank.wait_with_output().unwrap()).collect()
}

/// No key is asked for that was not put: the library that stands in ends a rank that does so.
#[test]
fn a_library_of_pmix_is_enough_to_start() {
    for (variables, direct) in [
        (&[][..], "3 direct, "),
        (&[("RMA_CHANNEL", "tcp"), ("RMA_STATS", "1")][..], "1 direct, some by packets"),
    ] {
        let ranks = stub(&["window"], variables);
        for (rank, output) in ranks.iter().enumerate() {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.starts_with(&format!("{rank}: {direct}")), "{ranks:?}");
            assert!(said.ends_with("finalized\n"), "{ranks:?}");
        }
        let counted = ranks.first().is_none_or(|rank| {
            variables.is_empty() || String::from_utf8_lossy(&rank.stderr).contains("summary of 3 of 3 ranks")
        });
        assert!(counted, "{ranks:?}");
    }
}

/// All ranks live, so that they know of a death only by the event.
#[test]
fn deaths_that_pmix_tells_end_waits() {
    for output in stub(&["rounds"], &[("RMA_TEST_PMIX_DEATH", "1")]) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("is lost") && said.contains("ends the job with status 1"), "{output:?}");
        assert!(!output.status.success(), "{output:?}");
    }
}
