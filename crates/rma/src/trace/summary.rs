//! The summary at the end of a job (`RMA_STATS=1`): what its ranks have counted.
//!
//! Ranks leave their counts with the launcher before they meet for the last time, and rank 0 looks them up after that. So
//! nobody waits because of it, and a rank that was not told to count is only missing.

use crate::pmi::Client;
use rma_core::stats::Counters;
use rma_core::{Engine, Result};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What one rank does for the summary.
#[derive(Debug)]
pub(crate) struct Summary {
    begun: Instant,
}

/// The counts of one rank: the counters in the order of their table, and packets by channel.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counts {
    rank: u32,
    values: Vec<u64>,
    by_channel: Vec<(String, u64)>,
}

impl Summary {
    /// The rank starts its part.
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now() }
    }

    /// Before the last meeting: leaves this rank's counts where rank 0 finds them.
    pub(crate) fn leave(&self, engine: &Engine, launcher: Option<&Client>) {
        if let Some(launcher) = launcher {
            // What the launcher does not keep is missing in the table.
            let _ = launcher.put(&key(launcher.rank()), &Counts::of(launcher.rank(), engine).emit());
        }
    }

    /// After the last meeting, on rank 0: prints the table of all ranks.
    pub(crate) fn print(&self, engine: &Engine, launcher: Option<&Client>) {
        let mut all = vec![Counts::of(0, engine)];
        let size = launcher.map_or(1, Client::size);
        for rank in 1..size {
            let found: Result<Option<String>> = launcher.map_or(Ok(None), |client| client.get(&key(rank)));
            // A launcher that answers no more keeps the rest from nobody but this table.
            let Ok(found) = found else { break };
            all.extend(found.and_then(|text| Counts::parse(rank, &text)));
        }
        eprint!("{}", table(&all, size, self.begun.elapsed()));
    }
}

impl Counts {
    fn of(rank: u32, engine: &Engine) -> Self {
        let values = engine.counters().rows().into_iter().map(|(_, _, value)| value).collect();
        let by_channel =
            engine.packets_by_channel().into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        Self { rank, values, by_channel }
    }

    /// As a word that launchers keep: no spaces, no equals sign.
    fn emit(&self) -> String {
        let values = self.values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let channels: String =
            self.by_channel.iter().map(|(name, count)| format!(";{name}:{count}")).collect();
        values + &channels
    }

    fn parse(rank: u32, text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let values = parts.next()?.split(',').map(|value| value.parse().ok()).collect::<Option<Vec<_>>>()?;
        let channel = |part: &str| {
            let (name, count) = part.split_once(':')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        Some(Self { rank, values, by_channel: parts.map(channel).collect::<Option<Vec<_>>>()? })
    }
}

fn key(rank: u32) -> String {
    format!("rma-stats-{rank}")
}

/// The table: a row for each counter that is not 0 everywhere.
fn table(all: &[Counts], size: u32, took: Duration) -> String {
    let mut rows: Vec<(String, Vec<(u64, u32)>)> = Counters::default()
        .rows()
        .into_iter()
        .enumerate()
        .map(|(at, (name, _, _))| {
            let of = |counts: &Counts| (counts.values.get(at).copied().unwrap_or_default(), counts.rank);
            (name.to_owned(), all.iter().map(of).collect())
        })
        .collect();
    let mut channels: Vec<_> = all.iter().flat_map(|c| c.by_channel.iter().map(|(name, _)| name)).collect();
    channels.sort_unstable();
    channels.dedup();
    for channel in channels {
        let of = |counts: &Counts| {
            let found = counts.by_channel.iter().find(|(name, _)| name == channel);
            (found.map_or(0, |(_, count)| *count), counts.rank)
        };
        rows.push((format!("packets_sent by {channel}"), all.iter().map(of).collect()));
    }
    let mut text = format!("rma: summary of {} of {size} ranks, {:.3} s\n", all.len(), took.as_secs_f64());
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "rma:   {:<24} {:>16} {:>22} {:>22}",
        "counter", "total", "least (rank)", "most (rank)"
    );
    for (name, values) in rows {
        let total: u64 = values.iter().map(|(value, _)| value).sum();
        let extremes = values
            .iter()
            .min_by_key(|(value, _)| *value)
            .zip(values.iter().rev().max_by_key(|(value, _)| *value));
        let Some((least, most)) = extremes.filter(|_| total > 0) else { continue };
        let of = |(value, rank): &(u64, u32)| format!("{value} ({rank})");
        let _ = writeln!(text, "rma:   {name:<24} {total:>16} {:>22} {:>22}", of(least), of(most));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_and_the_table_names_the_extremes() {
        let count = Counters::default().rows().len();
        let of = |rank: u32, first: u64| {
            let mut values = vec![0; count];
            values[0] = first;
            Counts { rank, values, by_channel: vec![("tcp".to_owned(), first)] }
        };
        let all = [of(0, 7), of(1, 3), of(2, 12)];
        for counts in &all {
            let text = counts.emit();
            assert!(!text.contains([' ', '=', '\n']), "{text}");
            assert_eq!(Counts::parse(counts.rank, &text).as_ref(), Some(counts));
        }
        assert_eq!(Counts::parse(1, "7;x"), None);
        let table = table(&all, 4, Duration::from_millis(1500));
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 4, "rows without counts are left out: {table}");
        assert_eq!(lines[0], "rma: summary of 3 of 4 ranks, 1.500 s");
        let words: Vec<_> = lines[2].split_whitespace().collect();
        assert_eq!(words, ["rma:", "packets_sent", "22", "3", "(1)", "12", "(2)"]);
        assert!(lines[3].contains("packets_sent by tcp"));
    }
}
