//! The summary at the end of a job (`RMA_STATS=1`): what its ranks have counted.
//!
//! Ranks publish their counts before they meet for the last time, and rank 0 looks them up behind one more fence, which there
//! is if rank 0 counts. A rank that was not told to count is only missing.
//!
//! A rank tells of the calls and ranks that it has waited for most.

use crate::join::Start;
use rma_core::stats::{Counters, Waited};
use rma_core::{Engine, Result};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Calls and ranks whose waits one rank tells of, those with the most time: they fit what launchers keep (`VALUE_LEN_MAX`).
const MOST_CALLS: usize = 12;
const MOST_RANKS: usize = 16;
/// What each rank publishes under these keys.
const KEY: &str = "rma-stats";
const WAITS_KEY: &str = "rma-stats-waits";
/// Ranks in the table that others have waited for.
const MOST_ROWS: usize = 8;

/// What one rank does for the summary.
#[derive(Debug)]
pub(crate) struct TraceSummary {
    started: Instant,
    /// Its own counts, at the time when the other ranks have left theirs.
    own: OnceLock<Counts>,
}

/// The counts of one rank: the counters in the order of their table, packets by channel, and waits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counts {
    rank: u32,
    values: Vec<u64>,
    by_channel: Vec<(String, u64)>,
    waits: Waits,
}

/// The waits of one rank; times in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Waits {
    /// By call: how many, and their time.
    calls: Vec<(String, u64, u64)>,
    /// By rank that they were for.
    ranks: Vec<(u32, u64)>,
}

/// A row of the table: its name, and a number of each rank.
type Row = (String, Vec<(u64, u32)>);

impl TraceSummary {
    /// The rank starts its part.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), own: OnceLock::new() }
    }

    /// Before the last meeting: publishes this rank's counts.
    pub(crate) fn leave(&self, engine: &Engine, start: &dyn Start) {
        let own = self.own.get_or_init(|| Counts::of(start.rank(), engine));
        // What is not kept is missing in the table.
        let _ = start.put(KEY, &own.emit());
        let _ = start.put(WAITS_KEY, &own.waits.emit());
    }

    /// Behind the fence, on rank 0: prints the table of all ranks.
    pub(crate) fn print(&self, engine: &Engine, start: &dyn Start) {
        let mut all = vec![self.own.get().cloned().unwrap_or_else(|| Counts::of(0, engine))];
        for rank in 1..start.size() {
            let found: Result<(Option<String>, Option<String>)> =
                start.get(rank, KEY).and_then(|counts| Ok((counts, start.get(rank, WAITS_KEY)?)));
            // A launcher that answers no more costs only the rest of this table.
            let Ok((counts, waits)) = found else { break };
            let waits = waits.and_then(|text| Waits::parse(&text)).unwrap_or_default();
            all.extend(counts.and_then(|text| Counts::parse(rank, &text, waits)));
        }
        eprint!("{}", table(&all, start.size(), self.started.elapsed()));
    }
}

impl Counts {
    fn of(rank: u32, engine: &Engine) -> Self {
        let values = engine.counters().rows().into_iter().map(|(_, _, value)| value).collect();
        let by_channel =
            engine.packets_by_channel().into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        Self { rank, values, by_channel, waits: Waits::of(engine.waited()) }
    }

    /// As a word that launchers keep: no spaces, no equals sign.
    fn emit(&self) -> String {
        let values = self.values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let channels: String =
            self.by_channel.iter().map(|(name, count)| format!(";{name}:{count}")).collect();
        values + &channels
    }

    fn parse(rank: u32, text: &str, waits: Waits) -> Option<Self> {
        let mut parts = text.split(';');
        let values = parts.next()?.split(',').map(|value| value.parse().ok()).collect::<Option<Vec<_>>>()?;
        let channel = |part: &str| {
            let (name, count) = part.split_once(':')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        Some(Self { rank, values, by_channel: parts.map(channel).collect::<Option<Vec<_>>>()?, waits })
    }
}

impl Waits {
    /// Those with the most time.
    fn of(waited: Waited) -> Self {
        let us = |time: Duration| time.as_micros() as u64;
        let calls = waited.calls.into_iter().map(|(call, (waits, time))| (call.to_owned(), waits, us(time)));
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by_key(|(_, _, time)| Reverse(*time));
        calls.truncate(MOST_CALLS);
        let mut ranks: Vec<_> = waited.peers.into_iter().map(|(peer, time)| (peer.0, us(time))).collect();
        ranks.sort_by_key(|(_, time)| Reverse(*time));
        ranks.truncate(MOST_RANKS);
        Self { calls, ranks }
    }

    /// As [`Counts::emit`].
    fn emit(&self) -> String {
        let calls = self.calls.iter().map(|(call, waits, time)| format!("{call}:{waits}:{time}"));
        let ranks = self.ranks.iter().map(|(rank, time)| format!("{rank}:{time}"));
        format!("{};{}", calls.collect::<Vec<_>>().join(","), ranks.collect::<Vec<_>>().join(","))
    }

