//! What the runs of a suite came to, against its list of known failures.

use std::collections::BTreeMap;

/// The runs of a suite so far.
pub(super) struct Outcomes {
    known: BTreeMap<String, String>,
    all: u32,
    good: u32,
    unlisted: u32,
}

impl Outcomes {
    /// Nothing has been run. The table has a test and the reason of its failure in each row.
    pub(super) fn new(table: &str) -> Result<Self, String> {
        Ok(Self { known: known(table)?, all: 0, good: 0, unlisted: 0 })
    }

    /// Why a test fails, if it is listed.
    pub(super) fn reason(&self, test: &str) -> Option<&str> {
        self.known.get(test).map(String::as_str)
    }

    /// A test was run, `how` in words; a failure that is not listed is told with what the test has said, which is asked for then.
    pub(super) fn note(&mut self, test: &str, how: &str, is_good: bool, said: impl FnOnce() -> String) {
        self.all += 1;
        match (is_good, self.reason(test)) {
            (true, _) => self.good += 1,
            (false, Some(reason)) => println!("  {test}{how}: {reason}"),
            (false, None) => {
                println!("  failed, and is not listed: {test}{how}: {}", said());
                self.unlisted += 1;
            }
        }
    }

    /// Tells how many runs were good; says whether all failures are known.
    pub(super) fn end(&self, suite: &str) -> bool {
        println!("{suite}: {} of {} good", self.good, self.all);
        self.unlisted == 0
    }

    /// Whether there were runs.
    pub(super) fn has_runs(&self) -> bool {
        self.all > 0
    }

    /// Whether there were runs, and none was good.
    pub(super) fn is_all_bad(&self) -> bool {
        self.all > 0 && self.good == 0
    }
}

/// Known failures, each with its reason.
pub(super) fn known(table: &str) -> Result<BTreeMap<String, String>, String> {
    let rows = crate::abi::rows(table, "test\treason")?;
    Ok(rows.into_iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_ends_well_unless_a_failure_is_not_listed() {
        let mut outcomes = Outcomes::new("test\treason\nodd\tit asks for files\n").unwrap();
        assert!(!outcomes.has_runs() && !outcomes.is_all_bad());
        outcomes.note("odd", " on 2 ranks", false, || unreachable!("its reason is known"));
        assert!(outcomes.has_runs() && outcomes.end("suite") && outcomes.is_all_bad());
        outcomes.note("even", "", true, || unreachable!("it is good"));
        assert!(outcomes.end("suite") && !outcomes.is_all_bad());
        outcomes.note("even", "", false, String::new);
        assert!(!outcomes.end("suite"));
    }
}
