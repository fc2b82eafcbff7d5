//! Runs a case: starts the job, sends the signals, tells survivors of the death, and looks at what is left.

use super::case::{Case, When};
use super::diary::{Line, Reader, death, memory};
use super::judge::{End, Fault, Kind, Said, judge};
use crate::job::{Job, Running, program};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The program that is a rank.
pub const PROGRAM: &str = "rma-test-faults";

/// How often diaries are read.
const LOOK: Duration = Duration::from_millis(1);

/// A job under way.
struct Watch<'a> {
    case: &'a Case,
    folder: &'a Path,
    running: Running,
    ranks: Vec<Watched>,
    ready_at: Option<Instant>,
    moved_at: Instant,
    is_killed: bool,
    stopped: Stopped,
    stopped_at: Instant,
    dead: Option<u32>,
}

/// One rank of it.
struct Watched {
    diary: Reader,
    process: Option<OwnedFd>,
    is_gone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    NotYet,
    Now,
    Over,
}

/// What came of a case.
#[derive(Debug)]
pub struct Verdict {
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// Whether a rank has died; it may have been through before.
    pub has_died: bool,
    /// Whether a rank was stopped before it was through.
    pub was_stopped: bool,
    /// From the death, or the start, to the end of the job.
    pub took: Duration,
}

/// What came of many cases.
#[derive(Debug, Default)]
pub struct Found {
    /// How many there were.
    pub jobs: u64,
    /// Those in which a rank has died.
    pub deaths: u64,
    /// Those in which one was stopped.
    pub stops: u64,
    /// The longest time from the last line that a rank wrote to the end of the job.
    pub longest: Duration,
    /// Seeds with faults, by kind.
    pub seeds: BTreeMap<Kind, Vec<u64>>,
}

