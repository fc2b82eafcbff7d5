//! What a rank keeps of its own part while it plays: which epochs are open, what its calls must bring, and their buffers.
//!
//! It makes no calls: ranks that are processes and ranks that are simulated share it. Buffers are kept until the end, so that
//! none is written to that is not the library's any more.

use super::diary::Line;
use super::program::{AREA, FENCED, OWN, POSTED, Part, Step, WINDOWS, digit, digit_of, stamp};
use crate::world::{from, into};
use rma_core::ids::Disp;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::collections::{HashMap, HashSet};

/// What a window is open to.
#[derive(Debug, Default)]
struct Open {
    targets: HashSet<u32>,
    is_open_to_all: bool,
    is_exposed: bool,
}

/// The notes of one rank.
#[derive(Debug)]
pub(super) struct Sheet {
    me: u32,
    open: Vec<Open>,
    /// What the own areas at each target hold, by window and target.
    areas: HashMap<(usize, u32), Vec<u64>>,
    /// How often this rank has fetched and added, or added by compare-and-swap, by window, target and number.
    added: HashMap<(usize, u32, u64), u64>,
    sources: Vec<Vec<u64>>,
    /// Gets that have not been completed.
    results: Vec<Awaited>,
    /// Result buffers whose calls have failed.
    spent: Vec<Box<[u64]>>,
}

/// What a get brings.
#[derive(Debug)]
struct Awaited {
    window: usize,
    target: u32,
    got: Box<[u64]>,
    expected: Vec<u64>,
}

impl Sheet {
    pub(super) fn new(me: u32) -> Self {
        Self {
            me,
            open: (0..WINDOWS).map(|_| Open::default()).collect(),
            areas: HashMap::new(),
            added: HashMap::new(),
            sources: Vec::new(),
            results: Vec::new(),
            spent: Vec::new(),
        }
    }

    /// Whether the epoch that a step belongs to has not been opened.
    pub(super) fn is_to_skip(&self, step: &Step) -> bool {
        match step {
            Step::Unlock { window, target } | Step::Flush { window, target } => {
                !self.is_open(*window, *target)
            }
            Step::UnlockAll { window } | Step::FlushAll { window } => !self.open[*window].is_open_to_all,
            Step::Complete { group } => !group.iter().all(|target| self.is_open(POSTED, *target)),
            Step::Wait { .. } => !self.open[POSTED].is_exposed,
            other => other.place().is_some_and(|(window, target)| !self.is_open(window, target)),
        }
    }

    fn is_open(&self, window: usize, target: u32) -> bool {
        let open = &self.open[window];
        open.is_open_to_all || open.targets.contains(&target)
    }

    /// Notes how a step has ended: what is open now, and which buffers are this rank's again.
    pub(super) fn note(&mut self, step: &Step, is_ok: bool) {
        match step {
            Step::Lock { window, target, .. } if is_ok => {
                self.open[*window].targets.insert(*target);
            }
            Step::Unlock { window, target } => {
                self.open[*window].targets.remove(target);
            }
            Step::LockAll { window } => self.open[*window].is_open_to_all = is_ok,
            Step::UnlockAll { window } => self.open[*window].is_open_to_all = false,
            Step::Fence => self.open[FENCED].is_open_to_all = is_ok,
            Step::Post { .. } => self.open[POSTED].is_exposed = is_ok,
            Step::Wait { .. } => self.open[POSTED].is_exposed = false,
            Step::Start { group } if is_ok => self.open[POSTED].targets.extend(group),
            Step::Complete { group } => group.iter().for_each(|target| {
                self.open[POSTED].targets.remove(target);
            }),
            _ => {}
        }
        if !is_ok {
            let gone = self.results.extract_if(.., |get| step.completes(get.window, get.target));
            self.spent.extend(gone.map(|get| get.got));
        }
    }

    /// What a put of this step writes.
    pub(super) fn put(&mut self, at: usize, window: usize, target: u32, part: Part) -> ReadSpan {
        let value = stamp(self.me, at);
        let area = self.areas.entry((window, target)).or_insert_with(|| vec![0; AREA as usize]);
        area[part.at as usize..(part.at + part.len) as usize].fill(value);
        self.source(value, part.len)
    }

    /// What an accumulate adds.
    pub(super) fn add(&mut self, part: Part) -> ReadSpan {
        self.source(digit(self.me), part.len)
    }

    fn source(&mut self, value: u64, len: u64) -> ReadSpan {
        self.sources.push(vec![value; len as usize]);
        from(self.sources.last().map_or(&[], |source| source))
    }

    /// Where a get brings what this rank has put there.
    pub(super) fn get(&mut self, window: usize, target: u32, part: Part) -> WriteSpan {
        let range = part.at as usize..(part.at + part.len) as usize;
        let expected = self.areas.get(&(window, target));
        let expected = expected.map_or_else(|| vec![0; range.len()], |area| area[range.clone()].to_vec());
        let got = vec![u64::MAX; part.len as usize].into_boxed_slice();
        self.results.push(Awaited { window, target, got, expected });
        into(self.results.last_mut().map_or(&mut [], |get| &mut get.got))
    }

    /// What is wrong with a number that was fetched: it has counted every addition of this rank.
    pub(super) fn fetched(
        &mut self,
        at: usize,
        window: usize,
        target: u32,
        number: u64,
        old: u64,
    ) -> Option<Line> {
        let added = self.added.entry((window, target, number)).or_default();
        *added += 1;
        let (me, expected) = (self.me, *added - 1);
        (digit_of(old, me) != expected).then(|| {
            Line::Wrong(format!(
                "step {at}: number {number} of rank {target} in window {window} was {old:#x}, with {expected} additions \
                 of rank {me}"
            ))
        })
    }

    /// What is wrong with the gets that a step has completed: they hold what this rank has put there.
    pub(super) fn judge_results(&mut self, at: usize, step: &Step) -> Vec<Line> {
        let is_over = |get: &mut Awaited| step.completes(get.window, get.target);
        let over = self.results.extract_if(.., is_over);
        let wrong = over.filter_map(|Awaited { window, target, got, expected }| {
            let found = got.iter().zip(&expected).position(|(got, expected)| got != expected)?;
            Some(Line::Wrong(format!(
                "step {at}: a get from rank {target} in window {window} has {:#x} at {found} instead of {:#x}",
                got[found], expected[found]
            )))
        });
        wrong.collect()
    }

    /// Where an element of the own areas is.
    pub(super) fn own(&self, at: u64) -> Disp {
        Disp(OWN + AREA * u64::from(self.me) + at)
    }
}
