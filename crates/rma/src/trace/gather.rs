//! Merges the files of all ranks into one timeline.
//!
//! Reads line by line, so that memory does not grow with the trace. The gathering rank claims the work first,
//! by a file that can be made once, and writes beside the final name, so that the file of that name is whole.
//! A line that was cut off, because its rank was killed, ends that rank's part.

use super::chrome::Timeline;
use super::clocks::{Clocks, Direction};
use super::record::{TraceEvent, TraceHead, TraceRecord};
use super::recorder::{beside, done_path};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Read};
use std::path::{Path, PathBuf};

/// The file of one rank, and its first line.
struct RankTrace {
    path: PathBuf,
    head: TraceHead,
}

/// Makes one file of all, if every rank of the job has ended its part and no other rank is at it.
pub(super) fn gather_all(path: &Path, size: u32, job: &str) -> io::Result<()> {
    let paths: Vec<_> = (0..size).map(|rank| done_path(path, rank)).collect();
    if !paths.iter().all(|path| path.exists()) {
        return Ok(());
    }
    let claim = beside(path, ".claim");
    if !claimed(&claim)? {
        return Ok(());
    }
    // The last holder of the claim may have gathered all, and given it back.
    let gathered = match paths.iter().all(|path| path.exists()) {
        true => gather(path, paths, Some(job)).map(drop),
        false => Ok(()),
    };
    fs::remove_file(&claim)?;
    gathered
}

/// After a job: makes one file of what ranks have left, which have not all ended their part; answers whose it was. For the
/// launcher.
///
/// # Errors
/// When a file cannot be read or written.
#[cfg(feature = "launcher")]
pub(crate) fn gather_rest(path: &Path, size: u32) -> io::Result<Vec<u32>> {
    let either = |rank| [done_path(path, rank), super::recorder::part_path(path, rank)];
    let paths: Vec<_> = (0..size).flat_map(either).filter(|path| path.exists()).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    // A rank that was killed while it gathered has left its claim.
    let _ = fs::remove_file(beside(path, ".claim"));
    gather(path, paths, None)
}

/// Makes one file of these, which are of one job (the newest, where none is named), and removes them; answers whose they were.
fn gather(path: &Path, paths: Vec<PathBuf>, job: Option<&str>) -> io::Result<Vec<u32>> {
    let mut sources = Vec::new();
    for path in paths {
        // One without a whole head has nothing else either.
        if let Some(head) = head(&path)? {
            sources.push(RankTrace { path, head });
        }
    }
    let newest = sources.iter().max_by_key(|source| source.head.t).map(|source| source.head.job.clone());
    let Some(job) = job.map(str::to_owned).or(newest) else { return Ok(Vec::new()) };
    sources.retain(|source| source.head.job == job);
    let offsets = offsets(&sources)?;
    let zero = sources.iter().zip(&offsets).map(|(source, offset)| i128::from(source.head.t) + offset).min();
    let unfinished = beside(path, ".tmp");
    let mut timeline = Timeline::begin(BufWriter::new(File::create(&unfinished)?), zero.unwrap_or_default())?;
    for (source, offset) in sources.iter().zip(&offsets) {
        let mut rank = timeline.rank(&source.head, *offset)?;
        each_line(&source.path, |record| rank.add(record))?;
        rank.end()?;
    }
    timeline.end()?;
    fs::rename(&unfinished, path)?;
    sources.iter().try_for_each(|source| fs::remove_file(&source.path))?;
    Ok(sources.iter().map(|source| source.head.rank).collect())
}

/// What is to be added to the times of each source.
fn offsets(sources: &[RankTrace]) -> io::Result<Vec<i128>> {
    let mut boots: Vec<&str> = Vec::new();
    let mut machines = Vec::new();
    for source in sources {
        let at = boots.iter().position(|boot| *boot == source.head.boot).unwrap_or_else(|| {
            boots.push(&source.head.boot);
            boots.len() - 1
        });
        machines.push(at);
    }
    if boots.len() < 2 {
        return Ok(vec![0; sources.len()]);
    }
    let ranks: HashMap<_, _> = sources.iter().map(|source| source.head.rank).zip(machines.clone()).collect();
    let mut clocks = Clocks::new(ranks);
    for RankTrace { path, head } in sources {
        each_line(path, |TraceRecord { t, what, .. }| {
            match what {
                TraceEvent::Sent { packet, .. } => {
                    clocks.add((head.rank, packet.peer, packet.lane, packet.number), Direction::Sent, t);
                }
                TraceEvent::Received { packet } => {
                    clocks.add((packet.peer, head.rank, packet.lane, packet.number), Direction::Received, t);
                }
                _ => {}
            }
            Ok(())
        })?;
    }
    let offsets = clocks.offsets(boots.len());
    Ok(machines.into_iter().map(|machine| offsets[machine]).collect())
}

/// Whether this process is the one that gathers.
fn claimed(claim: &Path) -> io::Result<bool> {
    match File::create_new(claim) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn head(path: &Path) -> io::Result<Option<TraceHead>> {
    let line = lines(File::open(path)?).next().transpose()?;
    Ok(line.and_then(|line| TraceHead::read(&line)))
}

fn each_line(path: &Path, mut each: impl FnMut(TraceRecord<'_>) -> io::Result<()>) -> io::Result<()> {
    for line in lines(File::open(path)?).skip(1) {
        let Ok(line) = line else { break };
        let Some(record) = TraceRecord::read(&line) else { break };
        each(record)?;
    }
    Ok(())
}

fn lines(file: impl Read) -> Lines<BufReader<impl Read>> {
    BufReader::new(file).lines()
}
