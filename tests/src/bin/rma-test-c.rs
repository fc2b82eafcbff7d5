//! Builds C programs of `tests/c` with the installation, for runs elsewhere: `rma-test-c FOLDER [NAME]...`.
//!
//! Prints a line for each program that ranks of several nodes can run: name, path, numbers of ranks, and how a job of it ends
//! (nothing for "no errors"), with tabs between.

use rma_tests::c::{Built, Expect, Library, missing, sources};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(folder) = words.next() else {
        eprintln!("usage: rma-test-c FOLDER [NAME]...");
        return ExitCode::FAILURE;
    };
    let names: Vec<String> = words.collect();
    let (mut sources, listed) = (sources(), missing());
    sources.retain(|source| !source.needs_one_node && !listed.contains_key(&source.name));
    sources.retain(|source| names.is_empty() || names.iter().any(|name| source.name.contains(name)));
    let mut code = ExitCode::SUCCESS;
    for (source, built) in sources.iter().zip(Library::ours().build(&sources, Path::new(&folder))) {
        let expect = match &source.expect {
            Expect::NoErrors => String::new(),
            Expect::Exit(status) => format!("exit {status}"),
            Expect::Death(words) => format!("death {words}"),
        };
        let ranks: Vec<_> = source.ranks.iter().map(u32::to_string).collect();
        match built {
            Built::Program(path) => {
                println!("{}\t{}\t{}\t{expect}", source.name, path.display(), ranks.join(" "))
            }
            Built::Missing(calls) => {
                eprintln!("{} misses {calls:?}", source.name);
                code = ExitCode::FAILURE;
            }
            Built::Wrong(said) => {
                eprintln!("{}:\n{said}", source.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
