//! Findings, and the text of the reports, for jobs whose ranks have reported given facts.

use super::graph::{Answer, Finding, Part, Seen, findings};
use super::processes::Activity;
use super::report::{Reason, Reports, Step};
use super::words::lines;
use crate::pmi::facts::{AnswerSummary, Fact, Hold, Said, Site, Wait, Want, WantKind};
use rma_core::host::{Instance, Way};
use std::time::{Duration, Instant};

const FORCES: Site = Site { context: 0, window: Some(7) };
const OTHER: Site = Site { context: 0, window: Some(8) };
const WORLD: Site = Site { context: 0, window: None };

/// A rank that is in no call.
fn away() -> Seen {
    reported(&[end(true)])
}

fn end(is_blocked: bool) -> Fact {
    let away = Some(8);
    Fact::End(AnswerSummary { is_complete: true, is_blocked, moved: 1, away, joined: Vec::new() })
}

fn reported(facts: &[Fact]) -> Seen {
    let mut answer = Answer::default();
    let is_over = facts.iter().map(|fact| answer.add(Said { report: 1, fact: fact.clone() })).last();
    assert_eq!(is_over, Some(true));
    Seen { part: Part::Running, answer: Some(answer), process: Activity::Sleeps }
}

fn outside(part: Part, process: Activity) -> Seen {
    Seen::from_outside(part, process)
}

fn want(what: WantKind, site: Option<Site>, ranks: &[u32]) -> Want {
    let name = match site {
        Some(FORCES) => "window \"forces\"",
        Some(OTHER) => "window 2 made by MPI_Win_allocate",
        Some(_) => "MPI_COMM_WORLD",
        None => "",
    };
    let ranks = ranks.iter().copied().collect();
    Want { what, site, name: name.to_owned(), instance: None, ranks, is_whole: true }
}

fn wait(call: &str, want: Want) -> Fact {
    numbered(1, call, want)
}

fn numbered(number: u64, call: &str, want: Want) -> Fact {
    Fact::Wait(Wait { number, call: call.to_owned(), seconds: 12, want: Some(want), text: String::new() })
}

fn hold(site: Site, target: u32, holder: u32, is_exclusive: bool) -> Fact {
    Fact::Hold(Hold { site, name: "window \"forces\"".to_owned(), target, holder, is_exclusive })
}

/// A rank that holds its own lock, and wants that of another.
fn locker(rank: u32, wanted: u32) -> Seen {
    reported(&[
        wait("lock", want(WantKind::ExclusiveLock, Some(FORCES), &[wanted])),
        hold(FORCES, rank, rank, true),
        end(true),
    ])
}

fn waits(call: &str, what: WantKind, site: Option<Site>, ranks: &[u32]) -> Seen {
    reported(&[wait(call, want(what, site, ranks)), end(true)])
}

/// The findings of a job that stays as it is.
fn found(seen: &[Seen]) -> Vec<Finding> {
    findings(seen, seen)
}

fn said(seen: &[Seen]) -> Vec<String> {
    let lines = lines(seen, &found(seen));
    let states = super::words::lines(seen, &[]).len();
    lines[states..].to_vec()
}

fn closed(seen: &[Seen]) -> usize {
    found(seen).iter().filter(|found| matches!(found, Finding::Circle { is_closed: true, .. })).count()
}

#[test]
fn circles_of_locks_of_any_length_are_found() {
    for size in 2..=8 {
        let seen: Vec<_> = (0..size).map(|rank| locker(rank, (rank + 1) % size)).collect();
        let way: Vec<_> = (0..size).chain([0]).map(|rank| rank.to_string()).collect();
        let way = way.join(" → ");
        let expected = format!(
            "ranks {way} wait in a circle for locks of window \"forces\"; nothing they do can open it"
        );
        assert_eq!(said(&seen), [expected]);
        assert_eq!(closed(&seen), 1);
        // A rank that waits for one of the circle is not on it.
        let mut more = seen;
        more.push(locker(size, 0));
        assert_eq!(said(&more).len(), 1);
    }
}

#[test]
fn circles_with_no_rank_in_common_are_all_found() {
    let seen = [locker(0, 3), locker(1, 2), locker(2, 1), locker(3, 0), away()];
    let said = said(&seen);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("ranks 0 → 3 → 0 wait") && said[1].starts_with("ranks 1 → 2 → 1 wait"));
}

