//! The page: tables coloured by the distance to the best, plots, and everything that a reader must know of
//! the run.

use super::super::figures::{Cell, Line, table};
use super::super::results::{Results, Transport};
use super::{plots, words};

/// Up to which ratio to the best a cell has which class.
const CLASSES: [(f64, &str); 4] = [(1.05, "best"), (1.3, "near"), (2.0, "behind"), (5.0, "far")];
const LAST_CLASS: &str = "last";

const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 1240px; margin: 2em auto; padding: 0 1.5em; }
h1 { font-size: 1.6em; margin-bottom: 0.2em; } h2 { font-size: 1.25em; margin-top: 2em; }
.facts { color: #555; } .standing { background: #f6f6f2; border-left: 4px solid #d55e00; padding: 0.5em 1em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.86em; } th, td { padding: 0.3em 0.6em; border: 1px solid #ddd; }
th { background: #f2f2f2; text-align: left; font-weight: 600; vertical-align: bottom; }
td, th.row { vertical-align: middle; } th.row { white-space: nowrap; font-weight: 500; }
td.figure { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td small { display: block; color: #666; font-size: 0.8em; white-space: normal; }
th.ours, td.ours { border-left: 2px solid #d55e00; border-right: 2px solid #d55e00; }
.best { background: #b7e4c7; } .near { background: #e3f4e5; } .behind { background: #fff3cd; }
.far { background: #ffdfc2; } .last { background: #f8c9c4; } .none { color: #999; } .broken { color: #a00; }
.local { background: repeating-linear-gradient(45deg, #eee, #eee 6px, #fafafa 6px, #fafafa 12px); }
.met { color: #176b36; } .missed { color: #a00; font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(480px, 1fr)); gap: 0.5em; }
.plots svg { width: 100%; height: auto; }
.legend span { display: inline-block; margin-right: 1.4em; } .legend i { display: inline-block; width: 1em; height: 0.7em; margin-right: 0.4em; }
.key span { padding: 0.1em 0.6em; margin-right: 0.5em; border: 1px solid #ddd; }
code { font-size: 0.92em; } li { margin: 0.2em 0; }
";

/// The whole page.
pub(super) fn page(results: &Results) -> Result<String, String> {
    let mut body = String::from("<h1>One-sided communication, library by library</h1>\n");
    body += &format!(
        "<p class=facts>{}. {}. {}.</p>\n",
        escape(&results.date),
        escape(&results.machine.describe()),
        words::extent(results)
    );
    if results.machine.was_busy() {
        body += "<p class=broken>The machine was busy with something else when the run began: read only large ratios.</p>\n";
    }
    body += "<div class=standing>\n";
    words::standing(results).iter().for_each(|sentence| body += &format!("<p>{}</p>\n", escape(sentence)));
    body += "</div>\n";
    body += KEY;
    for transport in Transport::ALL {
        body += &section(results, transport)?;
    }
    body += &settings(results);
    body += &failures(results);
    body += "<h2>How to read this</h2>\n<ul>\n";
    words::READING.iter().for_each(|note| body += &format!("<li>{}</li>\n", escape(note)));
    body += "</ul>\n";
    Ok(format!(
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<title>rma benchmarks</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    ))
}

const KEY: &str = "<p class=key>Colours, by time over the row's best: <span class=best>up to 1.05</span>\
<span class=near>1.3</span><span class=behind>2</span><span class=far>5</span><span class=last>more</span>\
<span class=local>local: back before the target can have answered</span></p>\n";

fn section(results: &Results, transport: Transport) -> Result<String, String> {
    let lines = table(results, transport);
    if lines.is_empty() {
        return Ok(String::new());
    }
    let mut text = format!("<h2>{}</h2>\n<div class=scroll>\n<table>\n", transport.title());
    text += &head(results, transport);
    lines.iter().for_each(|line| text += &row(line));
    text += "</table>\n</div>\n";
    let plots = plots::plots(results, transport)?;
    if !plots.is_empty() {
        text += "<p class=legend>";
        for (colour, name) in plots::legend(results, transport) {
            text += &format!("<span><i style=\"background: {colour}\"></i>{}</span>", escape(&name));
        }
        text += "</p>\n<div class=plots>\n";
        plots.iter().for_each(|plot| text += &format!("<div>{plot}</div>\n"));
        text += "</div>\n";
    }
    Ok(text)
}

fn head(results: &Results, transport: Transport) -> String {
    let mut text = String::from("<tr><th></th>");
    for column in results.columns_of(transport) {
        let class = if column.is_ours { " class=ours" } else { "" };
        text += &format!("<th{class}>{}</th>", escape(&column.name));
    }
    text += "<th>limit</th>";
    if is_ours_there(results, transport) {
        text += "<th>ours / best other</th><th>ours / limit</th><th>budget</th>";
    }
    text + "</tr>\n"
}

fn is_ours_there(results: &Results, transport: Transport) -> bool {
    results.columns_of(transport).any(|column| column.is_ours)
}

fn row(line: &Line<'_>) -> String {
    let mut text = format!("<tr><th class=row>{}</th>", escape(line.row.title));
    for cell in &line.cells {
        let (value, reach) = words::cell(line, cell);
        let reach = match (cell.is_local, reach.is_empty()) {
            (true, true) => "local".to_owned(),
            (true, false) => format!("local; {reach}"),
            (false, _) => reach,
        };
        let small =
            if reach.is_empty() { String::new() } else { format!("<small>{}</small>", escape(&reach)) };
        let title = cell.failure.map(|f| format!(" title=\"{}\"", escape(&f.text))).unwrap_or_default();
        let class = class(line, cell);
        text += &format!("<td class=\"figure {class}\"{title}>{}{small}</td>", escape(&value));
    }
    text += &format!("<td class=figure>{}</td>", escape(&words::limit(line)));
    if line.cells.iter().any(|cell| cell.column.is_ours) {
        let verdict = match line.verdict.and_then(|verdict| verdict.is_met) {
            Some(true) => "met",
            Some(false) => "missed",
            None => "none",
        };
        for ratio in [line.to_peer, line.to_limit] {
            text += &format!("<td class=figure>{}</td>", escape(&words::ratio(ratio)));
        }
        text += &format!("<td class={verdict}>{}</td>", escape(&words::verdict(line)));
    }
    text + "</tr>\n"
}

fn class(line: &Line<'_>, cell: &Cell<'_>) -> String {
    let colour = match line.behind(cell) {
        Some(behind) => {
            CLASSES.iter().find(|(most, _)| behind <= *most).map_or(LAST_CLASS, |(_, class)| class)
        }
        None if cell.is_local => "local",
        None if cell.failure.is_some() => "broken",
        None => "none",
    };
    format!("{colour}{}", if cell.column.is_ours { " ours" } else { "" })
}

/// What was compared, and the settings that choose each one's transport.
fn settings(results: &Results) -> String {
    let mut text = String::from(
        "<h2>Libraries and settings</h2>\n<div class=scroll>\n<table>\n\
         <tr><th>column</th><th>transport</th><th>says of itself</th><th>compiler</th><th>launcher</th><th>environment</th></tr>\n",
    );
    for column in &results.columns {
        let version: String = column.version.chars().take(160).collect();
        text += &format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td><td><code>{}</code></td><td><code>{}</code></td></tr>\n",
            escape(&column.name),
            column.transport.word(),
            escape(&version),
            escape(&column.compiler),
            escape(&column.launcher),
            escape(&column.environment.join(" "))
        );
    }
    text + "</table>\n</div>\n"
}

/// Everything that gave no number, with the reason.
fn failures(results: &Results) -> String {
    if results.failures.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2>What gave no number</h2>\n<ul>\n");
    for failure in &results.failures {
        let column = results.columns.iter().find(|column| column.key == failure.column);
        let name = column.map_or(failure.column.clone(), |c| format!("{}, {}", c.name, c.transport.word()));
        text += &format!(
            "<li>{}, {}, {} ranks: {}: {}</li>\n",
            escape(&name),
            escape(&failure.case),
            failure.ranks,
            failure.kind.word(),
            escape(&failure.text)
        );
    }
    text + "</ul>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::tests::{measurement, results};
    use crate::bench::results::{Failure, FailureKind};

    #[test]
    fn the_page_shows_winner_loser_and_failure() {
        let measurements = vec![measurement("ours", "put", 8, 90.0), measurement("a", "put", 8, 10.0)];
        let mut results = results(Transport::Shm, &["ours", "a", "b"], measurements);
        results.add_failure(Failure {
            column: "b".to_owned(),
            case: "put".to_owned(),
            ranks: 2,
            kind: FailureKind::Crashes,
            text: "killed <by> signal 11".to_owned(),
        });
        let page = page(&results).unwrap();
        assert!(page.contains("<td class=\"figure last ours\">90.0 ns"), "{page}");
        assert!(page.contains("<td class=\"figure best\">10.0 ns"));
        assert!(page.contains("<td class=\"figure broken\" title=\"killed &lt;by&gt; signal 11\">crashes"));
        assert!(page.contains("Behind the best other library in 1: put 8 B + flush (9.00 ×)"));
        assert!(!page.contains("http://") && !page.contains("src="), "the page needs no other file");
    }
}
