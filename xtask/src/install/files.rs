//! Puts files below a prefix: all beside their places first, then each into its place by one rename.
//!
//! A disk that is full, or a directory that refuses, is noticed before anything is replaced; a program that runs from the
//! old file keeps it.

use super::manifest::{Manifest, PLACE};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Something to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Where, below the prefix.
    pub(super) path: String,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Data that all users may read.
    Data(Vec<u8>),
    /// A program or library: all users may read and run it.
    Program(Vec<u8>),
    /// A symbolic link to this.
    Link(&'static str),
}

/// A file beside its place, removed unless it is put there.
#[derive(Debug)]
struct Pending {
    written: PathBuf,
    place: PathBuf,
}

/// Installs all items, or none unless the system fails between two renames. The manifest comes first, so that nothing is
/// there that it does not name.
pub(super) fn install(prefix: &Path, items: &[Item]) -> Result<(), String> {
    let mut manifest = Manifest::read(prefix)?.unwrap_or_default();
    manifest.add(prefix, items);
    let manifest = Item { path: PLACE.to_owned(), content: Content::Data(manifest.text().into_bytes()) };
    let mut pending = Vec::new();
    for item in [&manifest].into_iter().chain(items) {
        let place = prefix.join(&item.path);
        if place.is_dir() && !place.is_symlink() {
            return Err(format!("{} is a directory, and a file is to be there", place.display()));
        }
        pending.push(write(&place, &item.content).map_err(|error| refused(&place, &error))?);
    }
    for file in pending {
        file.put().map_err(|(place, error)| refused(&place, &error))?;
    }
    Ok(())
}

fn write(place: &Path, content: &Content) -> io::Result<Pending> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let written = folder.join(format!(".{name}.{}.new", std::process::id()));
    // Left by a run with the same number that was killed.
    let _ = fs::remove_file(&written);
    let pending = Pending { written, place: place.to_owned() };
    let (data, mode) = match content {
        Content::Link(target) => {
            symlink(target, &pending.written)?;
            return Ok(pending);
        }
        Content::Data(data) => (data, 0o644),
        Content::Program(data) => (data, 0o755),
    };
    let mut file = File::create_new(&pending.written)?;
    file.write_all(data)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    // Some file systems tell only now that they are full.
    file.sync_all()?;
    Ok(pending)
}

impl Pending {
    fn put(self) -> Result<(), (PathBuf, io::Error)> {
        fs::rename(&self.written, &self.place).map_err(|error| (self.place.clone(), error))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // There is nothing left to remove when it was put into its place.
        let _ = fs::remove_file(&self.written);
    }
}

fn refused(place: &Path, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; --prefix has to name a directory that you may write to"
        }
        _ => "",
    };
    format!("cannot write {}: {error}{hint}", place.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(path: &str, content: Content) -> Item {
        Item { path: path.to_owned(), content }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_programs_and_links_are_put() {
        let prefix = tempfile::tempdir().unwrap();
        let items = [
            item("lib/a.so.1", Content::Program(b"new".to_vec())),
            item("lib/a.so", Content::Link("a.so.1")),
            item("include/a.h", Content::Data(b"int a;\n".to_vec())),
        ];
        for _ in 0..2 {
            install(prefix.path(), &items).unwrap();
            assert_eq!(names(&prefix.path().join("lib")), ["a.so", "a.so.1"]);
            assert_eq!(fs::read(prefix.path().join("lib/a.so")).unwrap(), b"new");
            let mode =
                |path: &str| fs::metadata(prefix.path().join(path)).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode("lib/a.so.1"), mode("include/a.h")), (0o755, 0o644));
        }
    }

    #[test]
    fn nothing_is_replaced_when_something_is_refused() {
        let prefix = tempfile::tempdir().unwrap();
        install(prefix.path(), &[item("a", Content::Data(b"old".to_vec()))]).unwrap();
        fs::create_dir(prefix.path().join("b")).unwrap();
        let items = [item("a", Content::Data(b"new".to_vec())), item("b", Content::Data(Vec::new()))];
        let error = install(prefix.path(), &items).unwrap_err();
        assert!(error.contains("/b is a directory"), "{error}");
        let items = [item("a", Content::Data(b"new".to_vec())), item("a/c", Content::Data(Vec::new()))];
        let error = install(prefix.path(), &items).unwrap_err();
        assert!(error.contains("cannot write") && error.contains("/a/c"), "{error}");
        assert_eq!(fs::read(prefix.path().join("a")).unwrap(), b"old");
        assert_eq!(names(prefix.path()), ["a", "b", "share"]);
    }

    #[test]
    fn a_place_that_refuses_is_named() {
        let error = install(Path::new("/proc/rma"), &[item("lib/a", Content::Data(Vec::new()))]).unwrap_err();
        assert!(error.contains("cannot write /proc/rma/"), "{error}");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(refused(Path::new("/usr/lib/a"), &denied).contains("--prefix has to name a directory"));
    }
}
