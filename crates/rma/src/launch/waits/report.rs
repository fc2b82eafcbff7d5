//! When a report on a job is made: asks the ranks, collects the answers, asks again, and prints the findings once.
//!
//! ```text
//!            a rank waits too long, a signal, the time is over
//!   Quiet ──────────────────────────────────────────────────▶ Asking ── all have answered, or have had 2 s
//!     ▲                                                          ▲              │
//!     │                                            after a pause │              ▼ the first time
//!     └──────── reported, or nothing new ◀── the second time     └────────── Pausing
//! ```
//!
//! Two gatherings, because a finding has to be in both ([`super::graph`]). A report that a rank has caused is
//! repeated only when it differs, or the wait has lasted twice as long. No I/O and no clock:
//! [`super::super::job`] feeds it.

use super::graph::{Answer, Finding, Seen, findings};
use super::words;
use crate::pmi::facts::Said;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long a rank may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// From the first gathering to the second: what only passes by is over then.
const PAUSE: Duration = Duration::from_millis(300);
/// The shortest time between two gatherings that ranks ask for, when they have waited long.
const LONGEST_GAP: Duration = Duration::from_secs(10);
const SHORTEST_GAP: Duration = Duration::from_millis(500);

/// Why a job is reported on; a request of the user comes before a rank that only waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Reason {
    /// A rank has waited too long.
    Wait,
    /// The launcher was asked.
    Signal,
    /// The job is about to be ended.
    Timeout,
}

/// The reports of a job.
#[derive(Debug)]
pub(in super::super) struct Reports {
    size: u32,
    /// Number of the last gathering.
    number: u64,
    stage: ReportStage,
    /// What was reported last.
    reported: Option<Reported>,
    /// No gathering that ranks ask for before this.
    not_before: Option<Instant>,
    /// A rank has asked meanwhile.
    is_due: bool,
}

#[derive(Debug)]
enum ReportStage {
    Quiet,
    Asking { reason: Reason, deadline: Instant, answers: Vec<Asked>, before: Option<Vec<Seen>> },
    Pausing { reason: Reason, until: Instant, before: Vec<Seen> },
}

/// A rank in a gathering.
#[derive(Clone, Debug)]
enum Asked {
    /// It cannot answer: it was not asked.
    No,
    Missing(Answer),
    Over(Answer),
}

#[derive(Debug)]
struct Reported {
    /// The waits, by rank and number.
    waits: BTreeSet<(u32, u64)>,
    longest: u64,
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Step {
    Nothing,
    /// Ask the ranks for the report of this number.
    Ask(u64),
    /// Tell.
    Tell {
        reason: Reason,
        lines: Vec<String>,
        /// Whether there is a circle that the ranks cannot open.
        is_deadlock: bool,
    },
}

impl Reports {
    pub(in super::super) fn new(size: u32) -> Self {
        Self { size, number: 0, stage: ReportStage::Quiet, reported: None, not_before: None, is_due: false }
    }

    /// A report is wanted.
    pub(in super::super) fn want(&mut self, reason: Reason, now: Instant) -> Step {
        match &mut self.stage {
            ReportStage::Quiet if reason == Reason::Wait && self.not_before.is_some_and(|at| now < at) => {
                self.is_due = true;
                Step::Nothing
            }
            ReportStage::Quiet => self.ask(reason, None, now),
            ReportStage::Asking { reason: known, .. } | ReportStage::Pausing { reason: known, .. } => {
                *known = reason.max(*known);
                Step::Nothing
            }
        }
    }

    /// The ranks that were asked; the others cannot answer.
    pub(in super::super) fn asked(&mut self, ranks: impl Iterator<Item = u32>) {
        if let ReportStage::Asking { answers, .. } = &mut self.stage {
            for rank in ranks {
                answers[rank as usize] = Asked::Missing(Answer::default());
            }
        }
    }

    /// A rank has told something. Parts of other answers than those asked for now are too late.
    pub(in super::super) fn hear(&mut self, rank: u32, said: Said) {
        let ReportStage::Asking { answers, .. } = &mut self.stage else { return };
        let place = &mut answers[rank as usize];
        if said.report == self.number
            && let Asked::Missing(answer) = place
            && answer.add(said)
        {
            *place = Asked::Over(std::mem::take(answer));
        }
    }

