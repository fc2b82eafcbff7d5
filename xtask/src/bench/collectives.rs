//! `cargo xtask bench collectives`: small collectives of 2 to 8 ranks on every path of this library, by time and by what they
//! are made of.

use super::ours::{self, Line, PATHS};
use crate::Outcome;
use crate::workspace::Workspace;
use std::process::ExitCode;

const RANKS: [u32; 4] = [2, 3, 4, 8];

/// One collective of one job.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    nanoseconds: f64,
    /// Packets, sleeps and yields of all ranks together, for one.
    counts: [f64; 3],
}

pub(crate) fn run(workspace: &Workspace) -> Outcome {
    if !ours::build(workspace)? {
        return Ok(ExitCode::FAILURE);
    }
    for path in PATHS {
        let mut jobs = Vec::new();
        for ranks in RANKS {
            let lines = ours::measure(workspace, "collectives", ranks, path)?;
            jobs.push(lines.into_iter().map(row).collect::<Result<Vec<_>, _>>()?);
        }
        println!("{}", table(path.0, &jobs));
    }
    Ok(ExitCode::SUCCESS)
}

fn row((name, numbers): Line) -> Result<Row, String> {
    let [nanoseconds, packets, sleeps, turns] = numbers[..] else {
        return Err(format!("{} numbers of {name} instead of 4", numbers.len()));
    };
    Ok(Row { name, nanoseconds, counts: [packets, sleeps, turns] })
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
        let barrier = |numbers: &[f64]| row(("barrier".to_owned(), numbers.to_vec()));
        let two = vec![barrier(&[1000.0, 2.0, 0.0, 0.25]).unwrap()];
        let eight = vec![barrier(&[4500.0, 24.0, 1.5, 20.0]).unwrap()];
        let text = table("tcp", &[two, eight]);
        let row = "| barrier | 1.0 µs (1.0 ×): 2 / 0.0 / 0.2 | 4.5 µs (4.5 ×): 24 / 1.5 / 20.0 |";
        assert_eq!(text.lines().nth(2), Some(row), "{text}");
        assert!(barrier(&[1.0, 2.0, 3.0]).is_err() && barrier(&[1.0; 5]).is_err());
    }
}
