//! What this project's launcher and its ranks agree on beyond PMI-1, and how long PMI-1's words may be.

/// Under this key this project's launcher says what a rank's failure means for the others: `end` or `continue`.
pub const ON_FAILURE_KEY: &str = "rma-on-failure";
/// Longest key.
pub const KEY_LEN_MAX: usize = 64;
/// Longest value.
pub const VALUE_LEN_MAX: usize = 1024;
/// Longest name of a key-value space.
pub const NAME_LEN_MAX: usize = 256;

/// How the names of jobs of this project's launcher begin.
pub(crate) const JOB_PREFIX: &str = "rmarun-";
/// The command that tells a rank that another one has died, without being asked for.
pub(crate) const DEATH: &str = "death";
/// The command that asks a rank what it waits for.
pub(crate) const REPORT: &str = "report";
