//! Where the library of PMIx may be.

use crate::paths::FilePath;
use std::fs;
use std::path::{Path, PathBuf};

/// Its name, wherever it is.
const NAME: &str = "libpmix.so.2";
/// Where packages put it that the loader does not search.
const FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/pmix2/lib",
    "/usr/lib/aarch64-linux-gnu/pmix2/lib",
    "/usr/lib64/pmix",
    "/usr/local/lib",
];
/// How many processes above this one are looked at: shells and wrappers may stand between it and the launcher.
const ANCESTORS: usize = 8;

/// Paths to try, in order.
pub(super) fn candidates(named: &FilePath, look_up: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if let Some(path) = named.path() {
        return vec![path.to_owned()];
    }
    let prefix = look_up("PMIX_PREFIX").map(PathBuf::from);
    let below_prefix =
        prefix.iter().flat_map(|prefix| ["lib", "lib64", "lib/openmpi"].map(|lib| prefix.join(lib)));
    let below_prefix: Vec<_> =
        below_prefix.map(|folder| folder.join(NAME)).filter(|path| path.exists()).collect();
    let installed =
        FOLDERS.map(|folder| Path::new(folder).join(NAME)).into_iter().filter(|path| path.exists());
    of_launcher().into_iter().chain(below_prefix).chain([PathBuf::from(NAME)]).chain(installed).collect()
}

/// The one that the nearest process above this one has mapped. Another user's process is not looked into.
fn of_launcher() -> Option<PathBuf> {
    let mut process = parent_in(&fs::read_to_string("/proc/self/status").ok()?)?;
    for _ in 0..ANCESTORS {
        let mapped = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        if let Some(path) = mapped_in(&mapped) {
            return Some(path);
        }
        process = parent_in(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
            .filter(|parent| *parent > 1)?;
    }
    None
}

fn parent_in(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn mapped_in(maps: &str) -> Option<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])));
    let is_it = |path: &&Path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("libpmix.so"))
    };
    paths.into_iter().find(is_it).filter(|path| path.exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_decides_over_all() {
        assert_eq!(candidates(&FilePath::from("/opt/x.so"), &|_| None), [PathBuf::from("/opt/x.so")]);
        assert!(candidates(&FilePath::default(), &|_| None).contains(&PathBuf::from(NAME)));
    }

    #[test]
    fn the_launchers_own_is_found_among_what_it_has_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libpmix.so.2.6.2");
        fs::write(&library, "").unwrap();
        let maps = format!(
            "7f00-7f01 r--p 00000000 08:01 123  /usr/lib/libpmix_other.so\n7f00-7f01 rw-p 00000000 00:00 0 [heap]\n\
             7f00-7f01 r-xp 00001000 08:01 123  {}\n",
            library.display()
        );
        assert_eq!(mapped_in(&maps), Some(library));
        assert_eq!(mapped_in("7f00-7f01 r-xp 0 08:01 1 /nowhere/libpmix.so.2"), None);
        assert_eq!(parent_in("Name:\tx\nPPid:\t42\n"), Some(42));
        assert!(parent_in(&fs::read_to_string("/proc/self/status").unwrap()).is_some());
    }
}
