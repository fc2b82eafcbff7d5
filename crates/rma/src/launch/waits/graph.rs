//! Which rank waits for which in a job, and why none goes on: circles, and ranks that have not come.
//!
//! Pure: from the answers of two gatherings to findings. An edge leads from a rank that waits to one whose
//! program has to do something for that wait to end. It counts only when both gatherings show it, in the same
//! wait. Then it was there all the time between the last answer of the first and the first answer of the
//! second, so all edges of a finding were there at once. What ranks give without a call of theirs (answers to
//! operations) makes no edge.
//!
//! A circle is *closed* when, besides, no thread of its ranks can do anything but wait: then nothing but a
//! signal or another process can open it. A rank that may get what it waits for from any of several has no
//! edge.

use super::processes::Activity;
use crate::pmi::Ranks;
use crate::pmi::facts::{AnswerSummary, Fact, Hold, MOST_LINES, Said, Site, Wait, Want, WantKind};
use rma_core::host::{Instance, Way};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Ranks that a call of many names as missing: enough for a search, and few enough for large jobs.
const MOST_MISSING: usize = 64;

/// What is known of one rank.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Seen {
    pub(super) part: Part,
    /// What it has told, if its answer is over.
    pub(super) answer: Option<Answer>,
    pub(super) process: Activity,
}

/// How far a rank has come, as the launcher knows by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Part {
    /// Before `MPI_Init`.
    Starting,
    #[default]
    Running,
    /// In a barrier of the launcher, at the start or the end.
    Meeting,
    Finalized,
    Ended,
}

/// The answer of one rank, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) waits: Vec<WaitNode>,
    pub(super) holds: Vec<Hold>,
    pub(super) summary: AnswerSummary,
    lines: usize,
}

/// A wait with all that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaitNode {
    pub(super) number: u64,
    pub(super) call: String,
    pub(super) seconds: u64,
    pub(super) wants: Vec<Want>,
    pub(super) text: String,
}

/// A rank waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaitEdge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) what: WantKind,
    pub(super) site: Option<Site>,
    /// Whose lock.
    pub(super) target: Option<u32>,
    wait: u64,
    pub(super) call: String,
    pub(super) name: String,
    /// Which of the calls of many there.
    nth: Option<(Way, u64)>,
}

/// Why no rank goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Each waits for the next, and the last one for the first.
    Circle { edges: Vec<WaitEdge>, is_closed: bool },
    /// Ranks have not come to a call that others are in.
    Missing {
        call: String,
        what: WantKind,
        site: Option<Site>,
        name: String,
        instance: Option<Instance>,
        inside: Ranks,
        absent: Ranks,
    },
    /// Ranks have come to one call of many as different ones: the ranks of each, by call and place.
    Apart { calls: Vec<(String, String, Ranks)> },
    /// A rank has not done what others wait for.
    Idle { what: WantKind, target: Option<u32>, name: String, waiting: Ranks, rank: u32 },
}

/// A call of many: which, where, and which of those there.
type Call = (WantKind, Option<Site>, Option<(Way, u64)>);

/// What a rank owes others: which, what, where, and whose lock.
type Debt = (u32, WantKind, Option<Site>, Option<u32>);

impl Seen {
    /// What the launcher knows by itself.
    pub(in super::super) fn from_outside(part: Part, process: Activity) -> Self {
        Self { part, answer: None, process }
    }
}

impl Answer {
    /// Takes a fact; says whether it was the last one.
    pub(super) fn add(&mut self, said: Said) -> bool {
        self.lines += 1;
        let has_room = self.lines <= 2 * MOST_LINES;
        match said.fact {
            Fact::Wait(wait) if has_room => self.add_wait(wait),
            Fact::Hold(hold) if has_room => self.holds.push(hold),
            Fact::Wait(_) | Fact::Hold(_) => {}
            Fact::End(summary) => {
                self.summary = AnswerSummary { is_complete: summary.is_complete && has_room, ..summary };
                return true;
            }
        }
        false
    }

