//! What must be so when a job with a fault is over: by the diaries, the memory of the survivors, and the launcher's words.
//!
//! The rule for memory is one: an origin's step that has been completed counts, one that has begun may count, and nothing
//! else does. A survivor's steps to a survivor are complete once a later call of its epoch has completed them; the last step
//! of a dead rank may have been done in part.

use super::case::Case;
use super::diary::Line;
use super::program::{
    AREA, COUNTER, FENCED, OWN, PAIR, POSTED, SUMS, SWAPPED, Step, WINDOWS, digit_of, elements, stamp,
};
use std::collections::BTreeSet;
use std::fmt;

/// What has been found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A call has not returned.
    Hang,
    /// A value that no rank can have written, or one that is lost.
    Value,
    /// A call that must not fail has failed.
    Error,
    /// Start or end of a survivor's part in the job.
    Ends,
    /// The launcher names another rank or status.
    Blame,
    /// Something was left behind.
    Left,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Of which kind.
    pub kind: Kind,
    /// In words.
    pub text: String,
}

/// How a job has ended.
#[derive(Debug)]
pub struct End {
    /// The ranks that were seen to die.
    pub dead: Vec<u32>,
    /// Two living ranks that have lost each other.
    pub cut: Option<[u32; 2]>,
    /// By rank.
    pub diaries: Vec<Vec<Line>>,
    /// By rank: the elements of all windows, where they were written down.
    pub memory: Vec<Option<Vec<u64>>>,
    /// What the launcher has made of it, if there was one.
    pub said: Option<Said>,
}

/// How a launcher has ended.
#[derive(Debug)]
pub struct Said {
    /// Its status.
    pub code: i32,
    /// What it and the ranks said.
    pub stderr: String,
}

impl End {
    fn is_dead(&self, rank: u32) -> bool {
        self.dead.contains(&rank)
    }

    /// The peers that a rank has lost. A rank that could not enter the job because of a death in the barrier
    /// in front of it has ended, and others may have come through that barrier.
    fn lost_to(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        let cut = self.cut.filter(|pair| pair.contains(&rank));
        let partner = cut.map(|[a, b]| if a == rank { b } else { a });
        let ranks = 0..self.diaries.len() as u32;
        let left_out = ranks.filter(|other| self.lacks_a_rank() && self.could_not_start(*other));
        self.dead.iter().copied().chain(partner).chain(left_out)
    }

    /// Whether a rank died before the job was entered.
    fn lacks_a_rank(&self) -> bool {
        self.dead.iter().any(|dead| !self.diaries[*dead as usize].contains(&Line::Ready))
    }

    /// Whether a rank says that it could not enter the job.
    fn could_not_start(&self, rank: u32) -> bool {
        let is_so = |line: &Line| matches!(line, Line::Broken(why) if why.starts_with("start: "));
        self.diaries[rank as usize].iter().any(is_so)
    }

    /// Whether two ranks have lost each other.
    fn is_cut(&self, a: u32, b: u32) -> bool {
        self.cut.is_some_and(|pair| pair == [a, b] || pair == [b, a])
    }
}

/// How far a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Completed,
    Started,
    Never,
}

/// What is wrong.
pub fn judge(case: &Case, end: &End) -> Vec<Fault> {
    let mut judge = Judge { case, end, faults: Vec::new() };
    judge.check_lines();
    judge.check_failures();
    if case.goes_on || end.dead.is_empty() {
        if !case.ends_at_once() {
            judge.check_ends();
        }
        judge.check_memory();
    }
    if let Some(said) = &end.said {
        judge.check_launcher(said);
    }
    judge.faults
}

struct Judge<'a> {
    case: &'a Case,
    end: &'a End,
    faults: Vec<Fault>,
}