#[test]
fn no_circle_is_claimed_that_may_open() {
    // A rank with another thread.
    let open = reported(&[
        wait("lock", want(WantKind::ExclusiveLock, Some(FORCES), &[1])),
        hold(FORCES, 0, 0, true),
        end(false),
    ]);
    assert_eq!(
        said(&[open, locker(1, 0)]),
        ["ranks 0 → 1 → 0 wait in a circle for locks of window \"forces\""]
    );
    // Shared locks beside each other.
    let shared = |rank: u32| {
        let want = want(WantKind::SharedLock, Some(FORCES), &[1 - rank]);
        reported(&[wait("lock", want), hold(FORCES, rank, rank, false), end(true)])
    };
    assert_eq!(found(&[shared(0), shared(1)]), []);
    // A lock of another window.
    let other = reported(&[
        wait("lock", want(WantKind::ExclusiveLock, Some(FORCES), &[1])),
        hold(OTHER, 0, 0, true),
        end(true),
    ]);
    assert_eq!(
        found(&[other, locker(1, 0)]).iter().filter(|found| matches!(found, Finding::Circle { .. })).count(),
        0
    );
    // A lock that is being given back.
    for (call, wants) in [
        ("unlock", want(WantKind::ExclusiveLock, Some(FORCES), &[0])),
        ("unlock_all", want(WantKind::ExclusiveLock, Some(FORCES), &[1])),
    ] {
        let giver = reported(&[
            wait(call, wants),
            numbered(1, call, want(WantKind::ExclusiveLock, Some(FORCES), &[1])),
            hold(FORCES, 0, 0, true),
            end(true),
        ]);
        assert_eq!(closed(&[giver, locker(1, 0)]), 0, "{call}");
    }
    // Any of several messages, and answers, which need no call.
    let any = waits("receive", WantKind::Message, None, &[]);
    let requests = waits("wait", WantKind::Requests, None, &[0]);
    let answers = waits("flush", WantKind::Answers, Some(FORCES), &[0]);
    for other in [any, requests, answers] {
        assert_eq!(found(&[waits("receive", WantKind::Message, None, &[1]), other]).len(), 1);
    }
}

#[test]
fn what_only_one_gathering_shows_is_no_finding() {
    let seen = [locker(0, 1), locker(1, 0)];
    // The same wait for the same, but another one of the same rank.
    let want = want(WantKind::ExclusiveLock, Some(FORCES), &[0]);
    let again = reported(&[numbered(2, "lock", want), hold(FORCES, 1, 1, true), end(true)]);
    assert_eq!(findings(&seen, &[locker(0, 1), again]).len(), 0);
    assert_eq!(findings(&[locker(0, 1), away()], &seen).len(), 0);
    let served = |mut seen: Seen| {
        seen.answer.as_mut().unwrap().summary.moved += 1;
        seen
    };
    let moved = [locker(0, 1), served(locker(1, 0))];
    assert!(matches!(findings(&seen, &moved)[..], [Finding::Circle { is_closed: false, .. }]));
    let cut = |mut seen: Seen| {
        seen.answer.as_mut().unwrap().summary.is_complete = false;
        seen
    };
    let halves = [locker(0, 1), cut(locker(1, 0))];
    assert!(matches!(findings(&seen, &halves)[..], [Finding::Circle { is_closed: false, .. }]));
    assert!(matches!(findings(&halves, &seen)[..], [Finding::Circle { is_closed: false, .. }]));
}

#[test]
fn a_rank_that_never_entered_is_named_with_what_it_does_instead() {
    let fence = || waits("fence", WantKind::Fence, Some(FORCES), &[3]);
    let job = |last: Seen| [fence(), fence(), fence(), last];
    let never = "rank 3 never entered MPI_Win_fence on window \"forces\" that ranks 0-2 are in: ";
    let receive = waits("receive", WantKind::Message, None, &[1]);
    for (last, why) in [
        (receive, "it waits in MPI_Recv for a message from rank 1"),
        (away(), "it has slept outside MPI for 8 s"),
        (Seen { process: Activity::Runs, ..away() }, "it has computed outside MPI for 8 s"),
        (outside(Part::Running, Activity::Stopped), "it is stopped (SIGSTOP)"),
        (outside(Part::Running, Activity::Sleeps), "it does not answer"),
        (
            outside(Part::Meeting, Activity::Sleeps),
            "it waits in MPI_Init or MPI_Finalize for all other ranks",
        ),
        (outside(Part::Finalized, Activity::Sleeps), "it has finalized"),
        (outside(Part::Ended, Activity::Unknown), "it has ended"),
    ] {
        let said = said(&job(last));
        assert_eq!(said[0], format!("{never}{why}"));
        let circle = "ranks 1 → 3 → 1 wait in a circle; nothing they do can open it";
        assert_eq!(said[1..], if why.contains("MPI_Recv") { vec![circle] } else { vec![] });
    }
}

