//! Counts the words of a text file in a hash table that lies in the window memory of all ranks.
//!
//! The serial half ([`words`]) knows no ranks beyond a share's number; [`table`] is how ranks add up what it finds.

#[path = "../common/mod.rs"]
mod common;
mod table;
mod words;

use clap::Parser;
use common::{Refusal, all_or_nobody, bar, report_packets};
use rma::World;
use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use table::WordTable;
use words::{Counts, range_of_share};

/// Distributed word count.
#[derive(Parser)]
#[command(name = "wordcount", version)]
struct Options {
    /// The text, UTF-8; other bytes separate words
    file: PathBuf,
    /// How many of the most frequent words to print
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Slots of the hash table in all; by default one for every eight bytes of text
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    slots: Option<u64>,
    /// Text that a rank counts by itself before it adds to the table, in KiB
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1..))]
    block_kib: u64,
    /// Compare all counts with a serial run on rank 0
    #[arg(long)]
    check: bool,
    /// Print how many one-sided packets each channel carried
    #[arg(long)]
    packets: bool,
}

/// Slots of the table for the smallest files.
const FEWEST_SLOTS: u64 = 1024;

fn main() -> ExitCode {
    common::main(run)
}

fn run(world: &World, options: &Options) -> Result<(), Box<dyn Error>> {
    let of_file = |error| format!("{}: {error}", options.file.display());
    let text = open(&options.file).map_err(|error| refusal(of_file(error)));
    let (file, len) = all_or_nobody(world, text)?;
    let slots = options.slots.unwrap_or(len / 8).max(options.slots.unwrap_or(FEWEST_SLOTS));
    let mut table = WordTable::new(world, slots, len)?;
    // Blocks are dealt out in turn, so that ranks finish together.
    let blocks = u32::try_from(len.div_ceil(options.block_kib * 1024))
        .map_err(|_| "too many blocks: --block-kib is too small")?;
    let blocks = blocks.max(world.size());
    let bar = bar(world.rank(), u64::from(blocks.div_ceil(world.size())));
    world.barrier()?;
    let start = Instant::now();
    for block in (world.rank()..blocks).step_by(world.size() as usize) {
        let counts = Counts::of(&file, range_of_share(&file, len, blocks, block).map_err(of_file)?)
            .map_err(of_file)?;
        table.add(counts.top(usize::MAX))?;
        bar.inc(1);
    }
    world.barrier()?;
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let own = table.own_words();
    table.free()?;
    if options.packets {
        report_packets(world)?;
    }
    let Some(all) = collect(world, &own)? else { return all_or_nobody(world, Ok(())) };
    print(&all, options.top);
    let rate = len as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE);
    println!(
        "{} words, {} different, on {} ranks, {rate:.1} MB/s",
        all.total(),
        all.distinct(),
        world.size()
    );
    let checked = if options.check { check(&all, &file, len).map_err(refusal) } else { Ok(()) };
    all_or_nobody(world, checked)
}

fn refusal(error: impl Display) -> Refusal {
    Refusal::new(format!("wordcount: {error}"))
}

fn check(all: &Counts, file: &File, len: u64) -> Result<(), String> {
    let serial = Counts::of(file, 0..len).map_err(|error| error.to_string())?;
    if serial != *all {
        let (words, different) = (serial.total(), serial.distinct());
        return Err(format!("the serial count differs: {words} words, {different} different"));
    }
    println!("equal to the serial count");
    Ok(())
}

/// The text, with its length.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok((file, metadata.len()))
}

/// All words on rank 0.
fn collect(world: &World, own: &[(String, u64)]) -> Result<Option<Counts>, Box<dyn Error>> {
    let texts = own.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join(" ");
    let counts = own.iter().map(|(_, count)| *count).collect::<Vec<_>>();
    let texts = world.gather(0, texts.as_bytes())?;
    let counts = world.gather(0, &counts)?;
    let (Some(texts), Some(counts)) = (texts, counts) else { return Ok(None) };
    let mut all = Counts::default();
    for (texts, counts) in texts.iter().zip(&counts) {
        let texts = std::str::from_utf8(texts)?;
        for (word, count) in texts.split(' ').zip(counts) {
            all.add(word, *count);
        }
    }
    Ok(Some(all))
}

fn print(all: &Counts, top: usize) {
    let top = all.top(top);
    let width = top.first().map_or(1, |(_, count)| count.to_string().len());
    for (word, count) in top {
        println!("{count:>width$} {word}");
    }
}
