//! The tables in Markdown: the fastest cell of a row is bold.

use super::super::figures::{Line, TOLERANCE, table};
use super::super::results::{Results, Transport};
use super::words;

/// The file report.md: tables, where we stand, machine, and how to read it.
pub(super) fn page(results: &Results) -> String {
    let mut text = format!("{}. {}.\n\n", results.date, results.machine.describe());
    text += &format!("{}.\n", words::extent(results));
    text += &short(results);
    text += &tables(results);
    for sentence in words::standing(results) {
        text += &format!("{sentence}\n\n");
    }
    for note in words::READING {
        text += &format!("- {note}\n");
    }
    text
}

/// A short table per transport, for a page about other things: ours, the best other library, the limit.
fn short(results: &Results) -> String {
    let mut text = String::new();
    for transport in Transport::ALL {
        let lines = table(results, transport);
        if !lines.iter().any(|line| line.ours.is_some()) {
            continue;
        }
        text.push('\n');
        text += &row(&[transport.title(), "rma", "best other library", "limit"].map(str::to_owned));
        text += &row(&["---"; 4].map(str::to_owned));
        for line in &lines {
            let value =
                |index: Option<usize>| index.map(|index| (index, words::cell(line, &line.cells[index]).0));
            let ours = value(line.ours).map(|(_, value)| value).unwrap_or_default();
            let peer = value(line.best_peer)
                .map(|(index, value)| format!("{value} ({})", line.cells[index].column.name))
                .unwrap_or_default();
            text += &row(&[line.row.title.to_owned(), ours, peer, words::limit(line)]);
        }
    }
    text
}

/// A table per transport, each under its heading.
pub(super) fn tables(results: &Results) -> String {
    let mut text = String::new();
    for transport in Transport::ALL {
        let lines = table(results, transport);
        if !lines.is_empty() {
            text += &format!("\n### {}\n\n{}\n", transport.title(), one(results, transport, &lines));
        }
    }
    text
}

fn one(results: &Results, transport: Transport, lines: &[Line<'_>]) -> String {
    let mut headings = vec![String::new()];
    headings.extend(results.columns_of(transport).map(|column| column.name.clone()));
    let is_ours_there = results.columns_of(transport).any(|column| column.is_ours);
    headings.push("limit".to_owned());
    if is_ours_there {
        headings.extend(["ours / best other", "ours / limit", "budget"].map(str::to_owned));
    }
    let mut text = row(&headings);
    text += &row(&vec!["---".to_owned(); headings.len()]);
    for line in lines {
        let mut fields = vec![line.row.title.to_owned()];
        fields.extend(line.cells.iter().map(|cell| {
            let (value, _) = words::cell(line, cell);
            match line.behind(cell) {
                _ if cell.is_local => format!("{value} (local)"),
                Some(behind) if behind <= TOLERANCE => format!("**{value}**"),
                _ => value,
            }
        }));
        fields.push(words::limit(line));
        if is_ours_there {
            fields.extend([words::ratio(line.to_peer), words::ratio(line.to_limit), words::verdict(line)]);
        }
        text += &row(&fields);
    }
    text
}

fn row(fields: &[String]) -> String {
    format!("| {} |\n", fields.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::tests::{measurement, results};
    use crate::bench::results::RAW;

    #[test]
    fn a_table_has_ratios_only_when_we_are_in_it() {
        let theirs = vec![measurement("a", "put", 8, 20.0), measurement(RAW, "raw-memcpy", 8, 5.0)];
        let text = tables(&results(Transport::Shm, &["a"], theirs.clone()));
        let expected = "| put 8 B + flush | **20.0 ns** | 5.00 ns |\n";
        assert!(
            text.contains("|  | A | limit |\n| --- | --- | --- |\n") && text.contains(expected),
            "{text}"
        );

        let mut all = theirs;
        all.push(measurement("ours", "put", 8, 30.0));
        let text = tables(&results(Transport::Shm, &["ours", "a"], all));
        let expected =
            "| put 8 B + flush | 30.0 ns | **20.0 ns** | 5.00 ns | 1.50 × | 6.00 × | 0.50 × best: missed |\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_short_table_names_the_best_other_library() {
        let all = vec![
            measurement("ours", "put", 8, 30.0),
            measurement("a", "put", 8, 20.0),
            measurement("b", "put", 8, 40.0),
        ];
        let text = short(&results(Transport::Shm, &["ours", "a", "b"], all));
        assert!(text.contains("| put 8 B + flush | 30.0 ns | 20.0 ns (A) |  |\n"), "{text}");
    }
}