    fn add_wait(&mut self, wait: Wait) {
        let Wait { number, call, seconds, want, text } = wait;
        match self.waits.iter_mut().find(|known| known.number == number) {
            Some(known) => known.wants.extend(want),
            None => {
                self.waits.push(WaitNode { number, call, seconds, wants: want.into_iter().collect(), text })
            }
        }
    }

    /// The wait of a thread of the rank in such a call of many, and which of them it is in.
    pub(super) fn wait_in(
        &self,
        what: WantKind,
        site: Option<Site>,
    ) -> Option<(&WaitNode, Option<Instance>)> {
        self.waits.iter().find_map(|wait| {
            let want = wait.wants.iter().find(|want| want.what == what && want.site == site)?;
            Some((wait, want.instance))
        })
    }

    /// Whether the rank takes part in such a call, waiting or not, or in one that comes after it.
    fn is_in(&self, what: WantKind, site: Option<Site>, instance: Option<Instance>) -> bool {
        match self.wait_in(what, site) {
            Some((_, own)) => !is_before(own, instance),
            None => site.is_some_and(|site| self.summary.joined.contains(&site.context)),
        }
    }

    /// Whether the rank is in a call that gives this lock back, and needs no call more for that.
    fn gives_back(&self, site: Site, target: u32) -> bool {
        let is_here = |want: &Want| want.site == Some(site);
        self.waits.iter().any(|wait| match wait.call.as_str() {
            "unlock" => wait.wants.iter().any(|want| is_here(want) && want.ranks.contains(target)),
            // It may give back each as soon as it can.
            "unlock_all" => wait.wants.iter().any(is_here),
            _ => false,
        })
    }

    /// Whether no thread of the rank's program can do anything before one of its waits ends.
    fn is_blocked(&self) -> bool {
        self.summary.is_complete && self.summary.is_blocked && !self.waits.is_empty()
    }
}

/// Whether one of the calls of many at a place is known to come before another one.
pub(super) fn is_before(one: Option<Instance>, other: Option<Instance>) -> bool {
    let both = one.zip(other).filter(|(one, other)| one.way == other.way);
    both.is_some_and(|(one, other)| one.number < other.number)
}

/// The edges of one gathering, in order.
pub(super) fn edges(seen: &[Seen]) -> Vec<WaitEdge> {
    let mut holders: HashMap<(Site, u32), BTreeSet<(u32, bool)>> = HashMap::new();
    for hold in seen.iter().filter_map(|seen| seen.answer.as_ref()).flat_map(|answer| &answer.holds) {
        holders.entry((hold.site, hold.target)).or_default().insert((hold.holder, hold.is_exclusive));
    }
    let mut edges = BTreeSet::new();
    for (from, answer) in (0u32..).zip(seen).filter_map(|(rank, seen)| Some((rank, seen.answer.as_ref()?))) {
        for wait in &answer.waits {
            for want in &wait.wants {
                let target = want.ranks.first().filter(|_| want.what.is_lock());
                let to = |rank: u32| WaitEdge {
                    from,
                    to: rank,
                    what: want.what,
                    site: want.site,
                    target,
                    wait: wait.number,
                    call: wait.call.clone(),
                    name: want.name.clone(),
                    nth: want.instance.map(|Instance { way, number }| (way, number)),
                };
                match (want.what, want.site, target) {
                    (WantKind::ExclusiveLock | WantKind::SharedLock, Some(site), Some(target)) => {
                        let all = holders.get(&(site, target)).into_iter().flatten();
                        let in_the_way = all.filter(|(holder, is_exclusive)| {
                            let gives_back = seen
                                .get(*holder as usize)
                                .and_then(|seen| seen.answer.as_ref())
                                .is_some_and(|answer| answer.gives_back(site, target));
                            !gives_back && (*is_exclusive || want.what == WantKind::ExclusiveLock)
                        });
                        edges.extend(in_the_way.map(|(holder, _)| to(*holder)));
                    }
                    (what, site, _) if what.is_collective() => {
                        let is_absent = |rank: &u32| {
                            let other = seen.get(*rank as usize).and_then(|seen| seen.answer.as_ref());
                            *rank != from
                                && !other.is_some_and(|answer| answer.is_in(what, site, want.instance))
                        };
                        edges.extend(want.ranks.iter().filter(is_absent).take(MOST_MISSING).map(to));
                    }
                    (WantKind::Posts | WantKind::Completes | WantKind::Message | WantKind::Receipt, ..) => {
                        edges.extend(want.ranks.iter().map(to));
                    }
                    _ => {}
                }
            }
        }
    }
    edges.into_iter().collect()
}

