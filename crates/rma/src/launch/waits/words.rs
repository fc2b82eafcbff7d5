//! The text of a report on a job that waits: one line for all ranks that do the same, then the findings.
//!
//! Pure. Ranks are those of `MPI_COMM_WORLD`, calls have the names of the C interface.

use super::graph::{Finding, Part, Seen, WaitEdge, WaitNode, is_before};
use super::processes::Activity;
use crate::pmi::Ranks;
use crate::pmi::facts::{Site, Want, WantKind};
use rma_core::host::Instance;

/// The lines of a report.
pub(super) fn lines(seen: &[Seen], findings: &[Finding]) -> Vec<String> {
    let mut lines = states(seen);
    lines.extend(findings.iter().flat_map(|finding| finding_lines(finding, seen)));
    lines
}

/// What a rank does, and for how many seconds, if that is known: a predicate of one.
struct Doing {
    does: String,
    seconds: Option<u64>,
}

/// Ranks that do the same.
struct Same {
    does: String,
    ranks: Ranks,
    /// The shortest and the longest time.
    seconds: Option<(u64, u64)>,
}

impl Doing {
    fn new(does: impl Into<String>) -> Self {
        Self { does: does.into(), seconds: None }
    }
}

impl Same {
    /// Puts ranks together, in the order of the first of each.
    fn of(all: impl Iterator<Item = (u32, Doing)>) -> Vec<Self> {
        let mut same: Vec<Self> = Vec::new();
        for (rank, Doing { does, seconds }) in all {
            let is_that =
                |known: &&mut Self| known.does == does && known.seconds.is_some() == seconds.is_some();
            match same.iter_mut().find(is_that) {
                Some(known) => {
                    known.ranks.add(rank);
                    known.seconds =
                        known.seconds.zip(seconds).map(|((least, most), s)| (least.min(s), most.max(s)));
                }
                None => {
                    let seconds = seconds.map(|seconds| (seconds, seconds));
                    same.push(Self { does, ranks: [rank].into_iter().collect(), seconds });
                }
            }
        }
        same
    }

    fn time(&self) -> String {
        match self.seconds {
            None => String::new(),
            Some((least, most)) if least == most => format!(" for {most} s"),
            Some((least, most)) => format!(" for {least} to {most} s"),
        }
    }

    /// What they do, as a predicate.
    fn predicate(&self) -> String {
        for_many(&self.does, self.ranks.len() > 1) + &self.time()
    }
}

/// One line for ranks that wait for the same, and one for those that do the same otherwise.
fn states(seen: &[Seen]) -> Vec<String> {
    let ranks = || (0u32..).zip(seen);
    let waits = ranks().flat_map(|(rank, seen)| {
        let waits = seen.answer.iter().flat_map(|answer| &answer.waits);
        waits.map(move |wait| (rank, Doing { does: in_what(wait), seconds: Some(wait.seconds) }))
    });
    let waits = Same::of(waits).into_iter().map(|same| {
        let has = if same.ranks.len() == 1 { "has" } else { "have" };
        let time = same.time();
        let time = time.strip_prefix(" for ").unwrap_or_default();
        format!("{} {has} waited {time} {}", same.ranks.named(), same.does)
    });
    let others = Same::of(ranks().filter_map(|(rank, seen)| Some((rank, state(seen)?))));
    waits.chain(others.iter().map(|same| format!("{} {}", same.ranks.named(), same.predicate()))).collect()
}

/// What a rank does that waits in no call.
fn state(seen: &Seen) -> Option<Doing> {
    let does = match seen.part {
        Part::Ended => "has ended",
        _ if seen.process == Activity::Stopped => "is stopped (SIGSTOP)",
        Part::Starting => "has not come to MPI_Init",
        Part::Meeting => "waits in MPI_Init or MPI_Finalize for all other ranks",
        Part::Finalized => "has finalized",
        Part::Running => return running(seen),
    };
    Some(Doing::new(does))
}

