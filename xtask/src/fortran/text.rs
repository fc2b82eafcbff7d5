//! Lines of Fortran, which end at 100 columns.

/// Where a line is broken; the standard's limit is 132.
const COLUMNS: usize = 100;

/// A statement, broken at its commas.
pub(super) fn statement(indent: usize, text: &str) -> String {
    let mut lines = String::new();
    let mut line = " ".repeat(indent);
    for (at, part) in text.split_inclusive(", ").enumerate() {
        if at > 0 && line.len() + part.trim_end().len() > COLUMNS {
            lines += &format!("{}&\n", line.trim_end().to_owned() + " ");
            line = " ".repeat(indent + 4);
        }
        line += part;
    }
    lines + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_go_on_in_the_next_line() {
        assert_eq!(statement(2, "call a(b, c)"), "  call a(b, c)\n");
        let names: Vec<_> = (0..40).map(|at| format!("name{at}")).collect();
        let text = statement(4, &format!("call a({})", names.join(", ")));
        assert!(text.lines().all(|line| line.len() <= COLUMNS + 2), "{text}");
        assert_eq!(text.lines().filter(|line| line.ends_with(" &")).count(), text.lines().count() - 1);
        assert_eq!(text.replace("&\n", "").split_whitespace().collect::<Vec<_>>().len(), 41);
    }
}
