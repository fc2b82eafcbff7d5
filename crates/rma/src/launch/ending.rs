//! How a job ends: because of a failure, which is named once, of a signal to the launcher, or of itself.
//!
//! The ranks are asked to end, have the grace time, and are killed then. What ranks do because the launcher
//! was asked to end the job is no failure.

use super::blame::Verdict;
use super::frames::Frame;
use super::job::Job;
use super::options::OnFailure;
use super::outcome::{Failure, HOST_LOST};
use super::reporting::DEADLOCKED;
use crate::pmi::Phase;

use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How long killed ranks may take to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// Longer than any verdict takes.
const ANY_TIME: Duration = Duration::from_secs(60);
/// Exit status after `--timeout`, as of timeout(1).
pub(super) const TIMED_OUT: u8 = 124;
/// Exit status when the output of the job cannot be written (sysexits: `EX_IOERR`).
pub(super) const CANNOT_WRITE: u8 = 74;

/// Where a job is.
#[derive(Debug)]
pub(super) enum JobState {
    /// Nothing has happened that ends it.
    Running,
    /// The ranks have been asked to end, or been killed.
    Ending { kill_at: Option<Instant>, give_up_at: Instant },
}

impl Job {
    /// Sends a signal to all processes of the job's group, and to ranks that have left it, on all hosts.
    pub(super) fn signal(&self, signal: Signal) {
        self.guard.signal(signal);
        self.ranks.iter().for_each(|rank| rank.signal_outside(self.guard.group(), signal));
        self.remotes.iter().for_each(|remote| remote.send(&Frame::Signal(signal.as_raw() as u32)));
    }

    /// Passes on a signal that asks for the end. What ranks do about it is theirs; with `by_grace`, they have the grace time.
    pub(super) fn wish_end(&mut self, signal: Signal, by_grace: bool) {
        let grace_ends = Instant::now() + Duration::from_secs(self.options.grace);
        // A second wish for the end is impatience.
        let again = self.wish.replace((signal, grace_ends)).is_some();
        self.signal(if again { Signal::KILL } else { signal });
        if by_grace || again {
            self.signal(Signal::CONT); // a stopped process takes no other signal
            if !matches!(self.state, JobState::Ending { .. }) {
                self.state =
                    JobState::Ending { kill_at: Some(grace_ends), give_up_at: grace_ends + KILL_LIMIT };
            }
        }
    }

    /// Whether failures of ranks end nothing but these ranks.
    pub(super) fn goes_on(&self) -> bool {
        self.options.on_failure == OnFailure::Continue && matches!(self.state, JobState::Running)
    }

    /// Whether a rank that ends now does so because the launcher was asked to end the job.
    pub(super) fn is_wished(&self, now: Instant) -> bool {
        self.wish.is_some_and(|(_, until)| now < until)
    }

    /// Ends the job when a failure has to, as soon as it is known whose it is.
    pub(super) fn judge(&mut self, now: Instant) {
        self.judge_at = None;
        let has_to_end = self.must_end || self.options.on_failure == OnFailure::End;
        if !has_to_end || matches!(self.state, JobState::Ending { .. }) {
            return;
        }
        if self.is_wished(now) && !self.blame.failed_ranks().is_empty() {
            return self.ask_to_end();
        }
        match self.verdict(now) {
            Verdict::NoFailure => {}
            Verdict::Later(at) => self.judge_at = Some(at),
            Verdict::Rank(rank) => {
                self.report(rank);
                if self.options.on_failure == OnFailure::Continue {
                    // The rank that asked for the end is not the one that died before.
                    self.blame.failed_ranks().to_vec().into_iter().for_each(|rank| self.report(rank));
                }
                self.ask_to_end();
            }
        }
    }

    /// Whose failure it is.
    fn verdict(&mut self, now: Instant) -> Verdict {
        if self.blame.failed_ranks().is_empty() {
            return Verdict::NoFailure;
        }
        let running: Vec<usize> = (0..self.ranks.len())
            .filter(|rank| {
                self.server.phase(*rank as u32) == Phase::Running && !self.ranks[*rank].has_exited()
            })
            .collect();
        // What they have said last counts, and whether they have closed their connection.
        running.iter().for_each(|rank| self.serve_pmi(*rank));
        let ranks = &self.ranks;
        self.blame.verdict(now, &mut |rank| running.contains(&rank) && ranks[rank].has_hung_up())
    }

