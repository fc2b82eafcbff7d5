//! The variables of traces and summaries.

use rma_core::config::Value;
use std::path::{Path, PathBuf};

rma_core::variables! {
    /// What a job tells of itself.
    pub struct ObserverConfig {
        /// The file of the timeline.
        trace: TraceFile = "", "RMA_TRACE", Choice, (),
            "file to write a timeline of the job to, all ranks side by side, which Perfetto opens; every rank writes FILE.RANK.part beside it while it runs",
            "a traced call costs microseconds";
        /// Most that one rank writes.
        trace_bytes: u64 = 256u64 << 20, "RMA_TRACE_BYTES", Bytes, 4096..=u64::MAX,
            "most that one rank writes for the timeline; what begins after that is counted, not written",
            "two million events; a browser opens a few such ranks";
        /// Whether rank 0 prints counters at the end.
        stats: bool = false, "RMA_STATS", Switch, (),
            "1: at its end the job prints what its ranks have counted, in all, least and most, to rank 0's standard error",
            "nobody reads what comes unasked";
    }
}

/// A path, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFile(Option<PathBuf>);

impl TraceFile {
    /// The path, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

impl From<&str> for TraceFile {
    fn from(text: &str) -> Self {
        Self((!text.is_empty()).then(|| text.into()))
    }
}

impl Value for TraceFile {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        Ok(text.into())
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |path| path.display().to_string())
    }

    fn show_range((): &()) -> String {
        "a path, or nothing".to_owned()
    }
}