impl Judge<'_> {
    fn find(&mut self, kind: Kind, text: String) {
        self.faults.push(Fault { kind, text });
    }

    /// Failed steps, and what ranks have found wrong themselves.
    fn check_lines(&mut self) {
        let (case, end) = (self.case, self.end);
        for (rank, line) in
            (0..).zip(&self.end.diaries).flat_map(|(rank, lines)| lines.iter().map(move |line| (rank, line)))
        {
            // A rank that the launcher ends may see others end.
            let is_ended = !case.goes_on && !end.dead.is_empty();
            match line {
                Line::Wrong(why) => self.find(Kind::Value, format!("rank {rank}, {why}")),
                Line::Failed(at, why) if !is_ended => {
                    let step = &case.program.scripts[rank as usize][*at];
                    let is_of_loss = end.lost_to(rank).any(|lost| step.may_fail_with(lost, case.members));
                    let is_allowed = end.is_dead(rank) || (is_of_loss && is_loss(why, step));
                    if !is_allowed {
                        self.find(Kind::Error, format!("rank {rank}, step {at}, {step:?}: {why}"));
                    }
                }
                Line::Torn(at) => self.check_torn(rank, *at),
                _ => {}
            }
        }
    }

    /// Steps that cannot have been done without the dead.
    fn check_failures(&mut self) {
        for (rank, at) in self.case.must_fail.iter().copied() {
            if self.end.diaries[rank as usize].contains(&Line::Done(at)) {
                let step = &self.case.program.scripts[rank as usize][at];
                self.find(Kind::Error, format!("rank {rank}, step {at}, {step:?}, has not failed"));
            }
        }
    }

    /// A pair whose numbers differ: only a rank that died or lost the target in the same step can have left it.
    fn check_torn(&mut self, rank: u32, at: usize) {
        let end = self.end;
        let place = self.case.program.scripts[rank as usize][at].place();
        let is_left = end.dead.iter().chain(end.cut.iter().flatten()).any(|lost| {
            self.steps(*lost).any(|(_, step, progress)| {
                matches!(step, Step::Increment { .. })
                    && step.place() == place
                    && progress == Progress::Started
            })
        });
        if !is_left {
            self.find(Kind::Value, format!("rank {rank}, step {at}: an exclusive lock was not alone"));
        }
    }

    /// Survivors are through, and have left in order.
    fn check_ends(&mut self) {
        let end = self.end;
        for (rank, lines) in (0..).zip(&end.diaries).filter(|(rank, _)| !end.is_dead(*rank)) {
            let broken = lines.iter().filter_map(|line| match line {
                Line::Broken(why) => Some(why.clone()),
                _ => None,
            });
            let broken = broken.collect::<Vec<_>>();
            // A job that lacks a rank from the start cannot be entered.
            if end.lacks_a_rank() && end.could_not_start(rank) {
                continue;
            }
            if !lines.contains(&Line::Finalized) {
                self.find(Kind::Ends, format!("rank {rank} has not left in order: {broken:?}"));
            } else if let [why, ..] = &broken[..] {
                self.find(Kind::Ends, format!("rank {rank}: {why}"));
            }
        }
    }

    /// Steps of an origin, with how far each has come.
    fn steps(&self, origin: u32) -> impl Iterator<Item = (usize, &Step, Progress)> {
        let (case, lines) = (self.case, &self.end.diaries[origin as usize]);
        let script = &case.program.scripts[origin as usize];
        let mut started = vec![false; script.len()];
        let mut ended = vec![None; script.len()];
        for line in lines {
            match line {
                Line::Begins(at) => started[*at] = true,
                Line::Done(at) => ended[*at] = Some(true),
                Line::Failed(at, _) => ended[*at] = Some(false),
                _ => {}
            }
        }
        script.iter().enumerate().map(move |(at, step)| {
            let progress = match (started[at], step.place()) {
                (false, _) => Progress::Never,
                (true, Some((window, target))) => {
                    let is_own =
                        matches!(step, Step::Fetch { .. } | Step::Swap { .. } | Step::Increment { .. });
                    let later = script.iter().enumerate().skip(at + 1);
                    let mut completer = later.filter(|(_, later)| later.completes(window, target));
                    // A call for all that has failed has done its part for those that are not lost.
                    let does_part =
                        |step: &Step| matches!(step, Step::UnlockAll { .. } | Step::FlushAll { .. });
                    let is_over = match self.end.is_cut(origin, target) {
                        // What the first call has lost no later one completes; the end of an active epoch does not say at the
                        // origin that anything has arrived.
                        true => window < FENCED && completer.find_map(|(at, _)| ended[at]) == Some(true),
                        false => completer
                            .any(|(at, step)| ended[at].is_some_and(|is_ok| is_ok || does_part(step))),
                    };
                    let is_done = ended[at] == Some(true) && (is_own || is_over);
                    if is_done { Progress::Completed } else { Progress::Started }
                }
                (true, None) => Progress::Completed,
            };
            (at, step, progress)
        })
    }

    fn check_memory(&mut self) {
        let end = self.end;
        for target in (0..self.case.ranks).filter(|rank| !end.is_dead(*rank)) {
            let Some(memory) = &end.memory[target as usize] else { continue };
            let len = elements(self.case.ranks) as usize;
            for window in 0..WINDOWS {
                self.check_window(window, target, &memory[window * len..(window + 1) * len]);
            }
        }
    }

    fn check_window(&mut self, window: usize, target: u32, memory: &[u64]) {
        let mut wrong = Vec::new();
        let mut pair = (0, 0);
        for origin in 0..self.case.ranks {
            let steps = self.steps(origin).filter(|(_, step, progress)| {
                step.place() == Some((window, target)) && *progress != Progress::Never
            });
            let steps = steps.collect::<Vec<_>>();
            // A loss in an active epoch leaves what the epoch has done open; else a survivor's steps are all complete.
            let is_lost = self.end.is_dead(origin) || self.end.is_cut(origin, target);
            let is_exact = window < FENCED && !is_lost;
            let open = steps.iter().find(|(.., progress)| *progress != Progress::Completed);
            if let (true, Some((at, step, _))) = (is_exact, open) {
                wrong.push(format!("rank {origin} has not completed step {at}, {step:?}"));
            }
            check_area(origin, &steps, memory, &mut wrong);
            check_sums(origin, &steps, memory, &mut wrong);
            let increments = steps.iter().filter(|(_, step, _)| matches!(step, Step::Increment { .. }));
            pair.1 += increments.clone().count() as u64;
            pair.0 += increments.filter(|(.., progress)| *progress == Progress::Completed).count() as u64;
        }
        let (first, second) = (memory[PAIR as usize], memory[PAIR as usize + 1]);
        let is_torn = first != second && pair.0 == pair.1;
        if is_torn || first.max(second) < pair.0 || first.max(second) > pair.1 {
            wrong.push(format!("the pair is {first}, {second} after {} to {} increments", pair.0, pair.1));
        }
        let name = match window {
            FENCED => "window of fences",
            POSTED => "window of posts",
            _ => "passive window",
        };
        wrong.truncate(3);
        for why in wrong {
            self.find(Kind::Value, format!("{name} {window}, target {target}: {why}"));
        }
    }

    /// The launcher's status and words.
    fn check_launcher(&mut self, said: &Said) {
        let (case, end) = (self.case, self.end);
        let dead = end.dead.first().copied();
        // A rank that has left without finalizing may be named before the dead.
        let was_through = |dead: u32| end.diaries[dead as usize].contains(&Line::Over);
        if case.ends_at_once() && dead.is_none_or(was_through) {
            return;
        }
        let words = said.stderr.lines().filter_map(|line| line.strip_prefix("rmarun: "));
        let named = words.filter_map(|line| {
            let number = line.strip_prefix("rank ")?.split(' ').next()?;
            Some((number.parse::<u32>().ok()?, line))
        });
        let named = named.collect::<Vec<_>>();
        let others = named.iter().filter(|(rank, _)| Some(*rank) != dead).collect::<Vec<_>>();
        let Some((dead, how)) = dead.zip(case.death.map(|death| death.how)) else {
            // A death that comes behind MPI_Finalize, before the process has ended, is the launcher's alone to tell of.
            let dies_at_last = |rank: u32| {
                case.death.is_some_and(|death| death.rank == rank)
                    && end.diaries[rank as usize].contains(&Line::Finalized)
            };
            let is_late = !named.is_empty() && named.iter().all(|(rank, _)| dies_at_last(*rank));
            if (said.code != 0 || !named.is_empty()) && !is_late {
                self.find(Kind::Blame, format!("no rank has died: status {}, {}", said.code, said.stderr));
            }
            return;
        };
        if said.code != how.code() {
            self.find(
                Kind::Blame,
                format!("status {} instead of {}: {}", said.code, how.code(), said.stderr),
            );
        } else if !named.iter().any(|(rank, line)| *rank == dead && line.contains(how.text())) {
            self.find(
                Kind::Blame,
                format!("rank {dead}, which {}, is not named: {}", how.text(), said.stderr),
            );
        } else if !case.ends_at_once()
            && !others.is_empty()
            && end.diaries[dead as usize].contains(&Line::Ready)
        {
            self.find(Kind::Blame, format!("others than rank {dead} are named: {others:?}"));
        }
    }
}

