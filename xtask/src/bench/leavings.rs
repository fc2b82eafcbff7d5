//! What other libraries' jobs leave in shared memory when they are killed: files as large as their windows, which would fill
//! the machine's memory after some runs.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where they lie.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// How the libraries that are compared begin the names of theirs.
const NAMES: [&str; 5] = ["mpich_sh", "osc_rdma.", "vader_segment.", "sm_segment.", "ucx_shm_"];

/// The files that were there before a job.
#[derive(Debug)]
pub(super) struct Before {
    directory: PathBuf,
    names: HashSet<OsString>,
}

impl Before {
    pub(super) fn look(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), names: names(directory).collect() }
    }

    /// Removes the files of the libraries that have come since: their job has ended. What cannot be removed
    /// belongs to another user.
    pub(super) fn clear(self) {
        for name in names(&self.directory).filter(|name| !self.names.contains(name)) {
            if NAMES.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
                let _ = fs::remove_file(self.directory.join(name));
            }
        }
    }
}

fn names(directory: &Path) -> impl Iterator<Item = OsString> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_since_and_is_a_librarys_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str| fs::write(directory.path().join(name), "x").unwrap();
        make("mpich_shar_tmp1");
        let before = Before::look(directory.path());
        ["mpich_shar_tmp2", "osc_rdma.vm.1", "mine"].into_iter().for_each(make);
        before.clear();
        let mut left: Vec<_> = names(directory.path()).collect();
        left.sort();
        assert_eq!(left, ["mine", "mpich_shar_tmp1"]);
        Before::look(&directory.path().join("nowhere")).clear();
    }
}
