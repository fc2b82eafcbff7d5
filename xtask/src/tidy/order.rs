//! The table of the engine's rooms in `ARCHITECTURE.md` names every room, and rooms import only those that stand above them.

use super::rooms::imports;
use super::tree::{Finding, Tree};

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## The rooms of the engine";
const ENGINE: &str = "crates/rma-core";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let page = tree.file(PAGE).map_or("", |file| &file.text);
    let Some((before, section)) = page.split_once(HEADING) else { return };
    let line = before.matches('\n').count() + 1;
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let order: Vec<&str> = rows.flat_map(|rooms| quoted_names(rooms)).collect();
    let imports = imports(tree, ENGINE);
    for name in order.iter().filter(|name| !imports.contains_key(*name)) {
        findings.push(Finding::new(PAGE, line, format!("{ENGINE} has no room {name}")));
    }
    let place_of = |room: &str| order.iter().position(|name| *name == room);
    for (room, others) in &imports {
        let Some(place) = place_of(room) else {
            findings.push(Finding::new(PAGE, line, format!("the room {room} is not in the table")));
            continue;
        };
        for (other, (path, line)) in others {
            if place_of(other).is_some_and(|above| above > place) {
                let message = format!("{room} imports {other}, which stands below it in {PAGE}");
                findings.push(Finding::new(path, *line, message));
            }
        }
    }
}

/// The names in the first cell of a row, whose first quotation mark is gone.
fn quoted_names(cell: &str) -> Vec<&str> {
    cell.split('`').step_by(2).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "# A\n\n## The rooms of the engine\n\n| room | x |\n| --- | --- |\n| `a`, `b` | x `z` |\n| `c` | y |\n\n## B\n\n| `d` | |\n";

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(PAGE, PAGE_TEXT)];
        all.extend(files);
        let mut findings = Vec::new();
        check(&Tree::of(&all), &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rooms_import_upwards_and_have_a_row() {
        let (a, b) = (
            ("crates/rma-core/src/a.rs", "//! A.\n"),
            ("crates/rma-core/src/b/x.rs", "//! B.\nuse crate::a;\n"),
        );
        let c = ("crates/rma-core/src/c.rs", "//! C.\nuse crate::b;\n");
        assert_eq!(messages(&[a, b, c]), [""; 0]);
        let a = ("crates/rma-core/src/a.rs", "//! A.\n\nuse crate::c;\n");
        let d = ("crates/rma-core/src/d.rs", "//! D.\n");
        assert_eq!(
            messages(&[a, b, c, d]),
            [
                "crates/rma-core/src/a.rs:3: a imports c, which stands below it in ARCHITECTURE.md",
                "ARCHITECTURE.md:3: the room d is not in the table",
            ]
        );
        assert_eq!(messages(&[b, c]), ["ARCHITECTURE.md:3: crates/rma-core has no room a"]);
    }
}
