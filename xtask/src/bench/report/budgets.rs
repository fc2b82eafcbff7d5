//! The budgets, what we reach, and what limits us where we miss them: a section in Markdown for a page about other things.

use super::super::figures::{Line, table};
use super::super::reasons::reason;
use super::super::results::{Results, Transport};
use super::words;

/// What stands around the section in the page that has it.
const BEGIN: &str = "<!-- written by cargo xtask bench --docs: begin -->";
const END: &str = "<!-- written by cargo xtask bench --docs: end -->";
/// The two, for code that counts or skips the section.
pub(crate) const MARKS: (&str, &str) = (BEGIN, END);

/// The section: how it was measured, a table per transport, and a sentence for each budget that is missed.
pub(super) fn section(results: &Results) -> String {
    let mut text = format!("{}. {}. {}.\n", results.date, results.machine.describe(), words::extent(results));
    for transport in Transport::ALL {
        let lines: Vec<Line<'_>> = table(results, transport);
        let mut ours = lines.iter().filter(|line| line.ours.is_some()).peekable();
        if ours.peek().is_none() {
            continue;
        }
        text += &format!(
            "\n| {} | rma | best other library | ratio | limit | ratio | budget |\n|{}\n",
            transport.title(),
            " --- |".repeat(7)
        );
        ours.for_each(|line| text += &row(line));
        let missed = |line: &&Line<'_>| line.verdict.is_some_and(|verdict| verdict.is_met == Some(false));
        let mut missed = lines.iter().filter(missed).peekable();
        if missed.peek().is_some() {
            text += &format!(
                "\nMissed, {}, and what limits it:\n\n",
                transport.title().to_lowercase().replace("tcp", "TCP")
            );
        }
        for line in missed {
            text += &format!("- {}: {}.\n", line.row.title, reason(transport, line.row.case));
        }
    }
    text
}

fn row(line: &Line<'_>) -> String {
    let value = |index: Option<usize>| index.map(|index| words::cell(line, &line.cells[index]).0);
    let peer = value(line.best_peer)
        .zip(line.best_peer)
        .map(|(value, index)| format!("{value} ({})", line.cells[index].column.name))
        .unwrap_or_default();
    let fields = [
        line.row.title.to_owned(),
        value(line.ours).unwrap_or_default(),
        peer,
        words::ratio(line.to_peer),
        words::limit(line),
        words::ratio(line.to_limit),
        words::verdict(line),
    ];
    format!("| {} |\n", fields.join(" | "))
}

/// A page with the section between its marks replaced.
pub(super) fn replace(page: &str, results: &Results) -> Result<String, String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("there is no {BEGIN} with an end"))?;
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", section(results)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::tests::{measurement, results};

    fn measured() -> Results {
        let all = vec![
            measurement("ours", "put", 8, 30.0),
            measurement("a", "put", 8, 20.0),
            measurement("ours", "fence", 8, 10.0),
            measurement("a", "fence", 8, 30.0),
            measurement("a", "pscw", 8, 30.0),
        ];
        results(Transport::Shm, &["ours", "a"], all)
    }

    #[test]
    fn a_missed_budget_has_a_sentence_and_a_kept_one_none() {
        let text = section(&measured());
        let row = "| put 8 B + flush | 30.0 ns | 20.0 ns (A) | 1.50 × |  |  | 0.50 × best: missed |\n";
        assert!(text.contains(row), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), 1, "{text}");
        assert!(text.contains("- put 8 B + flush: ") && !text.contains("post/start"), "{text}");
    }

    #[test]
    fn the_section_of_a_page_is_replaced_and_the_rest_stays() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let text = replace(&page, &measured()).unwrap();
        assert!(
            text.starts_with(&format!("before\n{BEGIN}\nnow. "))
                && text.ends_with(&format!("{END}\nafter\n"))
        );
        assert!(!text.contains("old"));
        assert!(replace("no marks", &measured()).unwrap_err().contains("there is no"));
    }
}
