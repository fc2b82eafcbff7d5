//! Ranks that have lost each other, although both went on: a network that was cut between hosts which the launcher reaches.
//!
//! Such a job has failed, each part for itself and unseen: every process has ended well. Knows no process; [`super::job`] tells what
//! it hears, and [`super::ending`] what became of the ranks.

use super::remote::list;
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of which one has found the other one lost while that one's process was there and had not finalized.
#[derive(Debug, Default)]
pub(super) struct Cuts(BTreeSet<[usize; 2]>);

impl Cuts {
    /// A rank has found another one lost, which is there.
    pub(super) fn note(&mut self, rank: usize, other: usize) {
        self.0.insert([rank, other]);
    }

    /// A line for each two hosts with such ranks, in a job of which no rank has failed: else one may be lost that leaves because of that.
    pub(super) fn lines(&self, host: impl Fn(usize) -> String) -> Vec<String> {
        let mut between: BTreeMap<[String; 2], [BTreeSet<usize>; 2]> = BTreeMap::new();
        for pair in &self.0 {
            let mut ends = pair.map(|rank| (host(rank), rank));
            ends.sort_unstable();
            let [(a, first), (b, second)] = ends;
            if a == b {
                continue;
            }
            let ranks = between.entry([a, b]).or_default();
            ranks[0].insert(first);
            ranks[1].insert(second);
        }
        let line = |([a, b], ranks): ([String; 2], [BTreeSet<usize>; 2])| {
            let [on_a, on_b] = ranks.map(|ranks| list(&ranks.into_iter().collect::<Vec<_>>()));
            format!(
                "{on_a} on {a} and {on_b} on {b} have lost each other, and went on apart: is the network cut between them?"
            )
        };
        between.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_whose_ranks_have_lost_each_other_are_named_once() {
        let host = |rank: usize| if rank < 2 { "a" } else { "b" }.to_owned();
        let mut cuts = Cuts::default();
        for (rank, other) in [(3, 0), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)] {
            cuts.note(rank, other);
        }
        let line = "ranks 0-1 on a and ranks 2-3 on b have lost each other, and went on apart: is the network cut between them?";
        assert_eq!(cuts.lines(host), [line]);
        assert!(cuts.lines(|_| "a".to_owned()).is_empty(), "there is no network within a host");
    }
}
