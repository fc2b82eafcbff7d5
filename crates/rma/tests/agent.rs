//! The thread that serves other ranks while the program computes.

#![allow(missing_docs)]

mod common;

use common::paths::messages;
use common::{Running, rmarun};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One job at a time: what a process uses depends on what else wants the cores.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs that may use more, because of what else the machine does: what is ours is there each time.
const ATTEMPTS: usize = 5;

const PROGRAM: &str = env!("CARGO_BIN_EXE_rma-test-observed");

fn run(ranks: &str, action: &str, variables: &[(&str, &str)]) -> common::Run {
    let mut command = rmarun(["-n", ranks, PROGRAM, action]);
    command.envs(variables.iter().copied());
    let run = Running::start(command).finish();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{action} {variables:?}: {run:?}");
    run
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The target looks at its own memory only, so without the agent this does not end.
#[test]
fn a_put_completes_while_its_target_computes() {
    let _alone = alone();
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
    let _alone = alone();
    for channel in ["auto", "tcp"] {
        let most = || {
            let run = run("2", "active", &[("RMA_CHANNEL", channel)]);
            let text = run.text();
            text.lines().map(|line| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()).max().unwrap()
        };
        let mut used = Vec::new();
        while used.last().is_none_or(|millis| *millis >= 20) {
            assert!(used.len() < ATTEMPTS, "{channel}: more than one percent of two seconds: {used:?} ms");
            used.push(most());
        }
    }
}

/// Everything that others test with the usual tick.
#[test]
fn programs_do_the_same_with_a_hasty_agent_and_without_one() {
    let _alone = alone();
    for variables in [&[][..], &[("RMA_CHANNEL", "shm")], &[("RMA_CHANNEL", "tcp")], &[("RMA_DIRECT", "0")]] {
        for agent in [("RMA_AGENT_TICK", "50"), ("RMA_AGENT", "0")] {
            let variables = [variables, &[agent]].concat();
            run("3", "traffic", &variables);
            let action = messages(&variables).split(' ');
            let mut command =
                rmarun(["-n", "4", env!("CARGO_BIN_EXE_rma-test-world")].into_iter().chain(action));
            command.envs(variables.iter().copied());
            let run = Running::start(command).finish();
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{variables:?}");
        }
    }
}