fn running(seen: &Seen) -> Option<Doing> {
    let Some(answer) = &seen.answer else { return Some(Doing::new("does not answer")) };
    if !answer.waits.is_empty() {
        return None;
    }
    let (does, done) = match seen.process {
        Activity::Runs => ("computes", "has computed"),
        Activity::Sleeps => ("sleeps", "has slept"),
        Activity::Stopped | Activity::Unknown => ("is", "has been"),
    };
    let seconds = answer.summary.away.filter(|seconds| *seconds > 0);
    let does = if seconds.is_some() { done } else { does };
    Some(Doing { does: format!("{does} outside MPI"), seconds })
}

/// The predicate of one as that of several.
fn for_many(state: &str, are_many: bool) -> String {
    if !are_many {
        return state.to_owned();
    }
    let (verb, rest) = state.split_once(' ').unwrap_or((state, ""));
    let verb = match verb {
        "has" => "have",
        "is" => "are",
        "does" => "do",
        other => other.strip_suffix('s').unwrap_or(other),
    };
    format!("{verb} {rest}")
}

/// Where a wait is, and for what: a clause that begins with "in".
fn in_what(wait: &WaitNode) -> String {
    let call = wait
        .wants
        .first()
        .map_or_else(|| call_name(&wait.call, None), |want| call_name(&wait.call, Some(want.what)));
    if wait.wants.is_empty() {
        return if wait.text.is_empty() {
            format!("in {call}")
        } else {
            format!("in {call} for {}", wait.text)
        };
    }
    if let ([Want { what: WantKind::Requests, ranks, .. }], true) =
        (&*wait.wants, is_for_counters(&wait.call))
    {
        return format!("in {call} for {}, perhaps by {}", wait.text, ranks.named());
    }
    let wants: Vec<_> = wait.wants.iter().map(want_clause).collect();
    let most = 4;
    let more = if wants.len() > most { " and more" } else { "" };
    format!("in {call} {}{more}", wants[..wants.len().min(most)].join(" and "))
}

fn want_clause(want: &Want) -> String {
    let Want { what, name, ranks, is_whole, .. } = want;
    let more = if *is_whole { "" } else { " and more" };
    let on = if name.is_empty() { String::new() } else { format!(" on {name}") };
    let whom = format!("{}{more}", ranks.named());
    match what {
        WantKind::ExclusiveLock | WantKind::SharedLock => format!("for the lock of {whom}{on}"),
        WantKind::Fence => format!("on {name}"),
        WantKind::Free => format!("of {name}"),
        WantKind::Creation => "with the other ranks of the window".to_owned(),
        WantKind::Collective if name.is_empty() => "of a communicator".to_owned(),
        WantKind::Collective => format!("on {name}"),
        WantKind::Posts => format!("for the post of {whom}{on}"),
        WantKind::Completes => format!("for {whom} to call MPI_Win_complete{on}"),
        WantKind::Answers => format!("for {whom} to answer operations{on}"),
        WantKind::Message if ranks.is_empty() => "for a message from any rank".to_owned(),
        WantKind::Message => format!("for a message from {whom}"),
        WantKind::Receipt => format!("for {whom} to receive a message"),
        WantKind::Requests if ranks.is_empty() => "for requests".to_owned(),
        WantKind::Requests => format!("for requests, perhaps for a message from {whom}"),
    }
}

/// Whether a call waits for counters that other ranks raise.
fn is_for_counters(call: &str) -> bool {
    matches!(call, "notification_wait" | "notification_wait_any")
}

