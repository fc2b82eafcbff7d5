//! `cargo xtask bench paths`: calls between two ranks on every path of this library, beside raw limits, in one table.

use crate::Outcome;
use crate::workspace::Workspace;
use std::process::{Command, ExitCode, Stdio};

/// The ways to another rank: heading, and the variables that choose it.
const PATHS: [(&str, &[(&str, &str)]); 3] = [
    ("direct", &[]),
    ("shm packets", &[("RMA_CHANNEL", "shm")]),
    ("tcp over loopback", &[("RMA_CHANNEL", "tcp")]),
];

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    for package in ["rma", "rma-bench"] {
        let mut build = workspace.cargo("build");
        let status = build.args(["--release", "--bins", "--package", package]).status();
        if !status.map_err(|error| format!("cargo build could not be started: {error}"))?.success() {
            return Ok(ExitCode::FAILURE);
        }
    }
    let directory = workspace.target().join("release");
    let mut columns = Vec::new();
    for (heading, variables) in PATHS {
        let mut launch = Command::new(directory.join("rmarun"));
        launch.args(["-n", "2"]).arg(directory.join("paths")).stderr(Stdio::inherit());
        let output = launch.envs(variables.iter().copied()).output();
        let output = output.map_err(|error| format!("rmarun could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("the measurement of {heading} failed: {}", output.status));
        }
        columns.push((heading, parse(&String::from_utf8_lossy(&output.stdout))?));
    }
    print!("{}", table(&columns));
    Ok(ExitCode::SUCCESS)
}

/// Name and median in nanoseconds, line by line.
fn parse(output: &str) -> Result<Vec<(String, f64)>, String> {
    let row = |line: &str| {
        let mut fields = line.split('\t');
        Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
    };
    output
        .lines()
        .map(|line| row(line).ok_or_else(|| format!("a line that is no measurement: {line}")))
        .collect()
}

/// The columns as a Markdown table.
fn table(columns: &[(&str, Vec<(String, f64)>)]) -> String {
    let mut text = "| |".to_owned();
    columns.iter().for_each(|(heading, _)| text += &format!(" {heading} |"));
    text += "\n| --- |";
    columns.iter().for_each(|_| text += " --- |");
    let rows = columns.first().map_or(&[][..], |(_, rows)| rows);
    for (name, _) in rows {
        text += &format!("\n| {name} |");
        for (_, rows) in columns {
            let time = rows.iter().find(|(other, _)| other == name).map(|(_, time)| show(name, *time));
            text += &format!(" {} |", time.unwrap_or_default());
        }
    }
    text + "\n"
}

/// A time, or for large transfers a bandwidth.
fn show(name: &str, nanoseconds: f64) -> String {
    match nanoseconds {
        _ if name.contains("4 MiB") => format!("{:.1} GB/s", f64::from(4 << 20) / nanoseconds),
        ns if ns < 1000.0 => format!("{ns:.0} ns"),
        ns => format!("{:.1} µs", ns / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_become_a_table() {
        let rows = parse("put\t12.34\t1\t2\nput 4 MiB\t1000000\t1\t2\n").unwrap();
        let table = table(&[("direct", rows.clone()), ("tcp", vec![("put".to_owned(), 5500.0)])]);
        assert_eq!(
            table,
            "| | direct | tcp |\n| --- | --- | --- |\n| put | 12 ns | 5.5 µs |\n| put 4 MiB | 4.2 GB/s |  |\n"
        );
        assert!(parse("no measurement").is_err());
    }
}
