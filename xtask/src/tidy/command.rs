//! The command: reads the tree, applies every rule, prints what is broken.

use super::tree::{Finding, Tree};
use super::{
    dependencies, docs, length, methods, models, names, order, protocols, rooms, shape, text, tuning,
    unsafety, variables, vocabulary, volume, width, words,
};
use crate::Outcome;
use crate::workspace::Workspace;
use std::process::ExitCode;

/// Check the house rules that a machine can see.
///
/// Prints `file:line: message` for each place where one is broken. The rules stand in xtask/src/tidy, the exceptions in
/// xtask/tidy-exceptions.txt, xtask/unsafe-files.txt, xtask/circles.txt and xtask/vocabulary.txt; exceptions may only shrink.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Every rule.
const RULES: &[fn(&Tree, &mut Vec<Finding>)] = &[
    dependencies::check,
    docs::check,
    length::check,
    methods::check,
    models::check,
    names::check,
    order::check,
    protocols::check,
    rooms::check,
    shape::check,
    text::check,
    unsafety::check,
    tuning::check,
    variables::check,
    vocabulary::check,
    volume::check,
    width::check,
    words::check,
];

pub(crate) fn run(workspace: &Workspace, Args {}: &Args) -> Outcome {
    let tree = Tree::read(workspace)?;
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("{} files, {} of them Rust: tidy", tree.files.len(), tree.rust_files().count());
        return Ok(ExitCode::SUCCESS);
    }
    Err(format!("{} places are not tidy", findings.len()))
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        rule(tree, &mut findings);
    }
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::Dependency;
    use super::*;
    use crate::tidy::volume::LIMIT;

    #[test]
    fn every_rule_is_applied() {
        let long = format!("//! A.\n{}", "x\n".repeat(600));
        let methods = "//! M.\nimpl Window {\n}\n";
        let mut tree = Tree::of(&[
            ("a.md", "[a](b)\n"),
            ("a.rs", &long),
            ("b.rs", ""),
            ("c.rs", "//! \tC.\n"),
            ("d.rs", "//! D.\nunsafe {}\n"),
            ("crates/rma-ch-tcp/src/e.rs", "//! An epoch.\n"),
            ("docs/tuning.md", "`RMA_X`\n"),
            ("docs/x.md", &"word ".repeat(LIMIT + 1)),
            ("crates/rma-core/src/sync/g.rs", &format!("//! G.\n{}", "x\n".repeat(protocols::LIMIT))),
            ("f.rs", "//! F.\n#[cfg(all(test, loom))]\nmod model;\n"),
            ("k/src/a.rs", "//! A.\nuse crate::b;\n"),
            ("k/src/b.rs", "//! B.\nuse crate::a;\n"),
            ("k/src/c.rs", "//! An agenda.\n"),
            ("k/src/d.rs", "//! Nobody.\n"),
            ("m/src/a.rs", methods),
            ("m/src/b.rs", methods),
            ("m/src/c.rs", methods),
            ("m/src/d.rs", methods),
            ("m/src/e.rs", methods),
            ("crates/n/src/a.rs", "//! A.\nstruct X;\n"),
            ("crates/n/src/b.rs", "//! B.\nstruct X;\n"),
            ("l.rs", &format!("//! L.\n{}\n", "x".repeat(200))),
        ]);
        tree.dependencies.push(Dependency {
            member: "c".to_owned(),
            manifest: "c/Cargo.toml".to_owned(),
            package: "mio".to_owned(),
        });
        let messages: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
        for part in [
            "leads nowhere",
            "lines",
            "does not open",
            ": tab",
            "unsafe in",
            "no crate has",
            "no table has",
            "words outside code",
            "the protocols have",
            "the word epoch",
            "needs mio",
            "methods of Window",
            "defines a type",
            "runs the models",
            "a imports b",
            "not a word of the vocabulary",
            "in a comment",
            "columns",
        ] {
            assert!(messages.iter().any(|m| m.contains(part)), "{part}: {messages:?}");
        }
    }
}