/// What follows from two gatherings, the later one second.
pub(super) fn findings(before: &[Seen], now: &[Seen]) -> Vec<Finding> {
    let (first, second) = (edges(before), edges(now));
    let is_old = |edge: &WaitEdge| first.binary_search(edge).is_ok();
    let waiting: BTreeSet<u32> = second.iter().map(|edge| edge.from).collect();
    let edges: Vec<WaitEdge> = second.into_iter().filter(is_old).collect();
    let answer = |seen: &[Seen], rank: u32| seen.get(rank as usize)?.answer.clone();
    let is_blocked = |rank: u32| match (answer(before, rank), answer(now, rank)) {
        // Nor has anything come or gone meanwhile.
        (Some(before), Some(now)) => {
            before.is_blocked() && now.is_blocked() && before.summary.moved == now.summary.moved
        }
        _ => false,
    };
    let circles = circles(&edges).into_iter().map(|edges| {
        let is_closed = edges.iter().all(|edge| is_blocked(edge.from));
        Finding::Circle { edges, is_closed }
    });
    let found = missing(&edges, now).into_iter().chain(apart(before, now)).chain(circles);
    found.chain(idle(&edges, &waiting, now)).collect()
}

/// The collectives that ranks wait in as different calls, or with different roots, in the same waits as before.
fn apart(before: &[Seen], now: &[Seen]) -> Vec<Finding> {
    let is_collective = |want: &&Want| want.what == WantKind::Collective && want.instance.is_some();
    let mut together: BTreeMap<_, BTreeMap<(String, String), Ranks>> = BTreeMap::new();
    for ((rank, was), is) in (0u32..).zip(before).zip(now) {
        for wait in waits(is) {
            let before = waits(was).find(|old| old.number == wait.number);
            let lasts = |want: &&Want| before.is_some_and(|old| old.wants.contains(want));
            for want in wait.wants.iter().filter(is_collective).filter(lasts) {
                let nth = want.instance.map(|Instance { way, number }| (way, number));
                let calls = together.entry((want.site, nth)).or_default();
                calls.entry((wait.call.clone(), want.name.clone())).or_default().add(rank);
            }
        }
    }
    let are_apart =
        |calls: &BTreeMap<_, _>| calls.keys().any(|one| calls.keys().any(|other| differ(one, other)));
    let findings = together.into_values().filter(are_apart);
    findings
        .map(|calls| Finding::Apart {
            calls: calls.into_iter().map(|((call, name), ranks)| (call, name, ranks)).collect(),
        })
        .collect()
}

fn waits(seen: &Seen) -> impl Iterator<Item = &WaitNode> {
    seen.answer.iter().flat_map(|answer| &answer.waits)
}

/// Whether two waits in a collective, each with the call and its name, are in different ones. Of a wait for requests the call is not known,
/// nor the root of a rank that has none.
fn differ((call, name): &(String, String), (other_call, other_name): &(String, String)) -> bool {
    let is_known = |call: &str| !call.starts_with("wait") && !call.starts_with("test");
    let are_calls_apart = call != other_call && is_known(call) && is_known(other_call);
    are_calls_apart || !(name.starts_with(other_name.as_str()) || other_name.starts_with(name.as_str()))
}

/// The calls of many that some are in and others are not.
fn missing(edges: &[WaitEdge], now: &[Seen]) -> Vec<Finding> {
    let inside = |(what, site, nth): Call| {
        let is_inside = |seen: &Seen| {
            let wait = seen.answer.as_ref().and_then(|answer| answer.wait_in(what, site));
            wait.is_some_and(|(_, own)| own.map(|own| (own.way, own.number)) == nth)
        };
        (0u32..).zip(now).filter(|(_, seen)| is_inside(seen)).map(|(rank, _)| rank).collect()
    };
    let mut calls: BTreeMap<Call, Vec<&WaitEdge>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.what.is_collective()) {
        calls.entry((edge.what, edge.site, edge.nth)).or_default().push(edge);
    }
    let finding = |(of, edges): (Call, Vec<&WaitEdge>)| Finding::Missing {
        call: edges[0].call.clone(),
        what: of.0,
        site: of.1,
        name: edges[0].name.clone(),
        instance: of.2.map(|(way, number)| Instance { way, number }),
        inside: inside(of),
        absent: edges.iter().map(|edge| edge.to).collect(),
    };
    calls.into_iter().map(finding).collect()
}

