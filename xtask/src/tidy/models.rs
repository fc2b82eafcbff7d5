//! Tests under the model checker that are run: `cargo xtask test` finds them by the word loom in their path.

use super::tree::{Finding, Tree};

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.rust_files() {
        let mut is_model = false;
        for (index, line) in file.code.lines().map(str::trim).enumerate() {
            if line.starts_with("#[") {
                is_model |= is_condition(line);
                continue;
            }
            let name = line.strip_prefix("mod ").map(|rest| rest.trim_end_matches([';', '{', ' ']));
            if let Some(name) = name.filter(|name| is_model && !name.contains("loom")) {
                let message =
                    format!("no test command runs the models of {name}: put the word loom in its name");
                findings.push(Finding::new(&file.path, index + 1, message));
            }
            is_model = false;
        }
    }
}

/// Whether what follows is for tests that only the model checker has.
fn is_condition(attribute: &str) -> bool {
    let words = attribute.strip_prefix("#[cfg(").map(|rest| rest.replace("not(loom)", ""));
    words.is_some_and(|words| words.contains("loom") && words.contains("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_without_the_word_are_found() {
        let with = |name: &str| {
            let code = format!(
                "//! A.\n#[cfg(all(test, loom))]\n{name}\n#[cfg(all(test, not(loom)))]\nmod tests;\n"
            );
            let tree = Tree::of(&[("a.rs", &code)]);
            let mut findings = Vec::new();
            check(&tree, &mut findings);
            findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(with("mod loom_tests;").is_empty() && with("mod bulk_loom_tests;").is_empty());
        assert!(with("impl Model {}").is_empty(), "no module");
        for (model, line) in [("mod model;", 3), ("mod model {", 3), ("#[rustfmt::skip]\nmod model;", 4)] {
            let found = with(model);
            assert!(
                found.len() == 1 && found[0].starts_with(&format!("a.rs:{line}: ")),
                "{model}: {found:?}"
            );
        }
    }
}
