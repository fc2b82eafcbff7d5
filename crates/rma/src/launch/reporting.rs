//! The launcher asks its ranks what they wait for, and prints a report.

use super::ending::JobState;
use super::frames::Frame;
use super::job::Job;
use super::options::OnDeadlock;
use super::waits::graph::{Part, Seen};
use super::waits::processes::Activity;
use super::waits::report::{Reason, Step};
use crate::pmi::Phase;
use std::time::Instant;

/// Exit status of a job that was ended because it was in a deadlock.
pub(super) const DEADLOCKED: u8 = 125;

impl Job {
    /// A report of what the job waits for is wanted. A job that is ending gives none.
    pub(super) fn want_report(&mut self, reason: Reason, now: Instant) {
        if matches!(self.state, JobState::Running) {
            let step = self.reports.want(reason, now);
            self.act_on(step);
        }
    }

    /// Goes on with a report, if one is under way.
    pub(super) fn go_on_reporting(&mut self, now: Instant) {
        let Self { reports, server, ranks, .. } = self;
        let look = |rank: u32| {
            let part = match server.phase(rank) {
                _ if ranks[rank as usize].has_exited() => Part::Ended,
                Phase::Started => Part::Starting,
                Phase::Running if server.is_meeting(rank) => Part::Meeting,
                Phase::Running => Part::Running,
                Phase::Finalized => Part::Finalized,
                Phase::Gone => Part::Ended,
            };
            Seen::from_outside(part, ranks[rank as usize].activity())
        };
        let step = reports.step(now, &look);
        self.act_on(step);
    }

    fn act_on(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Ask(number) => self.ask_ranks(number),
            Step::Tell { reason, lines, is_deadlock } => {
                if matches!(self.state, JobState::Running) {
                    self.tell(reason, &lines, is_deadlock);
                }
            }
        }
    }

    fn ask_ranks(&mut self, number: u64) {
        // The hosts look before their ranks answer.
        self.remotes.iter().for_each(|remote| remote.send(&Frame::Look));
        let requests = self.server.ask_for_report(number);
        let is_stopped = |rank: u32| self.ranks[rank as usize].activity() == Activity::Stopped;
        // A stopped rank is asked as well, and not waited for.
        let asked: Vec<u32> =
            requests.iter().map(|(rank, _)| *rank).filter(|rank| !is_stopped(*rank)).collect();
        self.reports.asked(asked.into_iter());
        // A rank that does not read is refused when it asks.
        let _ = self.answer(requests);
    }

    fn tell(&mut self, reason: Reason, lines: &[String], is_deadlock: bool) {
        let ends = is_deadlock && self.options.on_deadlock == OnDeadlock::End;
        lines.iter().for_each(|line| self.stderr.say(line));
        if ends {
            self.stderr.say("the job is in a deadlock (--on-deadlock=end); ending it");
            self.exit_code = DEADLOCKED;
            self.ask_to_end();
        } else if reason == Reason::Timeout {
            self.time_out();
        }
    }
}
