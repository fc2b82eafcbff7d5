//! What this rank tells the launcher of itself when it is asked: what its threads wait for, and which locks are held.
//!
//! A thread of its own answers, and ends: the thread that reads the question may hold the connection and the
//! engine.

use crate::agent::with_signals_blocked;
use crate::join::Start;
use crate::pmi::facts::{AnswerSummary, Fact, Hold, MOST_LINES, Said, Site, Wait, Want, WantKind};
use crate::runtime::Runtime;
use rma_core::Inquiry;
use rma_core::control::LockKind;
use rma_core::host::{HeldLock, Need, Place};
use rma_core::ids::Peer;
use rma_core::progress::LastingWait;
use std::sync::Weak;
use std::thread::Builder;
use std::time::Duration;

/// How long the threads that wait may take to say what for.
const LIMIT: Duration = Duration::from_millis(500);
/// The threads of a process that are the library's own, by their names.
const OWN_THREADS: [&str; 4] = ["rma-agent", "rma-notices", "rma-parting", "rma-report"];

/// Has the report of this number answered.
pub(crate) fn begin(number: u64, runtime: Weak<Runtime>, start: Weak<dyn Start>) {
    let answers = move || {
        let Some(start) = start.upgrade() else { return };
        let Some(launcher) = start.overseer() else { return };
        for fact in facts(runtime.upgrade().as_deref()) {
            if launcher.say(&Said { report: number, fact }.line()).is_err() {
                return;
            }
        }
    };
    // Without the thread the launcher says that this rank does not answer.
    let _ = with_signals_blocked(|| Builder::new().name("rma-report".to_owned()).spawn(answers));
}

fn facts(runtime: Option<&Runtime>) -> Vec<Fact> {
    let Some(runtime) = runtime else { return vec![Fact::End(AnswerSummary::default())] };
    let inquiry = runtime.engine.inquire(LIMIT, MOST_LINES / 2);
    let (mut waits, held) = (Vec::new(), inquiry.waits.iter().flat_map(|wait| &wait.awaited.holds));
    let holds: Vec<_> =
        held.chain(&inquiry.held).take(MOST_LINES).map(|held| Fact::Hold(hold(held))).collect();
    inquiry.waits.iter().for_each(|wait| facts_of(wait, runtime, &mut waits));
    let are_all = waits.len() <= MOST_LINES && holds.len() < MOST_LINES;
    waits.truncate(MOST_LINES);
    let summary = AnswerSummary {
        is_complete: inquiry.is_complete && are_all,
        is_blocked: is_blocked(&inquiry) && !runtime.messenger.has_unsent(),
        moved: inquiry.moved + runtime.messenger.packets_sent(),
        away: inquiry.away.map(|away| away.as_secs()),
        joined: runtime.messenger.joined().into_iter().collect(),
    };
    waits.into_iter().map(Fact::Wait).chain(holds).chain([Fact::End(summary)]).collect()
}

/// Whether no thread of the program can do anything before a wait ends.
fn is_blocked(inquiry: &Inquiry) -> bool {
    let waits = inquiry.waits.len();
    // Where one thread at a time may call, the others call nothing while it waits.
    waits > 0 && (inquiry.has_one_caller || other_threads() == Some(waits))
}

/// The threads of this process that are not the library's.
fn other_threads() -> Option<usize> {
    let mut others = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let thread = thread.ok()?;
        let name = std::fs::read_to_string(thread.path().join("comm")).ok()?;
        others += usize::from(!OWN_THREADS.contains(&name.trim_end()));
    }
    Some(others)
}

fn facts_of(wait: &LastingWait, runtime: &Runtime, all: &mut Vec<Wait>) {
    let fact = |want| Wait {
        number: wait.number,
        call: wait.call.to_owned(),
        seconds: wait.waited.as_secs(),
        want,
        text: wait.awaited.text.clone(),
    };
    if wait.awaited.needs.is_empty() {
        all.push(fact(None));
    }
    all.extend(wait.awaited.needs.iter().map(|need| fact(Some(want(need, runtime)))));
}

fn want(need: &Need, runtime: &Runtime) -> Want {
    let (what, place, peers) = match need {
        Need::Lock { window, target, kind: LockKind::Exclusive } => {
            (WantKind::ExclusiveLock, Some(window), std::slice::from_ref(target))
        }
        Need::Lock { window, target, kind: LockKind::Shared } => {
            (WantKind::SharedLock, Some(window), std::slice::from_ref(target))
        }
        Need::Fence(place, peers) => (WantKind::Fence, Some(place), &**peers),
        Need::Posts(place, peers) => (WantKind::Posts, Some(place), &**peers),
        Need::Completes(place, peers) => (WantKind::Completes, Some(place), &**peers),
        Need::Answers(place, peers) => (WantKind::Answers, Some(place), &**peers),
        Need::Free(place, peers) => (WantKind::Free, Some(place), &**peers),
        Need::Creation(place, peers) => (WantKind::Creation, Some(place), &**peers),
        Need::Collective(place, peers) => (WantKind::Collective, Some(place), &**peers),
        Need::Message(peer) => (WantKind::Message, None, peer.as_slice()),
        Need::Receipt(peer) => (WantKind::Receipt, None, std::slice::from_ref(peer)),
        Need::Requests(peers) => {
            let ranks = peers.iter().flatten().map(|peer| peer.0).collect();
            let is_whole = !peers.contains(&None);
            return Want {
                what: WantKind::Requests,
                site: None,
                name: String::new(),
                instance: None,
                ranks,
                is_whole,
            };
        }
        // The engine tells what it needs instead.
        Need::Operation(..) => (WantKind::Requests, None, &[][..]),
    };
    let name = place.map_or_else(String::new, |place| name(place, runtime));
    let ranks = peers.iter().map(|peer: &Peer| peer.0).collect();
    let instance = place.and_then(|place| place.instance);
    Want { what, site: place.map(site), name, instance, ranks, is_whole: true }
}

fn hold(held: &HeldLock) -> Hold {
    Hold {
        site: site(&held.window),
        name: held.window.name.clone(),
        target: held.target.0,
        holder: held.holder.0,
        is_exclusive: held.kind == LockKind::Exclusive,
    }
}

fn site(place: &Place) -> Site {
    Site { context: place.context, window: place.window.map(|window| window.to_bits()) }
}

/// What users call a place. The world's communicator has the first context. A place in a communicator has no name but that of the root
/// behind it.
fn name(place: &Place, runtime: &Runtime) -> String {
    match (place.window, runtime.communicator_name(place.context)) {
        (Some(_), _) => place.name.clone(),
        (None, Some(name)) => name + &place.name,
        (None, None) if place.context == 0 => format!("MPI_COMM_WORLD{}", place.name),
        (None, None) => String::new(),
    }
}
