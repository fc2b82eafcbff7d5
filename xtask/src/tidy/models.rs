//! Tests under the model checker that are run: `cargo xtask test` finds them by the word loom in their path.

use super::tree::{Finding, Tree};

/// The condition of a module that only the model checker has.
const CONDITION: &str = "#[cfg(all(test, loom))]";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.rust_files() {
        let lines = file.code.lines().zip(file.code.lines().skip(1)).enumerate();
        for (index, (_, line)) in lines.filter(|(_, (condition, _))| condition.trim() == CONDITION) {
            if let Some(name) = line.trim().strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'))
                && !name.contains("loom")
            {
                let message =
                    format!("no test command runs the models of {name}: put the word loom in its name");
                findings.push(Finding::new(&file.path, index + 2, message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_without_the_word_are_found() {
        let with = |name: &str| {
            let code = format!("//! A.\n{CONDITION}\nmod {name};\n#[cfg(test)]\nmod tests;\n");
            let tree = Tree::of(&[("a.rs", &code)]);
            let mut findings = Vec::new();
            check(&tree, &mut findings);
            findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(with("loom_tests").is_empty() && with("bulk_loom_tests").is_empty());
        assert_eq!(with("model").len(), 1);
        assert!(with("model")[0].starts_with("a.rs:3: "), "{:?}", with("model"));
    }
}