/// The name of the C interface for a call as the library calls it.
fn call_name(call: &str, what: Option<WantKind>) -> String {
    const OF_WINDOWS: [&str; 12] = [
        "fence",
        "lock",
        "lock_all",
        "unlock",
        "unlock_all",
        "flush",
        "flush_all",
        "flush_local",
        "flush_local_all",
        "start",
        "complete",
        "post",
    ];
    let of_window = OF_WINDOWS.contains(&call) || call == "wait" && what == Some(WantKind::Completes);
    match call {
        _ if call.starts_with("MPI_") => call.to_owned(),
        _ if of_window => format!("MPI_Win_{call}"),
        "win_create" => "the creation of a window".to_owned(),
        "notification_wait" => "MPIX_Win_wait_notify".to_owned(),
        "notification_wait_any" => "MPIX_Win_waitany_notify".to_owned(),
        "receive" => "MPI_Recv".to_owned(),
        "send" => "MPI_Send".to_owned(),
        "broadcast" => "MPI_Bcast".to_owned(),
        _ => match call.split_once('_') {
            Some(("win" | "comm", rest)) => {
                let (first, _) = call.split_at(1);
                format!("MPI_{}{}_{rest}", first.to_uppercase(), &call[1..call.len() - rest.len() - 1])
            }
            _ => {
                let first = call.chars().next().map(|first| first.to_ascii_uppercase());
                let rest: String = call.chars().skip(1).collect();
                format!("MPI_{}{rest}", first.map(String::from).unwrap_or_default())
            }
        },
    }
}

fn finding_lines(finding: &Finding, seen: &[Seen]) -> Vec<String> {
    match finding {
        Finding::Circle { edges, is_closed } => vec![circle(edges, *is_closed)],
        Finding::Missing { call, what, site, name, instance, inside, absent } => {
            let call = call_name(call, Some(*what));
            let on = match what {
                WantKind::Free => format!(" of {name}"),
                _ if name.is_empty() => String::new(),
                _ => format!(" on {name}"),
            };
            let there = format!("{} {}", inside.named(), if inside.len() == 1 { "is" } else { "are" });
            let earlier = |rank: u32| in_earlier(seen.get(rank as usize)?, *what, *site, *instance);
            let (behind, absent): (Vec<_>, Vec<_>) = absent.iter().partition(|rank| earlier(*rank).is_some());
            let behind = Same::of(behind.into_iter().filter_map(|rank| Some((rank, earlier(rank)?))));
            let behind = behind.into_iter().map(|same| {
                let is = if same.ranks.len() == 1 { "is" } else { "are" };
                let there = format!("{there} in {}", nth(&call, *what, *instance));
                format!("{} {is} in {}{on},{} while {there}", same.ranks.named(), same.does, same.time())
            });
            let missing = by_reason(&absent.into_iter().collect(), seen).into_iter();
            let missing = missing.map(|(ranks, why)| {
                format!("{} never entered {call}{on} that {there} in: {why}", ranks.named())
            });
            behind.chain(missing).collect()
        }
        Finding::Apart { calls } => {
            let each = calls.iter().map(|(call, name, ranks)| {
                let is = if ranks.len() == 1 { "is" } else { "are" };
                let on = if name.is_empty() { String::new() } else { format!(" on {name}") };
                format!("{} {is} in {}{on}", ranks.named(), call_name(call, Some(WantKind::Collective)))
            });
            vec![format!("{}: different calls of one collective", each.collect::<Vec<_>>().join(", "))]
        }
        Finding::Idle { what, target, name, waiting, rank } => {
            let why = why(*rank, seen);
            let (waiting, wait) = (waiting.named(), if waiting.len() == 1 { "waits" } else { "wait" });
            let on = if name.is_empty() { String::new() } else { format!(" on {name}") };
            let target = target.map(|target| target.to_string()).unwrap_or_default();
            vec![match what {
                WantKind::ExclusiveLock | WantKind::SharedLock => {
                    format!(
                        "rank {rank} holds the lock of rank {target}{on} that {waiting} {wait} for: {why}"
                    )
                }
                WantKind::Posts => {
                    format!("rank {rank} has not called MPI_Win_post{on}, for which {waiting} {wait}: {why}")
                }
                WantKind::Completes => {
                    format!(
                        "rank {rank} has not called MPI_Win_complete{on}, for which {waiting} {wait}: {why}"
                    )
                }
                WantKind::Receipt => {
                    format!("rank {rank} has not received the message of {waiting}, which {wait}: {why}")
                }
                WantKind::Answers => {
                    format!("rank {rank} does not answer the operations of {waiting}{on}: {why}")
                }
                _ => format!("rank {rank} has not sent the message that {waiting} {wait} for: {why}"),
            }]
        }
    }
}

