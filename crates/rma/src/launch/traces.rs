//! What is left of a trace (`RMA_TRACE`) after a job.

use super::job::Job;
use crate::trace::gather_rest;
use std::fs;
use std::path::Path;

impl Job {
    /// Puts together what is left of a trace when ranks have not ended in order, or do not see each other's files.
    pub(super) fn gather_trace(&mut self) {
        let Some(path) = std::env::var_os("RMA_TRACE").filter(|path| !path.is_empty()) else { return };
        match gather_rest(path.as_ref(), self.options.ranks()) {
            Ok(gathered) => self.tell_parts_elsewhere(path.as_ref(), &gathered),
            Err(error) => self.stderr.say(&format!("RMA_TRACE: {}: {error}", path.to_string_lossy())),
        }
    }

    /// Says where parts of a trace are that this host does not see.
    fn tell_parts_elsewhere(&mut self, path: &Path, gathered: &[u32]) {
        // The last rank to end has put all parts together, if it has seen them.
        let is_new = |file: fs::Metadata| file.modified().is_ok_and(|time| time >= self.began);
        let is_whole = gathered.is_empty() && fs::metadata(path).is_ok_and(is_new);
        let parts: Vec<_> = self.remotes.iter().filter_map(|remote| remote.without(gathered)).collect();
        if !parts.is_empty() && !is_whole {
            self.stderr.say(&format!(
                "RMA_TRACE: what {} wrote is there, in {}.RANK.done: one timeline needs a file system that all hosts see",
                parts.join(" and "),
                path.display()
            ));
        }
    }
}
