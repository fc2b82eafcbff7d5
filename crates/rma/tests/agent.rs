//! The thread that serves other ranks while the program computes.

#![allow(missing_docs)]

mod common;

use common::{Running, rmarun};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rma-test-sight");

fn run(ranks: &str, action: &str, variables: &[(&str, &str)]) -> common::Run {
    let mut command = rmarun(["-n", ranks, PROGRAM, action]);
    command.env("RMA_AGENT", "1").envs(variables.iter().copied());
    let run = Running::start(command).finish();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{action} {variables:?}: {run:?}");
    run
}

/// The target looks at its own memory only, so without the agent this does not end.
#[test]
fn a_put_completes_while_its_target_computes() {
    for channel in ["shm", "tcp"] {
        for spin in ["0", "30"] {
            let run = run("2", "compute", &[("RMA_CHANNEL", channel), ("RMA_SPIN", spin)]);
            println!("{channel}: longest put in \u{b5}s: {:?}", run.text().lines().collect::<Vec<_>>());
            assert_eq!(run.text().lines().count(), 2);
        }
    }
}

#[test]
fn an_agent_that_has_nothing_to_do_uses_no_cpu() {
    for channel in ["auto", "tcp"] {
        let run = run("2", "active", &[("RMA_CHANNEL", channel)]);
        for line in run.text().lines() {
            let millis: u64 = line.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(millis < 20, "more than one percent of two seconds: {}", run.text());
        }
    }
}

/// Everything that others test without it.
#[test]
fn programs_do_what_they_do_without_it() {
    for variables in [&[][..], &[("RMA_CHANNEL", "shm")], &[("RMA_CHANNEL", "tcp")], &[("RMA_DIRECT", "0")]] {
        for tick in ["50", "400"] {
            let variables = [variables, &[("RMA_AGENT_TICK", tick)]].concat();
            run("3", "traffic", &variables);
            let mut command = rmarun(["-n", "4", env!("CARGO_BIN_EXE_rma-test-world"), "messages"]);
            command.env("RMA_AGENT", "1").envs(variables.iter().copied());
            let run = Running::start(command).finish();
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{variables:?}");
        }
    }
}