/// Runs the cases of these seeds, so many at a time.
///
/// # Panics
/// As [`run`].
pub fn run_all(
    seeds: Range<u64>,
    workers: u64,
    bound: Duration,
    draw: impl Fn(u64) -> Case + Sync,
    on_verdict: impl Fn(&Case, &Verdict) + Sync,
) -> Found {
    let (next, found) = (AtomicU64::new(seeds.start), Mutex::new(Found::default()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= seeds.end {
                return;
            }
            let case = draw(seed);
            let verdict = run(&case, bound);
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.add(&case, &verdict);
            on_verdict(&case, &verdict);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Found {
    fn add(&mut self, case: &Case, verdict: &Verdict) {
        self.jobs += 1;
        self.deaths += u64::from(verdict.has_died);
        self.stops += u64::from(verdict.was_stopped);
        self.longest = self.longest.max(verdict.took);
        let kinds = verdict.faults.iter().map(|fault| fault.kind).collect::<BTreeSet<_>>();
        kinds.into_iter().for_each(|kind| self.seeds.entry(kind).or_default().push(case.seed));
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { jobs, deaths, stops, longest, seeds } = self;
        write!(f, "{jobs} jobs, {deaths} deaths, {stops} stops, longest end {longest:?}")?;
        seeds.iter().try_for_each(|(kind, seeds)| write!(f, "\n  {kind} in {} jobs: {seeds:?}", seeds.len()))
    }
}

/// Runs a case; some rank must make progress within each `bound`.
///
/// # Panics
/// When the job cannot be started.
pub fn run(case: &Case, bound: Duration) -> Verdict {
    let folder = tempfile::Builder::new().prefix("deaths-").tempdir().expect("a folder for the diaries");
    let mode = if case.goes_on { "continue" } else { "end" };
    let ranks = case.ranks.to_string();
    // What a stopped rank keeps waiting is no fault to tell of.
    let report = (case.stop.map_or(0, |stop| stop.time.as_secs()) + 3).to_string();
    let job = Job::launcher(["-n", &ranks, "--on-failure", mode])
        .words([program(PROGRAM)])
        .line(&case.words())
        .words(["--folder".as_ref(), folder.path().as_os_str()])
        .variables(&case.variables)
        .variables(&[("RMA_WAIT_REPORT", &report)])
        .limit(Duration::from_secs(600));
    let watched = |rank| Watched { diary: Reader::new(folder.path(), rank), process: None, is_gone: false };
    let watch = Watch {
        case,
        folder: folder.path(),
        running: job.start(),
        ranks: (0..case.ranks).map(watched).collect(),
        ready_at: None,
        moved_at: Instant::now(),
        is_killed: false,
        stopped: Stopped::NotYet,
        stopped_at: Instant::now(),
        dead: None,
    };
    watch.run(bound)
}

impl Watch<'_> {
    fn run(mut self, bound: Duration) -> Verdict {
        let mut faults = Vec::new();
        while !self.running.has_ended() {
            self.look();
            self.send_signals();
            if self.moved_at.elapsed() > bound && self.stopped != Stopped::Now {
                faults.push(Fault { kind: Kind::Hang, text: self.describe(bound) });
                self.running.kill();
            }
            std::thread::sleep(LOOK);
        }
        self.look();
        let took = self.moved_at.elapsed();
        let (is_hung, was_stopped) = (!faults.is_empty(), self.stopped != Stopped::NotYet);
        let (case, dead) = (self.case, self.dead);
        let memory = (0..case.ranks).map(|rank| read_memory(self.folder, rank)).collect();
        let diaries = self.ranks.into_iter().map(|rank| rank.diary.lines).collect();
        let (ended, left) = self.running.end();
        if let Some(left) = left {
            faults.push(Fault { kind: Kind::Left, text: left });
        }
        if is_hung {
            let reports = ended.stderr.lines().take(40).collect::<Vec<_>>().join("\n  ");
            faults[0].text.push_str(&format!("\n  {reports}"));
        } else {
            let said = Some(Said { code: ended.code(), stderr: ended.stderr });
            let end = End { dead: dead.into_iter().collect(), cut: None, diaries, memory, said };
            faults.extend(judge(case, &end));
        }
        Verdict { faults, has_died: dead.is_some(), was_stopped, took }
    }

    /// Reads the diaries, and finds the ranks that are gone.
    fn look(&mut self) {
        let finalized_or = |diary: &Reader| diary.has(&Line::Finalized);
        for (rank, watched) in (0..).zip(&mut self.ranks) {
            if watched.diary.read() {
                self.moved_at = Instant::now();
            }
            let mut was_missed = false;
            if watched.process.is_none() && !watched.is_gone {
                let pid = watched.diary.pid().and_then(|pid| Pid::from_raw(pid as i32));
                let opened = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
                // It may have ended before this look.
                was_missed = matches!(opened, Some(Err(Errno::SRCH)));
                watched.process = opened.and_then(Result::ok);
            }
            if was_missed || watched.process.as_ref().is_some_and(has_ended) {
                (watched.process, watched.is_gone) = (None, true);
                watched.diary.read();
                let is_victim = self.case.death.is_some_and(|death| death.rank == rank);
                if !finalized_or(&watched.diary) && self.dead.is_none() && is_victim {
                    self.dead = Some(rank);
                }
                self.moved_at = Instant::now();
                // Survivors that have given up are not waited for either.
                let _ = std::fs::write(death(self.folder, rank), []);
            }
        }
        if self.ready_at.is_none() && self.ranks.iter().all(|rank| rank.diary.has(&Line::Ready)) {
            self.ready_at = Some(Instant::now());
            self.running.note_sockets();
        }
    }

    fn send_signals(&mut self) {
        if let (Some(planned), Some(ready_at)) = (self.case.death, self.ready_at)
            && let When::After(delay) = planned.when
            && !self.is_killed
            && ready_at.elapsed() >= delay
        {
            self.is_killed = true;
            self.send(planned.rank, Signal::KILL);
        }
        // The rank that stops may be past the barrier behind the windows while others still need it there.
        let Some(planned) = self.case.stop else { return };
        let diary = &self.ranks[planned.rank as usize].diary;
        match self.stopped {
            // It stops itself.
            Stopped::NotYet if diary.has(&Line::Begins(planned.step)) => {
                (self.stopped, self.stopped_at) = (Stopped::Now, Instant::now());
            }
            Stopped::Now if self.stopped_at.elapsed() >= planned.time => {
                self.send(planned.rank, Signal::CONT);
                self.stopped = Stopped::Over;
                self.moved_at = Instant::now();
            }
            // On a busy machine it may have come to stop itself late.
            Stopped::Over => self.send(planned.rank, Signal::CONT),
            Stopped::NotYet | Stopped::Now => {}
        }
    }

    fn send(&self, rank: u32, signal: Signal) {
        if let Some(process) = &self.ranks[rank as usize].process {
            // It may have ended.
            let _ = pidfd_send_signal(process, signal);
        }
    }

    /// Where each rank stands.
    fn describe(&self, bound: Duration) -> String {
        let place =
            |(rank, watched): (u32, &Watched)| self.case.place(rank, &watched.diary.lines, watched.is_gone);
        let places = (0..).zip(&self.ranks).map(place).collect::<String>();
        let (dead, processes) = (self.dead, self.running.processes());
        format!("no rank has come further for {bound:?}; dead: {dead:?}\n{places}{processes}")
    }
}

fn has_ended(process: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

fn read_memory(folder: &Path, rank: u32) -> Option<Vec<u64>> {
    let bytes = std::fs::read(memory(folder, rank)).ok()?;
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    Some(words.collect())
}
