//! Command lines for the tests of options.

use clap::{Args, Parser};

#[derive(Debug, Parser)]
struct Line<A: Args> {
    #[command(flatten)]
    args: A,
}

/// The options of a line that begins with the program's name.
pub(crate) fn parse<A: Args>(line: &str) -> Result<A, clap::Error> {
    Line::try_parse_from(line.split(' ').filter(|word| !word.is_empty())).map(|line| line.args)
}
