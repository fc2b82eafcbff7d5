//! Measurements of this library alone: a program of `rma-bench` that prints lines of numbers, run by our launcher on each path.

use crate::workspace::Workspace;
use std::process::{Command, Stdio};

/// The ways to another rank: heading, and the variables that choose it.
pub(super) const PATHS: [Path; 3] = [
    ("direct", &[]),
    ("shm packets", &[("RMA_CHANNEL", "shm")]),
    ("tcp over loopback", &[("RMA_CHANNEL", "tcp")]),
];

pub(super) type Path = (&'static str, &'static [(&'static str, &'static str)]);

/// What a line says: a name, and numbers.
pub(super) type Line = (String, Vec<f64>);

/// Builds launcher and programs; `false` when the compiler has said why not.
pub(super) fn build(workspace: &Workspace) -> Result<bool, String> {
    let mut programs = workspace.cargo("build");
    programs.args(["--bins", "--package", "rma-bench"]);
    for mut build in [workspace.build_launcher(), programs] {
        let status = build.arg("--release").status();
        if !status.map_err(|error| format!("cargo build could not be started: {error}"))?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the program prints with so many ranks on a path.
pub(super) fn measure(
    workspace: &Workspace,
    program: &str,
    ranks: u32,
    (heading, variables): Path,
) -> Result<Vec<Line>, String> {
    let directory = workspace.target().join("release");
    let mut launch = Command::new(directory.join("rmarun"));
    launch.args(["-n", &ranks.to_string()]).arg(directory.join(program)).stderr(Stdio::inherit());
    let output = launch.envs(variables.iter().copied()).output();
    let output = output.map_err(|error| format!("rmarun could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("the measurement of {heading} with {ranks} ranks failed: {}", output.status));
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(output: &str) -> Result<Vec<Line>, String> {
    let line = |line: &str| {
        let (name, numbers) = line.split_once('\t')?;
        let numbers = numbers.split('\t').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        Some((name.to_owned(), numbers))
    };
    output
        .lines()
        .map(|text| line(text).ok_or_else(|| format!("a line that is no measurement: {text}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lines_are_a_name_and_numbers() {
        assert_eq!(
            parse("put\t12.5\t1\nget\t3\n").unwrap(),
            [("put".to_owned(), vec![12.5, 1.0]), ("get".to_owned(), vec![3.0])]
        );
        for text in ["put", "put\t", "put\t1\tmany"] {
            assert!(parse(text).unwrap_err().contains(text), "{text}");
        }
    }
}