/// Ranks that others wait for and that wait for no rank themselves, as far as is known.
fn idle(edges: &[WaitEdge], waiting: &BTreeSet<u32>, now: &[Seen]) -> Vec<Finding> {
    let mut owed: BTreeMap<Debt, Vec<(u32, &str)>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| !edge.what.is_collective() && !waiting.contains(&edge.to)) {
        let key = (edge.to, edge.what, edge.site, edge.target);
        owed.entry(key).or_default().push((edge.from, &edge.name));
    }
    // A stopped rank does not answer operations either, which need no call of its program.
    let is_away = |rank: u32| {
        now.get(rank as usize).is_some_and(|seen| {
            seen.part == Part::Running && (seen.process == Activity::Stopped || seen.answer.is_none())
        })
    };
    for (from, seen) in (0u32..).zip(now) {
        let wants = seen.answer.iter().flat_map(|answer| &answer.waits).flat_map(|wait| &wait.wants);
        for want in wants.filter(|want| want.what == WantKind::Answers) {
            for rank in want.ranks.iter().filter(|rank| is_away(*rank)) {
                owed.entry((rank, want.what, want.site, None)).or_default().push((from, &want.name));
            }
        }
    }
    let finding = |((rank, what, _, target), waiting): (Debt, Vec<(u32, &str)>)| Finding::Idle {
        what,
        target,
        name: waiting[0].1.to_owned(),
        waiting: waiting.iter().map(|(from, _)| *from).collect(),
        rank,
    };
    owed.into_iter().map(finding).collect()
}

/// Circles that have no rank in common, short ones of low ranks first. A rank that waits for itself is one.
fn circles(edges: &[WaitEdge]) -> Vec<Vec<WaitEdge>> {
    let mut by_rank: BTreeMap<u32, Vec<&WaitEdge>> = BTreeMap::new();
    for edge in edges {
        by_rank.entry(edge.from).or_default().push(edge);
    }
    let mut circles = Vec::new();
    loop {
        prune(&mut by_rank);
        let Some(rank) = by_rank.keys().next().copied() else { return circles };
        match circle_through(rank, &by_rank) {
            None => drop(by_rank.remove(&rank)),
            Some(circle) => {
                circle.iter().for_each(|edge| drop(by_rank.remove(&edge.from)));
                circles.push(circle);
            }
        }
    }
}

/// Takes out ranks that wait for no waiting rank: they are on no circle.
fn prune(by_rank: &mut BTreeMap<u32, Vec<&WaitEdge>>) {
    loop {
        let waits: BTreeSet<u32> = by_rank.keys().copied().collect();
        by_rank.values_mut().for_each(|edges| edges.retain(|edge| waits.contains(&edge.to)));
        by_rank.retain(|_, edges| !edges.is_empty());
        if by_rank.len() == waits.len() {
            return;
        }
    }
}

/// A shortest circle through a rank.
fn circle_through(start: u32, by_rank: &BTreeMap<u32, Vec<&WaitEdge>>) -> Option<Vec<WaitEdge>> {
    let mut came_by: BTreeMap<u32, &WaitEdge> = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(rank) = next.pop_front() {
        for edge in by_rank.get(&rank).into_iter().flatten() {
            if edge.to == start {
                let mut circle = vec![(*edge).clone()];
                let mut at = rank;
                while at != start {
                    circle.push(came_by[&at].clone());
                    at = came_by[&at].from;
                }
                circle.reverse();
                return Some(circle);
            }
            came_by.entry(edge.to).or_insert_with(|| {
                next.push_back(edge.to);
                edge
            });
        }
    }
    None
}
