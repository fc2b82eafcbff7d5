//! Writes the files of the report.

use super::super::results::{self, Results};
use super::{budgets, html, markdown, words};
use std::path::Path;

/// Writes report.html, report.md, budgets.md and results.json.
pub(crate) fn write(results: &Results, directory: &Path) -> Result<(), String> {
    std::fs::create_dir_all(directory)
        .map_err(|error| format!("{} could not be made: {error}", directory.display()))?;
    results::write(&directory.join("report.html"), html::page(results)?)?;
    results::write(&directory.join("report.md"), markdown::page(results))?;
    results::write(&directory.join("budgets.md"), budgets::section(results))?;
    results.save(&directory.join("results.json"))
}

/// Puts the table of budgets between its marks in a page.
pub(crate) fn put_into(results: &Results, page: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(page)
        .map_err(|error| format!("{} could not be read: {error}", page.display()))?;
    let text = budgets::replace(&text, results).map_err(|reason| format!("{}: {reason}", page.display()))?;
    results::write(page, text)
}

/// What the terminal shows at the end.
pub(crate) fn summary(results: &Results, directory: &Path) -> String {
    let mut text = markdown::tables(results);
    for sentence in words::standing(results) {
        text += &sentence;
        text.push('\n');
    }
    text + &format!("\n{}", directory.join("report.html").display())
}