#[test]
fn ranks_in_different_calls_of_one_collective_are_told() {
    let inside = |call: &str, root: &str, number| {
        let mut want = want(WantKind::Collective, Some(WORLD), &[0, 1]);
        want.name += root;
        want.instance = Some(Instance { way: Way::Messages, number });
        reported(&[wait(call, want), end(true)])
    };
    let seen =
        [inside("gather", ", root 0", 3), inside("gather", ", root 1", 3), inside("gather", ", root 0", 3)];
    let roots = "ranks 0,2 are in MPI_Gather on MPI_COMM_WORLD, root 0, rank 1 is in MPI_Gather on MPI_COMM_WORLD, root 1: different calls of one collective";
    assert_eq!(said(&seen), [roots]);
    let seen = [inside("reduce", ", root 0", 3), inside("barrier", "", 3)];
    let calls = "rank 1 is in MPI_Barrier on MPI_COMM_WORLD, rank 0 is in MPI_Reduce on MPI_COMM_WORLD, root 0: different calls of one collective";
    assert_eq!(said(&seen), [calls]);
    // Also where a wait for requests, whose call is not known, stands between them.
    let requests = [inside("barrier", "", 3), inside("waitall", "", 3), inside("xreduce", "", 3)];
    assert!(found(&requests).iter().any(|found| matches!(found, Finding::Apart { .. })));
    // One that is told of as a wait for its request, and a root of the other group.
    assert_eq!(found(&[inside("barrier", "", 3), inside("waitall", "", 3)]), []);
    assert_eq!(found(&[inside("broadcast", ", root 0", 3), inside("broadcast", "", 3)]), []);
    // Not the same wait, and not the same one of the collectives.
    assert_eq!(findings(&[away(), away()], &seen), []);
    let apart = found(&[inside("gather", ", root 0", 3), inside("gather", ", root 1", 4)]);
    assert!(!apart.iter().any(|found| matches!(found, Finding::Apart { .. })), "{apart:?}");
}

#[test]
fn several_that_are_missing_are_told_by_what_they_do() {
    let barrier = || waits("barrier", WantKind::Collective, Some(WORLD), &[0, 1, 2, 3, 4]);
    let seen = [barrier(), away(), away(), outside(Part::Running, Activity::Stopped), barrier()];
    let never = "never entered MPI_Barrier on MPI_COMM_WORLD that ranks 0,4 are in:";
    let expected = [
        format!("ranks 1,2 {never} they have slept outside MPI for 8 s"),
        format!("rank 3 {never} it is stopped (SIGSTOP)"),
    ];
    assert_eq!(said(&seen), expected);
    // A rank that takes part without waiting is not missing.
    let mut joined = away();
    joined.answer.as_mut().unwrap().summary.joined = vec![0];
    let seen = [barrier(), joined, away(), outside(Part::Running, Activity::Stopped), barrier()];
    assert!(said(&seen)[0].starts_with("rank 2 never entered"));
}

#[test]
fn a_rank_that_has_not_done_its_part_is_named() {
    let mut keeper = away();
    keeper.answer = reported(&[hold(FORCES, 0, 2, true), end(true)]).answer;
    let lock = || waits("lock", WantKind::ExclusiveLock, Some(FORCES), &[0]);
    for (seen, expected) in [
        (
            [lock(), lock(), keeper],
            "rank 2 holds the lock of rank 0 on window \"forces\" that ranks 0,1 wait for: it has slept outside MPI for 8 s",
        ),
        (
            [waits("start", WantKind::Posts, Some(FORCES), &[2]), away(), away()],
            "rank 2 has not called MPI_Win_post on window \"forces\", for which rank 0 waits: it has slept outside MPI for 8 s",
        ),
        (
            [waits("wait", WantKind::Completes, Some(OTHER), &[1]), away(), away()],
            "rank 1 has not called MPI_Win_complete on window 2 made by MPI_Win_allocate, for which rank 0 waits: it has slept outside MPI for 8 s",
        ),
        (
            [waits("send", WantKind::Receipt, None, &[1]), away(), away()],
            "rank 1 has not received the message of rank 0, which waits: it has slept outside MPI for 8 s",
        ),
        (
            [
                waits("receive", WantKind::Message, None, &[1]),
                waits("wait", WantKind::Requests, None, &[2]),
                away(),
            ],
            "rank 1 has not sent the message that rank 0 waits for: it waits in MPI_Wait for requests, perhaps for a message from rank 2",
        ),
        (
            [
                waits("flush", WantKind::Answers, Some(FORCES), &[1]),
                outside(Part::Running, Activity::Stopped),
                away(),
            ],
            "rank 1 does not answer the operations of rank 0 on window \"forces\": it is stopped (SIGSTOP)",
        ),
    ] {
        assert_eq!(said(&seen), [expected]);
    }
    // A chain leads to its end.
    let seen = [
        waits("receive", WantKind::Message, None, &[1]),
        waits("receive", WantKind::Message, None, &[2]),
        away(),
    ];
    let end = "rank 2 has not sent the message that rank 1 waits for: it has slept outside MPI for 8 s";
    assert_eq!(said(&seen), [end]);
}

