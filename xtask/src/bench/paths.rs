//! `cargo xtask bench paths`: calls between two ranks on every path of this library, beside raw limits, in one table.

use super::ours::{self, Line, PATHS};
use crate::Outcome;
use crate::workspace::Workspace;
use std::process::ExitCode;

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !ours::build(workspace)? {
        return Ok(ExitCode::FAILURE);
    }
    let mut columns = Vec::new();
    for path in PATHS {
        let lines = ours::measure(workspace, "paths", 2, path)?;
        columns.push((path.0, lines.into_iter().map(median).collect::<Result<Vec<_>, _>>()?));
    }
    print!("{}", table(&columns));
    Ok(ExitCode::SUCCESS)
}

/// Name and median in nanoseconds.
fn median((name, numbers): Line) -> Result<(String, f64), String> {
    let median = numbers.first().ok_or_else(|| format!("no time of {name}"))?;
    Ok((name, *median))
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
        let line = |name: &str, time| median((name.to_owned(), vec![time, 1.0, 2.0])).unwrap();
        let rows = vec![line("put", 12.34), line("put 4 MiB", 1e6)];
        let table = table(&[("direct", rows.clone()), ("tcp", vec![("put".to_owned(), 5500.0)])]);
        assert_eq!(
            table,
            "| | direct | tcp |\n| --- | --- | --- |\n| put | 12 ns | 5.5 µs |\n| put 4 MiB | 4.2 GB/s |  |\n"
        );
        assert!(median(("put".to_owned(), Vec::new())).is_err());
    }
}