    fn parse(text: &str) -> Option<Self> {
        let (calls, ranks) = text.split_once(';')?;
        let parts =
            |text: &'_ str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (calls, ranks): (Vec<String>, Vec<String>) = (parts(calls), parts(ranks));
        let call = |part: &String| {
            let (rest, time) = part.rsplit_once(':')?;
            let (call, waits) = rest.rsplit_once(':')?;
            Some((call.to_owned(), waits.parse().ok()?, time.parse().ok()?))
        };
        let rank = |part: &String| {
            let (rank, time) = part.split_once(':')?;
            Some((rank.parse().ok()?, time.parse().ok()?))
        };
        let calls = calls.iter().map(call).collect::<Option<Vec<_>>>()?;
        Some(Self { calls, ranks: ranks.iter().map(rank).collect::<Option<Vec<_>>>()? })
    }
}

/// The table: a row for each counter that is not 0 everywhere.
fn table(all: &[Counts], size: u32, took: Duration) -> String {
    let mut rows: Vec<Row> = Counters::default()
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
    rows.extend(rows_of_waits(all));
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

/// Waits by call, and time by the ranks that waits were for, those with the most.
fn rows_of_waits(all: &[Counts]) -> Vec<Row> {
    let (mut calls, mut ranks) = (BTreeMap::<&str, [Vec<_>; 2]>::new(), BTreeMap::<u32, Vec<_>>::new());
    for Counts { rank: own, waits, .. } in all {
        for (call, waits, time) in &waits.calls {
            let [counts, times] = calls.entry(call).or_default();
            counts.push((*waits, *own));
            times.push((*time, *own));
        }
        for (rank, time) in &waits.ranks {
            ranks.entry(*rank).or_default().push((*time, *own));
        }
    }
    // A rank that does not tell has not waited, or for less time.
    let with_zeros = |mut values: Vec<(u64, u32)>| {
        let is_missing = |rank: &u32| !values.iter().any(|(_, known)| known == rank);
        let missing: Vec<_> = all.iter().map(|counts| counts.rank).filter(is_missing).collect();
        values.extend(missing.into_iter().map(|rank| (0, rank)));
        values
    };
    let mut rows = Vec::new();
    for (call, [counts, times]) in calls {
        rows.push((format!("waits in {call}"), with_zeros(counts)));
        rows.push((format!("waited_us in {call}"), with_zeros(times)));
    }
    let mut ranks: Vec<_> = ranks.into_iter().collect();
    ranks.sort_by_key(|(_, times)| Reverse(times.iter().map(|(time, _)| time).sum::<u64>()));
    let of_rank = |(rank, times)| (format!("waited_us for rank {rank}"), with_zeros(times));
    rows.extend(ranks.into_iter().take(MOST_ROWS).map(of_rank));
    rows
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
            let waits = Waits {
                calls: vec![("fence".to_owned(), first, 10 * first)],
                ranks: if rank == 1 { Vec::new() } else { vec![(1, 5 * first)] },
            };
            Counts { rank, values, by_channel: vec![("tcp".to_owned(), first)], waits }
        };
        let all = [of(0, 7), of(1, 3), of(2, 12)];
        for counts in &all {
            let text = counts.emit();
            assert!(!text.contains([' ', '=', '\n']), "{text}");
            let waits = counts.waits.emit();
            assert!(!waits.contains([' ', '=', '\n']), "{waits}");
            let waits = Waits::parse(&waits).unwrap();
            assert_eq!(Counts::parse(counts.rank, &text, waits).as_ref(), Some(counts));
        }
        assert_eq!(Counts::parse(1, "7;x", Waits::default()), None);
        assert_eq!(Waits::parse(";"), Some(Waits::default()));
        assert_eq!((Waits::parse("fence:1;"), Waits::parse(";1:x")), (None, None));
        let table = table(&all, 4, Duration::from_millis(1500));
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 7, "rows without counts are left out: {table}");
        assert_eq!(lines[0], "rma: summary of 3 of 4 ranks, 1.500 s");
        let words: Vec<_> = lines[2].split_whitespace().collect();
        assert_eq!(words, ["rma:", "packets_sent", "22", "3", "(1)", "12", "(2)"]);
        assert!(lines[3].contains("packets_sent by tcp"));
        let words =
            |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[4]), "waits in fence 22 3 (1) 12 (2)");
        assert_eq!(words(lines[5]), "waited_us in fence 220 30 (1) 120 (2)");
        assert_eq!(words(lines[6]), "waited_us for rank 1 95 0 (1) 60 (2)");
    }

    #[test]
    fn what_a_rank_tells_fits_what_launchers_keep() {
        let mut waited = Waited::default();
        for number in 0..100u32 {
            let call: &'static str = Box::leak(format!("a_call_of_long_name_{number:04}").into_boxed_str());
            waited.calls.insert(call, (u64::from(u32::MAX), Duration::from_secs(u64::from(number) << 20)));
            let peer = rma_core::ids::Peer(60_000 + number);
            waited.peers.insert(peer, Duration::from_secs(u64::from(number) << 20));
        }
        let waits = Waits::of(waited);
        assert!(waits.emit().len() <= crate::pmi::VALUE_LEN_MAX, "{}", waits.emit());
        assert_eq!((waits.calls.len(), waits.ranks.len()), (MOST_CALLS, MOST_RANKS));
        assert_eq!((waits.calls[0].0.as_str(), waits.ranks[0].0), ("a_call_of_long_name_0099", 60_099));
    }
}
