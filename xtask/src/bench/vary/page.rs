//! Plots and tables of sweeps in `docs/tuning.md`: each between marks that name its variable.

use super::super::results::write;
use super::report::Files;
use std::path::Path;

/// The page, from the root of the repository. Plots lie in a directory beside it that is called as the page is.
pub(crate) const PAGE: &str = "docs/tuning.md";

const BEGIN: &str = "<!-- sweep of ";
const END: &str = "<!-- end of sweep -->";
/// The two, for code that counts or skips what stands between them.
pub(crate) const MARKS: (&str, &str) = (BEGIN, END);

/// The variables that the page shows, in its order.
pub(crate) fn variables_of(page: &Path) -> Result<Vec<String>, String> {
    let text = read(page)?;
    let marks = text.split(BEGIN).skip(1);
    Ok(marks.filter_map(|rest| Some(rest.split_once(' ')?.0.to_owned())).collect())
}

/// Puts the plot beside the page, and link and table between the variable's marks.
pub(crate) fn put_into(page: &Path, variable: &str, files: &Files) -> Result<(), String> {
    let directory = page.with_extension("");
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("{} could not be made: {error}", directory.display()))?;
    let plot = directory.join(format!("{variable}.svg"));
    std::fs::copy(&files.plot, &plot).map_err(|error| format!("{}: {error}", plot.display()))?;
    let text = replace(&read(page)?, variable, &files.table).ok_or_else(|| {
        format!("{} has no place for {variable}: {BEGIN}{variable} --> and {END}", page.display())
    })?;
    write(page, text)
}

fn read(page: &Path) -> Result<String, String> {
    std::fs::read_to_string(page).map_err(|error| format!("{} could not be read: {error}", page.display()))
}

/// The page with what stands between the marks of a variable replaced.
fn replace(text: &str, variable: &str, table: &str) -> Option<String> {
    let begin = format!("{BEGIN}{variable} -->");
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    let link = format!("![{variable}](tuning/{variable}.svg)");
    Some(format!("{before}{begin}\n{link}\n\n{}\n{END}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_finds_its_place_in_the_page_and_another_time_too() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("tuning.md");
        let text = format!("# A\n\n{BEGIN}RMA_A -->\n{END}\n\n{BEGIN}RMA_B -->\nold\n{END}\nend\n");
        std::fs::write(&page, &text).unwrap();
        assert_eq!(variables_of(&page).unwrap(), ["RMA_A", "RMA_B"]);
        let plot = directory.path().join("x.svg");
        std::fs::write(&plot, "<svg/>").unwrap();
        let files = Files { table: "| t |\n".to_owned(), plot };
        for _ in 0..2 {
            put_into(&page, "RMA_B", &files).unwrap();
        }
        let expected = format!(
            "# A\n\n{BEGIN}RMA_A -->\n{END}\n\n{BEGIN}RMA_B -->\n![RMA_B](tuning/RMA_B.svg)\n\n| t |\n{END}\nend\n"
        );
        assert_eq!(std::fs::read_to_string(&page).unwrap(), expected);
        assert!(directory.path().join("tuning/RMA_B.svg").is_file());
        assert!(put_into(&page, "RMA_C", &files).unwrap_err().contains("no place for RMA_C"));
    }
}
