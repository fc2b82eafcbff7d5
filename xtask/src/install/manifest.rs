//! What install has put below a prefix, so that uninstall removes that and nothing else: a text file that is installed too.
//!
//! ```text
//! file LEN HASH PATH      link TARGET PATH      folder PATH
//! ```
//!
//! Paths are relative, so the installation can be moved. An installation over another keeps what the earlier has put and the
//! later has not; folders are those that were not there before.

use super::files::{Content, Item};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::path::{Component, Path};

/// Where it lies below the prefix.
pub(super) const PLACE: &str = "share/rma/installed";

const TITLE: &str = "# What cargo xtask install has put here, for cargo xtask uninstall.";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// By path.
    pub(super) entries: BTreeMap<String, Entry>,
    /// The prefix itself is the empty path.
    pub(super) folders: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    File { len: usize, hash: u64 },
    Link(String),
}

impl Entry {
    fn of(content: &Content) -> Self {
        match content {
            Content::Data(data) | Content::Program(data) => Self::of_data(data),
            Content::Link(target) => Self::Link((*target).to_owned()),
        }
    }

    fn of_data(data: &[u8]) -> Self {
        Self::File { len: data.len(), hash: hash(data) }
    }

    /// What is at a place; `None` for what install never puts.
    pub(super) fn at(place: &Path) -> io::Result<Option<Self>> {
        let kind = place.symlink_metadata()?.file_type();
        if kind.is_symlink() {
            return Ok(place.read_link()?.to_str().map(|target| Self::Link(target.to_owned())));
        }
        match kind.is_file() {
            true => Ok(Some(Self::of_data(&std::fs::read(place)?))),
            false => Ok(None),
        }
    }
}

impl Manifest {
    /// The one below a prefix, if there is one.
    pub(super) fn read(prefix: &Path) -> Result<Option<Self>, String> {
        let place = prefix.join(PLACE);
        match std::fs::read_to_string(&place) {
            Ok(text) => Self::parse(&text)
                .map(Some)
                .map_err(|line| format!("{}: a wrong line: {line}", place.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", place.display())),
        }
    }

    /// Adds what is about to be installed, with the folders that will be made for it.
    pub(super) fn add(&mut self, prefix: &Path, items: &[Item]) {
        let own = [PLACE];
        for path in items.iter().map(|item| item.path.as_str()).chain(own) {
            let folders = Path::new(path).ancestors().skip(1);
            let new = folders.filter(|folder| !prefix.join(folder).is_dir());
            self.folders.extend(new.map(|folder| folder.to_string_lossy().into_owned()));
        }
        for item in items {
            self.entries.insert(item.path.clone(), Entry::of(&item.content));
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for (path, entry) in &self.entries {
            // Writing to a string does not fail.
            let _ = match entry {
                Entry::File { len, hash } => writeln!(text, "file {len} {hash:016x} {path}"),
                Entry::Link(target) => writeln!(text, "link {target} {path}"),
            };
        }
        for folder in &self.folders {
            let _ = writeln!(text, "folder {folder}");
        }
        text
    }

    /// A line that is wrong is the error.
    fn parse(text: &str) -> Result<Self, String> {
        let mut manifest = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            manifest.take(line).ok_or(line)?;
        }
        Ok(manifest)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        if kind == "folder" {
            self.folders.insert(within(rest)?);
            return Some(());
        }
        let (first, rest) = rest.split_once(' ')?;
        let (entry, path) = match kind {
            "link" => (Entry::Link(first.to_owned()), rest),
            "file" => {
                let (hash, path) = rest.split_once(' ')?;
                let hash = u64::from_str_radix(hash, 16).ok()?;
                (Entry::File { len: first.parse().ok()?, hash }, path)
            }
            _ => return None,
        };
        self.entries.insert(within(path).filter(|path| !path.is_empty())?, entry);
        Some(())
    }
}

/// A path that leads nowhere but below the prefix.
fn within(path: &str) -> Option<String> {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_))).then(|| path.to_owned())
}

/// The start of a SHA-256: tells a file that was changed.
fn hash(data: &[u8]) -> u64 {
    let digest = Sha256::digest(data);
    digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let prefix = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::default();
        let content = [Content::Data(b"int a;".to_vec()), Content::Link("a.h")];
        let item =
            |(path, content): (&str, &Content)| Item { path: path.to_owned(), content: content.clone() };
        let items: Vec<_> = ["include/a b.h", "bin/x"].into_iter().zip(&content).map(item).collect();
        manifest.add(prefix.path(), &items);
        assert_eq!(Manifest::parse(&manifest.text()).unwrap(), manifest);
        let folders: Vec<_> = manifest.folders.iter().map(String::as_str).collect();
        assert_eq!(folders, ["bin", "include", "share", "share/rma"]);
    }

    #[test]
    fn nothing_outside_the_prefix_is_ever_named() {
        for line in
            ["folder ..", "folder /tmp", "link a ../b", "file 1 0 /etc/passwd", "link a ", "file 1 x a", "x"]
        {
            assert_eq!(Manifest::parse(line).unwrap_err(), line);
        }
    }
}
