//! What became of everything: a line when it ends, and a sum at the end.

use std::time::Instant;

/// All lines so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    done: u32,
    failed: Vec<String>,
    skipped: u32,
}

impl Report {
    /// Does something and says what became of it: a note, or what went wrong.
    pub(super) fn row(&mut self, what: &str, work: impl FnOnce() -> Result<String, String>) {
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed().as_secs_f32();
        match outcome {
            Ok(note) => {
                self.done += 1;
                println!("{took:>7.1} s  {what}: {note}");
            }
            Err(why) => {
                println!("{took:>7.1} s  {what}: FAILED: {why}");
                self.failed.push(what.to_owned());
            }
        }
    }

    /// Says that something is left out, and why.
    pub(super) fn skip(&mut self, what: &str, why: &str) {
        self.skipped += 1;
        println!("           {what}: skipped: {why}");
    }

    /// The last lines; whether all is well.
    pub(super) fn sum_up(&self) -> bool {
        println!("{} rows are ok, {} are not, {} were skipped", self.done, self.failed.len(), self.skipped);
        self.failed.iter().for_each(|what| println!("FAILED: {what}"));
        self.failed.is_empty()
    }
}