#[test]
fn circles_of_messages_and_a_rank_that_waits_for_itself() {
    let seen =
        [waits("receive", WantKind::Message, None, &[1]), waits("send", WantKind::Receipt, None, &[0])];
    let circle = "ranks 0 → 1 → 0 wait in a circle: rank 0 for rank 1, in MPI_Recv; rank 1 for rank 0, in MPI_Send; nothing they do can open it";
    assert_eq!(said(&seen), [circle]);
    let alone = [waits("receive", WantKind::Message, None, &[0])];
    assert_eq!(said(&alone), ["rank 0 waits for itself, in MPI_Recv; nothing they do can open it"]);
}

#[test]
fn equal_lines_are_one_line() {
    let fence = || waits("fence", WantKind::Fence, Some(FORCES), &[4]);
    let later = reported(&[
        Fact::Wait(Wait {
            number: 1,
            call: "fence".to_owned(),
            seconds: 10,
            want: Some(want(WantKind::Fence, Some(FORCES), &[4])),
            text: String::new(),
        }),
        end(true),
    ]);
    let seen =
        [fence(), later, fence(), fence(), away(), away(), outside(Part::Starting, Activity::Runs), fence()];
    assert_eq!(
        lines(&seen, &[]),
        [
            "ranks 0-3,7 have waited 10 to 12 s in MPI_Win_fence on window \"forces\"",
            "ranks 4,5 have slept outside MPI for 8 s",
            "rank 6 has not come to MPI_Init",
        ]
    );
    let longer = |seconds| {
        let mut seen = away();
        seen.answer.as_mut().unwrap().summary.away = Some(seconds);
        seen
    };
    assert_eq!(
        lines(&[longer(7), longer(9), longer(8)], &[]),
        ["ranks 0-2 have slept outside MPI for 7 to 9 s"]
    );
    assert_eq!(lines(&[longer(0)], &[]), ["rank 0 sleeps outside MPI"]);
    let wordy = reported(&[
        Fact::Wait(Wait {
            number: 1,
            call: "win_detach".to_owned(),
            seconds: 3,
            want: None,
            text: "transfers to end".to_owned(),
        }),
        end(true),
    ]);
    assert_eq!(lines(&[wordy], &[]), ["rank 0 has waited 3 s in MPI_Win_detach for transfers to end"]);
}

/// Feeds a report with the same answers twice; gives the last step.
fn run(reports: &mut Reports, first: Step, now: &mut Instant, facts: &dyn Fn(u32) -> Vec<Fact>) -> Step {
    let look = |_| outside(Part::Running, Activity::Sleeps);
    let mut step = first;
    for _ in 0..10 {
        match step {
            Step::Ask(report) => {
                reports.asked(0..2);
                for rank in 0..2 {
                    facts(rank).into_iter().for_each(|fact| reports.hear(rank, Said { report, fact }));
                }
            }
            Step::Tell { .. } => return step,
            Step::Nothing => *now = reports.wakes_at().expect("something is under way").max(*now),
        }
        step = reports.step(*now, &look);
    }
    panic!("no end");
}

