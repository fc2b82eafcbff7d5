//! The command `uninstall`: removes what the manifest names and is as it was put; says what is changed or missing.

use super::manifest::{Entry, Manifest, PLACE};
use crate::Outcome;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Remove what install has put below a directory, and nothing else.
///
/// A file that was changed since stays, and is named. So does a folder with anything else in it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory that was installed below.
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
}

/// How it ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Removal {
    removed: usize,
    /// One line each.
    notes: Vec<String>,
    /// Something that was put by install is still there.
    is_partial: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let removal = uninstall(&args.prefix)?;
    removal.notes.iter().for_each(|note| eprintln!("cargo xtask: {note}"));
    println!("{} files removed below {}", removal.removed, args.prefix.display());
    Ok(if removal.is_partial { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn uninstall(prefix: &Path) -> Result<Removal, String> {
    let Some(mut manifest) = Manifest::read(prefix)? else {
        return Err(format!("{0} is no installation: there is no {0}/{PLACE}", prefix.display()));
    };
    let mut removal = Removal::default();
    // What `rmafc` has compiled from the sources.
    let _ = fs::remove_dir_all(prefix.join("lib/fortran"));
    manifest.entries.retain(|path, entry| removal.remove(&prefix.join(path), entry));
    let place = prefix.join(PLACE);
    let failed = |error| format!("{}: {error}", place.display());
    if removal.is_partial {
        // A second try starts from what is left.
        fs::write(&place, manifest.text()).map_err(failed)?;
        return Ok(removal);
    }
    fs::remove_file(&place).map_err(failed)?;
    removal.removed += 1;
    // Backwards, so that a folder comes after those in it.
    for folder in manifest.folders.iter().rev() {
        removal.remove_folder(&prefix.join(folder));
    }
    Ok(removal)
}

impl Removal {
    /// Whether it is still there.
    fn remove(&mut self, place: &Path, entry: &Entry) -> bool {
        let removed = match Entry::at(place) {
            Ok(Some(found)) if found == *entry => fs::remove_file(place),
            Ok(_) => return self.stays(format!("{} was changed, and stays", place.display())),
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => self.removed += 1,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.notes.push(format!("{} is missing", place.display()));
            }
            Err(error) => return self.stays(format!("{} cannot be removed: {error}", place.display())),
        }
        false
    }

    fn stays(&mut self, note: String) -> bool {
        self.notes.push(note);
        self.is_partial = true;
        true
    }

    fn remove_folder(&mut self, folder: &Path) {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.notes.push(format!("{} stays: {error}", folder.display()));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::{Content, Item, install};
    use super::*;

    fn items() -> Vec<Item> {
        let item = |path: &str, content| Item { path: path.to_owned(), content };
        vec![
            item("lib/a.so.1", Content::Program(b"new".to_vec())),
            item("lib/a.so", Content::Link("a.so.1")),
            item("lib/deep/er/a.pc", Content::Data(b"x".to_vec())),
        ]
    }

    #[test]
    fn what_was_installed_goes_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let prefix = scratch.path().join("not there before");
        install(&prefix, &items()).unwrap();
        // Once more, with less: what the first has put is not forgotten.
        install(&prefix, &items()[..1]).unwrap();
        let removal = uninstall(&prefix).unwrap();
        assert_eq!((removal.removed, removal.notes), (4, Vec::new()));
        assert!(!prefix.exists());
        // What was compiled later belongs to it.
        install(&prefix, &items()).unwrap();
        fs::create_dir_all(prefix.join("lib/fortran/gfortran-1")).unwrap();
        assert!(uninstall(&prefix).unwrap().notes.is_empty() && !prefix.exists());
        // Folders and files of others stay.
        fs::create_dir_all(prefix.join("lib")).unwrap();
        install(&prefix, &items()).unwrap();
        fs::write(prefix.join("lib/deep/own"), "").unwrap();
        let removal = uninstall(&prefix).unwrap();
        assert!(!removal.is_partial && prefix.join("lib/deep/own").is_file());
        assert!(!prefix.join("lib/a.so.1").exists() && !prefix.join("share").exists());
        assert!(removal.notes[0].contains("lib/deep stays: "), "{removal:?}");
    }

    #[test]
    fn what_is_changed_stays_and_what_is_missing_is_said() {
        let prefix = tempfile::tempdir().unwrap();
        let prefix = prefix.path();
        let error = uninstall(prefix).unwrap_err();
        assert!(error.contains("is no installation"), "{error}");
        install(prefix, &items()).unwrap();
        fs::write(prefix.join("lib/a.so.1"), "mine").unwrap();
        fs::remove_dir_all(prefix.join("lib/deep")).unwrap();
        let removal = uninstall(prefix).unwrap();
        assert!(removal.is_partial && removal.removed == 1, "{removal:?}");
        let text = removal.notes.join("\n");
        assert!(text.contains("a.so.1 was changed, and stays") && text.contains("a.pc is missing"), "{text}");
        assert_eq!(fs::read(prefix.join("lib/a.so.1")).unwrap(), b"mine");
        fs::remove_file(prefix.join("lib/a.so.1")).unwrap();
        let removal = uninstall(prefix).unwrap();
        assert!(!removal.is_partial && fs::read_dir(prefix).unwrap().next().is_none(), "{removal:?}");
    }
}
