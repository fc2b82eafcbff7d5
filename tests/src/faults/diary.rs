//! What a rank writes down: a line for each thing, in a file that outlives it.
//!
//! A line is written by one system call, so a killed rank leaves whole lines. The last line that has no answer says where
//! the rank was.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The process is there.
    Started {
        /// Its id.
        pid: u32,
    },
    /// The windows have been made, and the others are known to be there.
    Ready,
    /// A step of the script begins.
    Begins(usize),
    /// It has ended well.
    Done(usize),
    /// It has failed.
    Failed(usize, String),
    /// Something is not as it must be.
    Wrong(String),
    /// The two numbers of a pair differ: what a rank has left that died between two stores, or a lock that was not alone.
    Torn(usize),
    /// The script is over.
    Over,
    /// Memory has been written down.
    Dumped,
    /// The process's part in the job has ended in order.
    Finalized,
    /// A call at the begin or the end has failed.
    Broken(String),
}

/// The file of a rank.
pub fn path(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("diary-{rank}"))
}

/// The file that says that a rank is dead.
pub fn death(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("dead-{rank}"))
}

/// The file with a rank's memory.
pub fn memory(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("memory-{rank}"))
}

/// The writing end.
#[derive(Debug)]
pub struct Diary(File);

impl Diary {
    /// Begins a rank's diary.
    ///
    /// # Panics
    /// When the folder cannot be written to.
    pub fn begin(folder: &Path, rank: u32) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path(folder, rank));
        Self(file.expect("the folder of diaries can be written to"))
    }

    /// Adds a line.
    ///
    /// # Panics
    /// When the disk is full.
    pub fn add(&mut self, line: &Line) {
        let text = match line {
            Line::Started { pid } => format!("started {pid}"),
            Line::Ready => "ready".to_owned(),
            Line::Begins(step) => format!("begins {step}"),
            Line::Done(step) => format!("done {step}"),
            Line::Failed(step, why) => format!("failed {step} {}", one_line(why)),
            Line::Wrong(why) => format!("wrong {}", one_line(why)),
            Line::Torn(step) => format!("torn {step}"),
            Line::Over => "over".to_owned(),
            Line::Dumped => "dumped".to_owned(),
            Line::Finalized => "finalized".to_owned(),
            Line::Broken(why) => format!("broken {}", one_line(why)),
        };
        self.0.write_all(format!("{text}\n").as_bytes()).expect("a line can be written");
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

fn parse(text: &str) -> Option<Line> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match word {
        "started" => Line::Started { pid: rest.parse().ok()? },
        "ready" => Line::Ready,
        "begins" => Line::Begins(rest.parse().ok()?),
        "done" => Line::Done(rest.parse().ok()?),
        "failed" => {
            let (step, why) = rest.split_once(' ')?;
            Line::Failed(step.parse().ok()?, why.to_owned())
        }
        "wrong" => Line::Wrong(rest.to_owned()),
        "torn" => Line::Torn(rest.parse().ok()?),
        "over" => Line::Over,
        "dumped" => Line::Dumped,
        "finalized" => Line::Finalized,
        "broken" => Line::Broken(rest.to_owned()),
        _ => return None,
    })
}

/// The reading end: what has been written so far.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    read: u64,
    rest: String,
    /// Every line.
    pub lines: Vec<Line>,
}

impl Reader {
    /// Reads a rank's diary, which may not be there yet.
    pub fn new(folder: &Path, rank: u32) -> Self {
        Self { path: path(folder, rank), read: 0, rest: String::new(), lines: Vec::new() }
    }

    /// What a rank has written so far.
    pub fn of(folder: &Path, rank: u32) -> Self {
        let mut reader = Self::new(folder, rank);
        reader.read();
        reader
    }

    /// Reads what is new; answers whether there was anything.
    ///
    /// # Panics
    /// When there is a line that no rank writes.
    pub fn read(&mut self) -> bool {
        let Ok(mut file) = File::open(&self.path) else { return false };
        let mut text = String::new();
        let is_read = file.seek(SeekFrom::Start(self.read)).is_ok() && file.read_to_string(&mut text).is_ok();
        if !is_read || text.is_empty() {
            return false;
        }
        self.read += text.len() as u64;
        self.rest.push_str(&text);
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines = self.rest.drain(..whole).collect::<String>();
        self.lines.extend(lines.lines().map(|line| {
            parse(line).unwrap_or_else(|| panic!("{} has a line {line:?}", self.path.display()))
        }));
        true
    }

    /// Whether this line has been written.
    pub fn has(&self, line: &Line) -> bool {
        self.lines.contains(line)
    }

    /// The process that writes.
    pub fn pid(&self) -> Option<u32> {
        self.lines.iter().find_map(|line| if let Line::Started { pid } = line { Some(*pid) } else { None })
    }

    /// The step that has begun and not ended.
    pub fn step_under_way(&self) -> Option<usize> {
        step_under_way(&self.lines)
    }
}

/// The step that has begun and not ended.
pub fn step_under_way(lines: &[Line]) -> Option<usize> {
    lines.iter().rev().find_map(|line| match line {
        Line::Begins(step) => Some(Some(*step)),
        Line::Done(_) | Line::Failed(..) | Line::Over | Line::Ready => Some(None),
        _ => None,
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [
            Line::Started { pid: 7 },
            Line::Ready,
            Line::Begins(0),
            Line::Done(0),
            Line::Begins(1),
            Line::Failed(1, "one two".to_owned()),
            Line::Torn(4),
            Line::Wrong("a b".to_owned()),
            Line::Over,
            Line::Dumped,
            Line::Finalized,
            Line::Broken("c".to_owned()),
            Line::Begins(2),
        ];
        let (mut diary, mut reader) = (Diary::begin(folder.path(), 3), Reader::new(folder.path(), 3));
        lines.iter().for_each(|line| diary.add(line));
        assert!(reader.read() && !reader.read());
        assert_eq!(reader.lines, lines);
        assert_eq!((reader.pid(), reader.step_under_way()), (Some(7), Some(2)));
    }
}