#[test]
fn a_report_is_two_gatherings_and_is_told_again_when_it_is_another_or_twice_as_long() {
    let seconds = std::cell::Cell::new(1);
    let facts = |rank: u32| {
        let want = want(WantKind::ExclusiveLock, Some(FORCES), &[1 - rank]);
        let (call, text) = ("lock".to_owned(), String::new());
        let wait = Wait { number: 4, call, seconds: seconds.get(), want: Some(want), text };
        vec![Fact::Wait(wait), hold(FORCES, rank, rank, true), end(true)]
    };
    let mut reports = Reports::new(2);
    let mut now = Instant::now();
    let mut tell = |reports: &mut Reports, reason, after: u64| {
        now += Duration::from_secs(after);
        let first = reports.want(reason, now);
        let Step::Tell { lines, is_deadlock, reason: reported } = run(reports, first, &mut now, &facts)
        else {
            panic!()
        };
        assert!(is_deadlock && reported == reason);
        lines.len()
    };
    assert_eq!(tell(&mut reports, Reason::Wait, 1), 3);
    // Nothing new.
    assert_eq!(tell(&mut reports, Reason::Wait, 20), 0);
    assert_eq!(tell(&mut reports, Reason::Signal, 0), 3);
    seconds.set(2);
    assert_eq!(tell(&mut reports, Reason::Wait, 20), 3);
    assert_eq!(tell(&mut reports, Reason::Timeout, 0), 3);
}

#[test]
fn a_silent_rank_is_waited_for_for_two_seconds_and_a_stopped_one_is_not() {
    let look = |_| outside(Part::Running, Activity::Sleeps);
    let mut reports = Reports::new(3);
    let begin = Instant::now();
    let Step::Ask(report) = reports.want(Reason::Signal, begin) else { panic!() };
    reports.asked(0..2);
    reports.hear(0, Said { report, fact: end(true) });
    reports.hear(1, Said { report: report + 1, fact: end(true) });
    assert_eq!(reports.step(begin, &look), Step::Nothing);
    let until = reports.wakes_at().unwrap();
    assert_eq!(until - begin, Duration::from_secs(2));
    assert_eq!(reports.step(until, &look), Step::Nothing);
    let again = reports.wakes_at().unwrap();
    assert!(matches!(reports.step(again, &look), Step::Ask(_)));
    reports.asked(0..2);
    // Both have ended.
    reports.gone(0);
    reports.gone(1);
    let Step::Tell { lines, .. } = reports.step(again, &look) else { panic!() };
    assert_eq!(lines, ["ranks 0-2 do not answer"]);
}

#[test]
fn ranks_that_ask_often_are_told_of_at_times() {
    let look = |_| outside(Part::Running, Activity::Sleeps);
    let mut reports = Reports::new(2);
    let mut now = Instant::now();
    let first = reports.want(Reason::Wait, now);
    let _ = run(&mut reports, first, &mut now, &|_| vec![end(true)]);
    assert_eq!(reports.want(Reason::Wait, now), Step::Nothing);
    let at = reports.wakes_at().expect("it is due");
    assert!(at > now);
    assert_eq!(reports.step(now, &look), Step::Nothing);
    assert!(matches!(reports.step(at, &look), Step::Ask(_)));
}

/// Ranks that have called one collective, or fence, more or less than others are in the same call.
#[test]
fn a_rank_in_an_earlier_call_of_the_same_place_is_reported_with_both_numbers() {
    let nth = |call: &str, what, number, way| {
        let others =
            Want { instance: Some(Instance { way, number }), ..want(what, Some(WORLD), &[0, 1, 2, 3]) };
        reported(&[wait(call, others), end(true)])
    };
    let barrier = |number| nth("barrier", WantKind::Collective, number, Way::Messages);
    let late = nth("allreduce", WantKind::Collective, 6, Way::Messages);
    assert_eq!(
        said(&[barrier(7), barrier(7), barrier(7), late]),
        [
            "rank 3 is in MPI_Allreduce, collective 6 on MPI_COMM_WORLD, for 12 s while ranks 0-2 are in MPI_Barrier, collective 7"
        ]
    );
    let fence = |number, way| nth("fence", WantKind::Fence, number, way);
    let job = |number, way| [fence(6, way), fence(6, way), fence(number, way), away()];
    assert_eq!(
        said(&job(5, Way::Memory)),
        [
            "rank 3 never entered MPI_Win_fence on MPI_COMM_WORLD that rank 2 is in: it has slept outside MPI for 8 s",
            "rank 2 is in MPI_Win_fence, fence 5 on MPI_COMM_WORLD, for 12 s while ranks 0,1 are in MPI_Win_fence, fence 6",
            "rank 3 never entered MPI_Win_fence on MPI_COMM_WORLD that ranks 0,1 are in: it has slept outside MPI for 8 s",
        ]
    );
    // The same one, or one that is counted otherwise: nothing is known.
    let other = nth("barrier", WantKind::Collective, 2, Way::Memory);
    assert!(found(&[barrier(7), barrier(7), barrier(7), barrier(7)]).is_empty());
    assert!(found(&[barrier(7), barrier(7), barrier(7), other]).is_empty());
}
