//! The variables of traces and summaries.

use crate::paths::FilePath;

rma_core::variables! {
    /// What a job tells of itself.
    pub struct ObserverConfig {
        /// The file of the timeline.
        trace: FilePath = "", "RMA_TRACE", Choice, (),
            "file to write a timeline of the job to, all ranks side by side, which Perfetto opens; every rank writes FILE.RANK.part beside it while it runs",
            "a traced call costs microseconds";
        /// Most that one rank writes.
        trace_bytes: u64 = 256u64 << 20, "RMA_TRACE_BYTES", Bytes, 4096..=u64::MAX,
            "most that one rank writes for the timeline; what begins after that is counted, not written",
            "two million events; a browser opens a few such ranks";
        /// Whether rank 0 prints counters at the end.
        stats: bool = false, "RMA_STATS", Switch, (),
            "1: at its end the job prints what its ranks have counted, in all, least and most, to rank 0's standard error",
            "unasked output goes unread";
    }
}