    /// A rank has ended: it answers no more.
    pub(in super::super) fn gone(&mut self, rank: u32) {
        if let ReportStage::Asking { answers, .. } = &mut self.stage {
            answers[rank as usize] = Asked::No;
        }
    }

    /// When to call [`Reports::step`] next, if nothing happens before.
    pub(in super::super) fn wakes_at(&self) -> Option<Instant> {
        match &self.stage {
            ReportStage::Quiet => self.not_before.filter(|_| self.is_due),
            ReportStage::Asking { deadline, .. } => Some(*deadline),
            ReportStage::Pausing { until, .. } => Some(*until),
        }
    }

    /// Goes on. `look` says what the launcher knows of each rank by itself.
    pub(in super::super) fn step(&mut self, now: Instant, look: &dyn Fn(u32) -> Seen) -> Step {
        match std::mem::replace(&mut self.stage, ReportStage::Quiet) {
            ReportStage::Quiet if self.is_due && self.not_before.is_none_or(|at| now >= at) => {
                self.ask(Reason::Wait, None, now)
            }
            ReportStage::Quiet => Step::Nothing,
            ReportStage::Pausing { reason, until, before } if now < until => {
                self.stage = ReportStage::Pausing { reason, until, before };
                Step::Nothing
            }
            ReportStage::Pausing { reason, before, .. } => self.ask(reason, Some(before), now),
            ReportStage::Asking { reason, deadline, answers, before } => {
                if now < deadline && answers.iter().any(|asked| matches!(asked, Asked::Missing(_))) {
                    self.stage = ReportStage::Asking { reason, deadline, answers, before };
                    return Step::Nothing;
                }
                let seen = (0..).zip(answers).map(|(rank, asked)| {
                    let answer = if let Asked::Over(answer) = asked { Some(answer) } else { None };
                    Seen { answer, ..look(rank) }
                });
                let seen: Vec<Seen> = seen.collect();
                match before {
                    None => {
                        self.stage = ReportStage::Pausing { reason, until: now + PAUSE, before: seen };
                        Step::Nothing
                    }
                    Some(before) => self.conclude(reason, &before, &seen, now),
                }
            }
        }
    }

    fn ask(&mut self, reason: Reason, before: Option<Vec<Seen>>, now: Instant) -> Step {
        self.number += 1;
        self.is_due = false;
        let answers = vec![Asked::No; self.size as usize];
        self.stage = ReportStage::Asking { reason, deadline: now + ANSWER_LIMIT, answers, before };
        Step::Ask(self.number)
    }

    fn conclude(&mut self, reason: Reason, before: &[Seen], seen: &[Seen], now: Instant) -> Step {
        let waits = || {
            let ranks = (0u32..).zip(seen).filter_map(|(rank, seen)| Some((rank, seen.answer.as_ref()?)));
            ranks.flat_map(|(rank, answer)| answer.waits.iter().map(move |wait| (rank, wait)))
        };
        let reported = Reported {
            waits: waits().map(|(rank, wait)| (rank, wait.number)).collect(),
            longest: waits().map(|(_, wait)| wait.seconds).max().unwrap_or(0),
        };
        let gap = Duration::from_secs(reported.longest).clamp(SHORTEST_GAP, LONGEST_GAP);
        self.not_before = Some(now + gap);
        let findings = findings(before, seen);
        let is_deadlock =
            findings.iter().any(|found| matches!(found, Finding::Circle { is_closed: true, .. }));
        let is_new = self.reported.as_ref().is_none_or(|before| {
            before.waits != reported.waits || reported.longest >= 2 * before.longest.max(1)
        });
        // A wait that has ended meanwhile is not reported.
        let is_worth = reason != Reason::Wait || is_new && !reported.waits.is_empty();
        let lines = if is_worth { words::lines(seen, &findings) } else { Vec::new() };
        if is_worth {
            self.reported = Some(reported);
        }
        Step::Tell { reason, lines, is_deadlock }
    }
}