/// Every element of an own area is what the last completed put has left, or one that has begun after it.
fn check_area(origin: u32, steps: &[(usize, &Step, Progress)], memory: &[u64], wrong: &mut Vec<String>) {
    let first = (OWN + AREA * u64::from(origin)) as usize;
    let mut allowed = vec![BTreeSet::from([0]); AREA as usize];
    for (at, step, progress) in steps {
        let Step::Put { part, .. } = step else { continue };
        for values in &mut allowed[part.at as usize..(part.at + part.len) as usize] {
            if *progress == Progress::Completed {
                values.clear();
            }
            values.insert(stamp(origin, *at));
        }
    }
    let area = &memory[first..first + AREA as usize];
    if let Some((at, (got, values))) =
        area.iter().zip(&allowed).enumerate().find(|(_, (got, values))| !values.contains(got))
    {
        wrong.push(format!("element {at} of rank {origin}'s area is {got:#x}, not one of {values:x?}"));
    }
}

/// Every number has each origin's completed additions, and at most those that have begun.
fn check_sums(origin: u32, steps: &[(usize, &Step, Progress)], memory: &[u64], wrong: &mut Vec<String>) {
    let mut bounds = vec![(0u64, 0u64); SWAPPED as usize + 1];
    for (_, step, progress) in steps {
        let numbers = match step {
            Step::Add { part, .. } => part.at..part.at + part.len,
            Step::Fetch { .. } => COUNTER..COUNTER + 1,
            Step::Swap { .. } => SWAPPED..SWAPPED + 1,
            _ => continue,
        };
        for (least, most) in &mut bounds[numbers.start as usize..numbers.end as usize] {
            *least += u64::from(*progress == Progress::Completed);
            *most += 1;
        }
    }
    let digits = memory.iter().map(|number| digit_of(*number, origin));
    let found = digits.zip(&bounds).position(|(digit, (least, most))| digit < *least || digit > *most);
    if let Some(at) = found {
        let ((least, most), got) = (bounds[at], memory[at]);
        let what = if (at as u64) < SUMS { "sum" } else { "number" };
        wrong.push(format!("{what} {at} is {got:#x}: rank {origin} has added {least} to {most} times"));
    }
}

/// Whether a failure says that a rank is lost. A fence epoch that has ended with the dead is no epoch any more.
fn is_loss(why: &str, step: &Step) -> bool {
    let is_of_fence = step.place().is_some_and(|(window, _)| window == FENCED);
    let classes = ["MPI_ERR_PROC_ABORTED", "MPIX_ERR_PROC_FAILED", "MPIX_ERR_REVOKED"];
    classes.iter().any(|class| why.contains(class)) || (is_of_fence && why.contains("MPI_ERR_RMA_SYNC"))
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hang => "hang",
            Self::Value => "value",
            Self::Error => "error",
            Self::Ends => "ends",
            Self::Blame => "blame",
            Self::Left => "left",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.text)
    }
}
