//! What a run of the comparison found: the data model of `results.json`.
//!
//! Everything that a report says is computed from this, so that a report can be made again from a saved file, and two
//! files can be compared. Times are nanoseconds per iteration, as the C program prints them.

use super::libraries::WITH_GUEST;
use super::machine::Machine;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Changes when an older reader would misread the file.
const FORMAT: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    format: u32,
    /// When it began, UTC.
    pub(crate) date: String,
    pub(crate) quick: bool,
    pub(crate) repetitions: u32,
    /// Whether the run's time ended in the middle of the last repetition.
    pub(crate) is_cut_short: bool,
    pub(crate) machine: Machine,
    pub(crate) columns: Vec<Column>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) failures: Vec<Failure>,
}

/// How ranks reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    Shm,
    Tcp,
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Shm, Self::Tcp];

    /// For headings.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Shm => "Shared memory",
            Self::Tcp => "TCP over loopback",
        }
    }

    /// For file names and options.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Shm => "shm",
            Self::Tcp => "tcp",
        }
    }
}

/// One library with one set of settings: a column of the tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Column {
    /// Names it in measurements; unique.
    pub(crate) key: String,
    /// For people: library, version, and variant where there are several.
    pub(crate) name: String,
    pub(crate) transport: Transport,
    /// Whether it is this project's library.
    pub(crate) is_ours: bool,
    /// What the library says it is.
    pub(crate) version: String,
    pub(crate) compiler: String,
    /// The launcher's command line up to the number of ranks.
    pub(crate) launcher: String,
    /// Variables of the environment that were set.
    pub(crate) environment: Vec<String>,
}

impl Column {
    /// The key of the host's own column, if this one has the guest in front of that host.
    pub(crate) fn host(&self) -> Option<String> {
        self.key.contains(WITH_GUEST).then(|| self.key.replacen(WITH_GUEST, "", 1))
    }
}

/// Key of the limits that the C program measures without MPI.
pub(crate) const RAW: &str = "raw";

/// One case and size in one repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// The column's key, or [`RAW`].
    pub(crate) column: String,
    pub(crate) repetition: u32,
    pub(crate) case: String,
    pub(crate) size: u64,
    pub(crate) ranks: u32,
    /// Calls per iteration.
    pub(crate) operations: u64,
    /// Iterations per sample.
    pub(crate) iterations: u64,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) samples: Vec<f64>,
}

/// A case that gave no number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) column: String,
    pub(crate) case: String,
    pub(crate) ranks: u32,
    pub(crate) kind: FailureKind,
    /// What the program or the library said.
    pub(crate) text: String,
}

/// Why there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailureKind {
    /// The library lacks a call that the case needs.
    Missing,
    /// A value was not what it has to be.
    Wrong,
    /// Not done within its limit.
    Hangs,
    /// The job ended in the middle of the case.
    Crashes,
}

impl FailureKind {
    /// For a cell of a table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Missing => "not there",
            Self::Wrong => "wrong value",
            Self::Hangs => "hangs",
            Self::Crashes => "crashes",
        }
    }
}

impl Results {
    pub(crate) fn new(date: String, quick: bool, machine: Machine, columns: Vec<Column>) -> Self {
        Self {
            format: FORMAT,
            date,
            quick,
            repetitions: 0,
            is_cut_short: false,
            machine,
            columns,
            measurements: Vec::new(),
            failures: Vec::new(),
        }
    }

    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let text =
            std::fs::read(path).map_err(|error| format!("{} could not be read: {error}", path.display()))?;
        let results: Self = serde_json::from_slice(&text)
            .map_err(|error| format!("{} is not a result of this command: {error}", path.display()))?;
        if results.format != FORMAT {
            let (path, found) = (path.display(), results.format);
            return Err(format!("{path} has format {found}, and this program reads {FORMAT}"));
        }
        Ok(results)
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_vec(self).map_err(|error| format!("results are no JSON: {error}"))?;
        write(path, text)
    }

    /// The columns of one transport, in order of the report.
    pub(crate) fn columns_of(&self, transport: Transport) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(move |column| column.transport == transport)
    }

    /// Notes a failure once, however often it happens.
    pub(crate) fn add_failure(&mut self, failure: Failure) {
        let is_known = self.failures.iter().any(|known| {
            (&known.column, &known.case, known.ranks, known.kind)
                == (&failure.column, &failure.case, failure.ranks, failure.kind)
        });
        if !is_known {
            self.failures.push(failure);
        }
    }

    /// Why a case has no number in a column.
    pub(crate) fn failure(&self, column: &str, case: &str, ranks: u32) -> Option<&Failure> {
        self.failures
            .iter()
            .find(|failure| failure.column == column && failure.case == case && failure.ranks == ranks)
    }
}

/// Writes a file of the report.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{} could not be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_survive_a_file_and_other_formats_are_refused() {
        let directory = std::env::temp_dir().join(format!("xtask-results-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("results.json");
        let mut results = Results::new("now".to_owned(), true, Machine::default(), Vec::new());
        let failure = Failure {
            column: "a".to_owned(),
            case: "put".to_owned(),
            ranks: 2,
            kind: FailureKind::Hangs,
            text: String::new(),
        };
        results.add_failure(failure.clone());
        results.add_failure(failure.clone());
        results.save(&path).unwrap();
        let back = Results::load(&path).unwrap();
        assert_eq!(back.failures, [failure]);
        assert_eq!(back.failure("a", "put", 2).unwrap().kind, FailureKind::Hangs);
        assert!(back.failure("a", "put", 4).is_none());

        results.format = FORMAT + 1;
        results.save(&path).unwrap();
        assert!(Results::load(&path).unwrap_err().contains("format 2"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
