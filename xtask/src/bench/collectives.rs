//! `cargo xtask bench collectives`: small collectives of 2 to 8 ranks on every path of this library, by time and by what they
//! are made of.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode, Stdio};

/// The ways to another rank: heading, and the variables that choose it.
const PATHS: [(&str, &[(&str, &str)]); 3] =
    [("default", &[]), ("packets", &[("RMA_CHANNEL", "shm")]), ("tcp", &[("RMA_CHANNEL", "tcp")])];

const RANKS: [u32; 4] = [2, 3, 4, 8];

/// One collective of one job.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    nanoseconds: f64,
    /// Packets, sleeps and turns given away of all ranks together, for one.
    counts: [f64; 3],
}

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    for package in ["rma", "rma-bench"] {
        let mut build = workspace.cargo("build");
        let status = build.args(["--release", "--bins", "--package", package]).status();
        if !status.map_err(|error| format!("cargo build could not be started: {error}"))?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    let directory = workspace.target().join("release");
    for (heading, variables) in PATHS {
        let mut jobs = Vec::new();
        for ranks in RANKS {
            let mut launch = Command::new(directory.join("rmarun"));
            launch.args(["-n", &ranks.to_string()]).arg(directory.join("collectives"));
            let output = launch.envs(variables.iter().copied()).stderr(Stdio::inherit()).output();
            let output = output.map_err(|error| format!("rmarun could not be started: {error}"))?;
            if !output.status.success() {
                return Err(format!("{heading}, {ranks} ranks: {}", output.status));
            }
            jobs.push(parse(&String::from_utf8_lossy(&output.stdout))?);
        }
        println!("{}", table(heading, &jobs));
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(output: &str) -> Result<Vec<Row>, String> {
    let row = |line: &str| {
        let (name, numbers) = line.split_once('\t')?;
        let numbers: Vec<f64> = numbers.split('\t').map_while(|number| number.parse().ok()).collect();
        let [nanoseconds, packets, sleeps, turns] = numbers[..] else { return None };
        Some(Row { name: name.to_owned(), nanoseconds, counts: [packets, sleeps, turns] })
    };
    output
        .lines()
        .map(|line| row(line).ok_or_else(|| format!("a line that is no measurement: {line}")))
        .collect()
}

/// A row for each collective, a column for each number of ranks: times, then packets / sleeps / turns.
fn table(heading: &str, jobs: &[Vec<Row>]) -> String {
    let mut text = format!("| {heading} |");
    RANKS.iter().for_each(|ranks| text += &format!(" {ranks} ranks |"));
    text += "\n| --- |";
    RANKS.iter().for_each(|_| text += " --- |");
    for (at, first) in jobs.first().map_or(&[][..], |rows| rows).iter().enumerate() {
        text += &format!("\n| {} |", first.name);
        for row in jobs.iter().filter_map(|rows| rows.get(at)) {
            let [packets, sleeps, turns] = row.counts;
            let ratio = row.nanoseconds / first.nanoseconds;
            let micros = row.nanoseconds / 1000.0;
            text += &format!(" {micros:.1} µs ({ratio:.1} ×): {packets:.0} / {sleeps:.1} / {turns:.1} |");
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_become_a_table() {
        let two = parse("barrier\t1000\t2.00\t0.00\t0.25\n").unwrap();
        let eight = parse("barrier\t4500\t24\t1.5\t20\n").unwrap();
        let text = table("tcp", &[two, eight]);
        let row = "| barrier | 1.0 µs (1.0 ×): 2 / 0.0 / 0.2 | 4.5 µs (4.5 ×): 24 / 1.5 / 20.0 |";
        assert_eq!(text.lines().nth(2), Some(row), "{text}");
        for line in ["barrier", "barrier\t1\t2\t3", "barrier\t1\t2\t3\tmany"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
