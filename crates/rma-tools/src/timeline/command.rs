//! The command line of `rma-trace`.

use super::events::Timeline;
use super::{page, table};
use clap::Parser;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prints where the time of a job went, by its timeline (RMA_TRACE), and writes the timeline as one page for a browser.
#[derive(Debug, Parser)]
#[command(name = "rma-trace", version, max_term_width = 100)]
#[command(after_help = "The page needs no network and no other file: turn the wheel to zoom, drag to move.")]
pub struct TimelineOptions {
    /// The timeline
    file: PathBuf,

    /// The page; by default beside the timeline, with the ending html
    #[arg(short, long, value_name = "PAGE")]
    output: Option<PathBuf>,

    /// Write no page
    #[arg(long, conflicts_with = "output")]
    no_page: bool,
}

/// The program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let options = match TimelineOptions::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    match run(&options) {
        Ok(text) => {
            // A reader of only the beginning, as `head` is, has enough.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("rma-trace: {why}");
            ExitCode::FAILURE
        }
    }
}

/// What is printed.
fn run(options: &TimelineOptions) -> Result<String, String> {
    let file = &options.file;
    let opened = File::open(file).map_err(|error| of(file, error))?;
    let timeline = Timeline::read(BufReader::new(opened)).map_err(|error| of(file, error))?;
    let mut text = table::show(&timeline);
    if !options.no_page {
        let path = options.output.clone().unwrap_or_else(|| file.with_extension("html"));
        if path == *file {
            return Err(of(file, "the page would replace the timeline; -o names another file"));
        }
        let title = file.file_name().unwrap_or_default().to_string_lossy();
        std::fs::write(&path, page::show(&title, &timeline, &text)).map_err(|error| of(&path, error))?;
        text += &format!("\nwrote {}\n", path.display());
    }
    Ok(text)
}

fn of(path: &Path, why: impl std::fmt::Display) -> String {
    format!("{}: {why}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_timeline_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.html");
        let run_on = |words: &[&str]| {
            let words = ["rma-trace", file.to_str().unwrap()].into_iter().chain(words.iter().copied());
            run(&TimelineOptions::try_parse_from(words).unwrap())
        };
        assert!(run_on(&[]).unwrap_err().contains("a.html: No such file"));
        std::fs::write(&file, "{\"traceEvents\":[\n{\"ph\":\n").unwrap();
        let error = run_on(&[]).unwrap_err();
        assert!(error.contains("a.html: line 2 is no event"), "{error}");
        std::fs::write(&file, "{\"traceEvents\":[\n\n]}\n").unwrap();
        assert!(run_on(&[]).unwrap_err().contains("replace the timeline"));
        assert!(run_on(&["-o", "/no/such/b.html"]).unwrap_err().contains("/no/such/b.html: No such file"));
        assert!(run_on(&["--no-page"]).is_ok());
    }
}