/// The call of many that a rank waits in, if that comes before another one at the same place.
fn in_earlier(seen: &Seen, what: WantKind, site: Option<Site>, other: Option<Instance>) -> Option<Doing> {
    let (wait, own) = seen.answer.as_ref()?.wait_in(what, site)?;
    let does = nth(&call_name(&wait.call, Some(what)), what, own);
    is_before(own, other).then_some(Doing { does, seconds: Some(wait.seconds) })
}

/// Which of the calls of many at a place one is.
fn nth(call: &str, what: WantKind, instance: Option<Instance>) -> String {
    let kind = if what == WantKind::Fence { "fence" } else { "collective" };
    instance.map_or_else(|| call.to_owned(), |instance| format!("{call}, {kind} {}", instance.number))
}

/// A circle: that of locks alone in short.
fn circle(edges: &[WaitEdge], is_closed: bool) -> String {
    let end = if is_closed { "; nothing they do can open it" } else { "" };
    let way: Vec<_> = edges.iter().chain(edges.first()).map(|edge| edge.from.to_string()).collect();
    let way = way.join(" → ");
    let (names, are_locks) = (names(edges), edges.iter().all(|edge| edge.what.is_lock()));
    if let [edge] = edges {
        let what = edge_clause(edge);
        return format!("rank {} waits for itself, {what}{end}", edge.from);
    }
    if are_locks {
        return format!("ranks {way} wait in a circle for locks of {names}{end}");
    }
    if edges.iter().any(|edge| edge.what.is_collective()) {
        // What each waits for is said beside it: the missing rank, and why.
        return format!("ranks {way} wait in a circle{end}");
    }
    let each = |edge: &WaitEdge| format!("rank {} for rank {}, {}", edge.from, edge.to, edge_clause(edge));
    let each: Vec<_> = edges.iter().map(each).collect();
    format!("ranks {way} wait in a circle: {}{end}", each.join("; "))
}

fn edge_clause(edge: &WaitEdge) -> String {
    let call = call_name(&edge.call, Some(edge.what));
    let on = if edge.name.is_empty() { String::new() } else { format!(" on {}", edge.name) };
    match (edge.what.is_lock(), edge.target) {
        (true, Some(target)) => format!("in {call} for the lock of rank {target}{on}"),
        _ => format!("in {call}{on}"),
    }
}

fn names(edges: &[WaitEdge]) -> String {
    let mut names: Vec<&str> = edges.iter().map(|edge| edge.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" and ")
}

/// Ranks by what they do instead.
fn by_reason(ranks: &Ranks, seen: &[Seen]) -> Vec<(Ranks, String)> {
    let all = Same::of(ranks.iter().map(|rank| (rank, doing(rank, seen)))).into_iter().map(|same| {
        let why = if same.ranks.len() == 1 { "it" } else { "they" };
        (same.ranks.clone(), format!("{why} {}", same.predicate()))
    });
    all.collect()
}

/// What a rank does that others wait for.
fn doing(rank: u32, seen: &[Seen]) -> Doing {
    let Some(seen) = seen.get(rank as usize) else { return Doing::new("is unknown") };
    state(seen).unwrap_or_else(|| {
        let waits: Vec<_> = seen.answer.iter().flat_map(|answer| &answer.waits).map(in_what).collect();
        Doing::new(format!("waits {}", waits.join(" and ")))
    })
}

fn why(rank: u32, seen: &[Seen]) -> String {
    by_reason(&[rank].into_iter().collect(), seen).remove(0).1
}
