//! The code of `docs/embedding.md` stands in the examples.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines without their indentation, so that a block of the page may be shifted.
fn squeezed(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn sources(folder: &Path, extension: &str) -> String {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|name| name == extension));
    files.iter().map(|file| squeezed(&fs::read_to_string(file).unwrap())).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_shows_the_examples_code() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(examples.join("../docs/embedding.md")).unwrap();
    for (language, folder, extension, least) in [("rust", "embed/src", "rs", 5), ("c", "embed-c", "c", 5)] {
        let code = sources(&examples.join(folder), extension);
        let blocks: Vec<_> = page.split(&format!("```{language}\n")).skip(1).collect();
        assert!(blocks.len() >= least, "the page lost its code");
        for block in blocks {
            let block = squeezed(block.split("```").next().unwrap());
            assert!(code.contains(&block), "the page shows code that is in no example:\n{block}");
        }
    }
}