    /// All ranks have ended: names those that failed, if that is still to be reported.
    pub(super) fn conclude(&mut self) {
        self.conclude_failures();
        let is_well = self.wish.is_none() && self.blame.failed_ranks().is_empty();
        if is_well && matches!(self.state, JobState::Running) {
            self.tell_cuts();
        }
    }

    /// All that is left went on to the end, but perhaps not together.
    fn tell_cuts(&mut self) {
        let host = |rank: usize| self.plan.host(rank as u32).to_owned();
        let lines = self.cuts.lines(host);
        lines.iter().for_each(|line| self.stderr.say(line));
        if !lines.is_empty() && self.exit_code == 0 {
            self.exit_code = HOST_LOST as u8;
        }
    }

    fn conclude_failures(&mut self) {
        let failed = self.blame.failed_ranks();
        if failed.is_empty() || [TIMED_OUT, DEADLOCKED, CANNOT_WRITE].contains(&self.exit_code) {
            return;
        }
        if let Some((signal, _)) = self.wish.filter(|_| self.reported.is_empty()) {
            let number = signal.as_raw();
            let name = signal_hook::low_level::signal_name(number).unwrap_or("unknown");
            self.stderr.say(&format!("signal {number} ({name}) has ended the job"));
            self.exit_code = 128 + number as u8;
            return;
        }
        if let JobState::Running = self.state
            && let Verdict::Rank(first) = self.verdict(Instant::now() + ANY_TIME)
        {
            self.report(first);
            self.exit_code = self.blame.failure(first).map_or(1, Failure::exit_code);
            if self.options.on_failure == OnFailure::Continue {
                let line = self.blame.summary(first);
                self.stderr.say(&line);
            }
        }
    }

    /// Ranks have not ended in time.
    pub(super) fn give_up(&mut self) {
        self.stderr.say("some ranks cannot be killed; leaving them");
        if self.exit_code == 0 {
            self.exit_code = self.wish.map_or(1, |(signal, _)| 128 + signal.as_raw() as u8);
        }
    }

    /// Names a failure once, and makes it the job's status if it is the first.
    pub(super) fn report(&mut self, rank: usize) {
        let Some(failure) = self.blame.failure(rank).filter(|_| !self.reported.contains(&rank)) else {
            return;
        };
        self.reported.push(rank);
        // That a host is lost is said once for all its ranks.
        if !matches!(failure, Failure::HostLost(_)) {
            let place = self.ranks[rank].place();
            self.stderr.say(&format!("rank {rank} ({place}) {failure}"));
        }
        if self.exit_code == 0 {
            self.exit_code = failure.exit_code();
        }
    }

    /// Whether output of the job cannot be written, other than because its reader is gone. Says so once, and
    /// makes it the status of a job that has not failed before.
    pub(super) fn has_lost_output(&mut self) -> bool {
        let streams = [("standard output", &self.stdout), ("standard error", &self.stderr)];
        let lost = streams.into_iter().find_map(|(name, output)| Some((name, output.failure()?)));
        let Some((name, error)) = lost else { return false };
        if !std::mem::replace(&mut self.output_is_lost, true) {
            self.stderr.say(&format!("cannot write the output: {error} ({name})"));
            if self.exit_code == 0 {
                self.exit_code = CANNOT_WRITE;
            }
        }
        true
    }

    /// The job has run for as long as it may.
    pub(super) fn time_out(&mut self) {
        let seconds = self.options.timeout.unwrap_or_default();
        self.stderr.say(&format!("the job has run for {seconds} s (--timeout); ending it"));
        self.exit_code = TIMED_OUT;
        self.ask_to_end();
    }

    pub(super) fn ask_to_end(&mut self) {
        let kill_at = Instant::now() + Duration::from_secs(self.options.grace);
        self.state = JobState::Ending { kill_at: Some(kill_at), give_up_at: kill_at + KILL_LIMIT };
        self.signal(Signal::TERM);
        self.signal(Signal::CONT); // a stopped process takes no other signal
    }
}
