//! The steps of an actor: calls that are begun and polled, calls that are tried again, and meetings.

use super::super::calls::{Buffers, Called, attach, call, local, mapped};
use super::super::compile::Step;
use super::super::makings::Place;
use super::super::operations::{Call, Judged, Prepared};
use super::super::program::{Awaited, EQUALS, Flavor, Region};
use super::{Environment, Live, Player};
use crate::random::Random;
use rma_core::epoch::{Assert, Caller, LockKind};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use std::sync::Arc;

impl<G: Environment> Player<G> {
    pub(super) fn attempt(&mut self, index: usize, step: &Step) -> Result<bool> {
        if let Some(sync) = &mut self.actors[index].sync {
            let window = window_of(step).expect("only calls on windows are under way");
            let is_over = self.windows[window].poll_sync(sync)?;
            if !is_over {
                return Ok(false);
            }
            self.actors[index].sync = None;
            self.finish(index);
            if let Step::Unlock { window, target } = step {
                self.held.remove(&(*window, *target));
            }
            return Ok(true);
        }
        let started = match step {
            Step::Fence { window, assert } => self.windows[*window].begin_fence(*assert),
            Step::Lock { window, lock } => {
                let assert = if lock.is_unchecked { Assert::NO_CHECK } else { Assert::NONE };
                let caller = Caller::task(index as u64);
                self.windows[*window].begin_lock_by(caller, lock.kind, Rank(lock.target), assert)
            }
            Step::Unlock { window, target } => self.windows[*window].begin_unlock(Rank(*target)),
            Step::LockAll { window, assert } => {
                self.windows[*window].begin_lock_all_by(Caller::task(index as u64), *assert)
            }
            Step::UnlockAll { window } => self.windows[*window].begin_unlock_all(),
            Step::Flush { window, target, is_local: false } => {
                self.windows[*window].begin_flush(Rank(*target))
            }
            Step::Flush { window, target, is_local: true } => {
                self.windows[*window].begin_flush_local(Rank(*target))
            }
            Step::FlushAll { window, is_local: false } => self.windows[*window].begin_flush_all(),
            Step::FlushAll { window, is_local: true } => self.windows[*window].begin_flush_local_all(),
            Step::Start { window, group, assert } => {
                self.windows[*window].begin_start(&ranks(group), *assert)
            }
            Step::Complete { window } => self.windows[*window].begin_complete(),
            Step::Wait { window, is_test: false } => self.windows[*window].begin_wait(),
            other => return self.attempt_at_once(index, other),
        };
        let (window, target) = (window_of(step).expect("a call on a window"), target_of(step));
        let is_covered = |live: &&Live| {
            completes(step)
                && live.prepared.window == window
                && target.is_none_or(|target| target == live.prepared.target)
        };
        let covers = self.live.iter().filter(is_covered).map(|live| live.prepared.number).collect();
        (self.actors[index].sync, self.actors[index].covers) = (Some(started?), covers);
        self.attempt(index, step)
    }

    /// A call on a window is over.
    fn finish(&mut self, index: usize) {
        for number in std::mem::take(&mut self.actors[index].covers) {
            self.complete(number);
        }
    }

    /// Steps that are over when they are made, or are tried again.
    fn attempt_at_once(&mut self, index: usize, step: &Step) -> Result<bool> {
        match step {
            Step::Operate(prepared) => self.operate(index, prepared),
            Step::Requests { how: Awaited::InTurn, seed } => self.requests_in_turn(index, *seed),
            Step::Requests { how, seed } => self.requests(index, *how, *seed),
            Step::PutEquals { window, target } => self.put_equals(index, *window, *target),
            Step::Sync { window } => self.windows[*window].sync().map(|()| true),
            Step::Post { window, group, assert } => {
                self.windows[*window].try_post_to(&ranks(group), *assert).map(|()| true)
            }
            Step::Wait { window, .. } => self.windows[*window].test(),
            Step::Reserve { window, targets } => {
                let places = targets.iter().map(|target| (*window, *target));
                let is_free = places.clone().all(|place| !self.held.contains(&place));
                if is_free {
                    self.held.extend(places);
                }
                Ok(is_free)
            }
            Step::Team => Ok(self.team(index)),
            Step::Meet => {
                let actor = &mut self.actors[index];
                if !std::mem::replace(&mut actor.has_arrived, true) {
                    actor.meetings += 1;
                    self.environment.arrive(actor.meetings - 1);
                }
                self.environment.have_met(self.actors[index].meetings - 1)
            }
            Step::Tell { round } => {
                self.environment.tell(*round, self.actors[index].number);
                Ok(true)
            }
            Step::Hear { round, actor, window, parts } => match self.environment.has_notified(*round, *actor)
            {
                Some(true) => {
                    self.look(*window, parts);
                    Ok(true)
                }
                has_notified => Ok(has_notified.is_none()),
            },
            Step::Barrier => self.environment.barrier(),
            Step::Store { window, at, bytes } => {
                self.own(*window).part(*at as usize, bytes.len()).write(bytes);
                Ok(true)
            }
            Step::Look { window, parts } => {
                self.look(*window, parts);
                Ok(true)
            }
            Step::Load { window, target, at, bytes } => {
                let mut found = vec![0; bytes.len()];
                let memory = mapped(&self.windows[*window], Some(*target))?;
                let (lowest, first) =
                    (mapped(&self.windows[*window], None)?, mapped(&self.windows[*window], Some(0))?);
                assert_eq!(lowest.as_mut_ptr(), first.as_mut_ptr(), "all ranks have memory");
                memory.part(*at as usize, bytes.len()).as_read().read(&mut found);
                self.compare(&found, bytes, || {
                    format!("window {window} of rank {target} at byte {at}, loaded")
                });
                Ok(true)
            }
            Step::Attach { window, pieces } => self.attach(*window, *pieces),
            Step::Make(_) | Step::ClearMakings => {
                let (engine, environment, me) = (&self.engine, &mut self.environment, self.me);
                let mut place = Place { engine, environment, me, thread: index as u32 };
                let workshop = &mut self.actors[index].workshop;
                match step {
                    Step::Make(making) => workshop.make(*making, &mut place),
                    _ => workshop.clear(&mut place),
                }
            }
            other => unreachable!("{other:?} is a call with steps"),
        }
    }

    fn look(&mut self, window: usize, parts: &[(u64, Vec<u8>)]) {
        for (at, expected) in parts {
            let mut found = vec![0; expected.len()];
            self.own(window).part(*at as usize, expected.len()).as_read().read(&mut found);
            self.compare(&found, expected, || format!("window {window} at byte {at}"));
        }
    }

    fn team(&mut self, index: usize) -> bool {
        let actor = &mut self.actors[index];
        if !std::mem::replace(&mut actor.has_arrived, true) {
            actor.teams += 1;
            if self.teams.len() < actor.teams {
                self.teams.push(0);
            }
            self.teams[actor.teams - 1] += 1;
        }
        self.teams[actor.teams - 1] == self.program.threads
    }

    pub(super) fn own(&mut self, window: usize) -> rma_core::mem::WriteSpan {
        if self.program.windows[window].flavor == Flavor::Dynamic {
            self.memory[window].span()
        } else {
            local(&self.windows[window])
        }
    }

    fn attach(&mut self, window: usize, pieces: u64) -> Result<bool> {
        let attached = &mut self.attached[window];
        if attached.detaching.as_ref().is_some_and(|detaching| !detaching.is_over()) {
            return Ok(false);
        }
        attached.detaching = None;
        if let Some(base) = attached.bases.pop() {
            attached.detaching = Some(self.windows[window].begin_detach(base)?);
            return self.attach(window, pieces);
        }
        let all = self.memory[window].span();
        let step = all.len().div_ceil(pieces as usize);
        for start in (0..all.len()).step_by(step) {
            let part = all.part(start, step.min(all.len() - start));
            attach(&self.windows[window], part)?;
            self.attached[window].bases.push(part.as_mut_ptr() as usize);
        }
        Ok(true)
    }

    fn operate(&mut self, index: usize, prepared: &Arc<Prepared>) -> Result<bool> {
        let (window, target) = (prepared.window, prepared.target);
        let plan = &self.program.windows[window];
        let is_nowhere = Rank(target) == Rank::NULL;
        let disp = match plan.flavor {
            _ if is_nowhere => Disp(prepared.at),
            Flavor::Dynamic => Disp(self.environment.address(window, target) + prepared.at),
            _ => {
                let unit = plan.units[target as usize];
                debug_assert!(prepared.at.is_multiple_of(unit), "the generator aligns operations");
                Disp(prepared.at / unit)
            }
        };
        let mut buffers = self.actors[index].buffers.take().unwrap_or_else(|| Buffers::new(prepared));
        let compared = match &prepared.result {
            Judged::SwappedIf { cell, .. } => {
                self.actors[index].seen.get(&(window, target, *cell)).copied().unwrap_or(0)
            }
            _ => 0,
        };
        match call(&self.windows[window], prepared, disp, compared, &mut buffers)? {
            Called::Full => {
                self.actors[index].buffers = Some(buffers);
                return Ok(false);
            }
            Called::Started => {}
            Called::Requested(request) if is_nowhere => {
                assert!(request.is_complete()?, "a request of an operation that goes nowhere");
            }
            Called::Requested(request) => self.actors[index].requests.push((prepared.number, request)),
        }
        self.live.push(Live { actor: index, prepared: Arc::clone(prepared), buffers, compared });
        if is_nowhere {
            self.complete(prepared.number);
            self.synchronize_nowhere(window)?;
        }
        Ok(true)
    }

    /// Calls for a lock of no process and gives it back, whatever epoch is open: each call is over at once.
    fn synchronize_nowhere(&self, window: usize) -> Result<()> {
        let window = &self.windows[window];
        let calls = [
            window.begin_lock(LockKind::Exclusive, Rank::NULL, Assert::NONE)?,
            window.begin_flush(Rank::NULL)?,
            window.begin_flush_local(Rank::NULL)?,
            window.begin_unlock(Rank::NULL)?,
        ];
        for mut call in calls {
            assert!(window.poll_sync(&mut call)?, "a call to no process");
        }
        Ok(())
    }

    fn put_equals(&mut self, index: usize, window: usize, target: u32) -> Result<bool> {
        let plan = &self.program.windows[window];
        let (at, _) = plan.place(Region::Equals, self.program.actors());
        let next = (self.actors[index].equal + 1).to_ne_bytes();
        self.extra += 1;
        let number = u32::MAX - self.extra;
        let prepared = Prepared::equals_put(window, target, at, number, &next.repeat(EQUALS as usize));
        self.operate(index, &Arc::new(prepared))
    }

    /// Waits for all requests of an actor, one after the other.
    fn requests_in_turn(&mut self, index: usize, seed: u64) -> Result<bool> {
        let mut random = Random::new(seed);
        loop {
            let requests = &mut self.actors[index].requests;
            if requests.is_empty() {
                return Ok(true);
            }
            // The draw is the same in every attempt, so one request is waited for at a time.
            let at = random.below(requests.len() as u64) as usize;
            if !requests[at].1.test()? {
                return Ok(false);
            }
            let (number, _) = requests.swap_remove(at);
            self.complete(number);
            random = Random::new(seed ^ u64::from(number));
        }
    }

    /// Looks at all requests of an actor, and takes those that have ended if they are enough.
    fn requests(&mut self, index: usize, how: Awaited, seed: u64) -> Result<bool> {
        if self.actors[index].requests.is_empty() {
            return Ok(true);
        }
        self.engine.poll();
        let requests = &mut self.actors[index].requests;
        let first = Random::new(seed).below(requests.len() as u64) as usize;
        requests.rotate_left(first);
        let mut ended = Vec::new();
        for (number, request) in requests.iter() {
            if request.is_complete()? {
                ended.push(*number);
            }
        }
        let is_over = match how {
            Awaited::All | Awaited::InTurn => ended.len() == requests.len(),
            Awaited::Any | Awaited::Some => !ended.is_empty(),
        };
        if !is_over {
            return Ok(false);
        }
        if how == Awaited::Any {
            ended.truncate(1);
        }
        requests.retain(|(number, _)| !ended.contains(number));
        ended.into_iter().for_each(|number| self.complete(number));
        Ok(true)
    }
}

fn ranks(group: &[u32]) -> Vec<Rank> {
    group.iter().copied().map(Rank).collect()
}

fn window_of(step: &Step) -> Option<usize> {
    match step {
        Step::Fence { window, .. }
        | Step::Lock { window, .. }
        | Step::Unlock { window, .. }
        | Step::LockAll { window, .. }
        | Step::UnlockAll { window }
        | Step::Flush { window, .. }
        | Step::FlushAll { window, .. }
        | Step::Start { window, .. }
        | Step::Complete { window }
        | Step::Wait { window, .. } => Some(*window),
        _ => None,
    }
}

fn target_of(step: &Step) -> Option<u32> {
    match step {
        Step::Unlock { target, .. } | Step::Flush { target, .. } => Some(*target),
        _ => None,
    }
}

/// Whether a call gives buffers back.
fn completes(step: &Step) -> bool {
    matches!(
        step,
        Step::Fence { .. }
            | Step::Unlock { .. }
            | Step::UnlockAll { .. }
            | Step::Flush { .. }
            | Step::FlushAll { .. }
            | Step::Complete { .. }
    )
}

impl Prepared {
    /// The put of the successors of equal numbers.
    fn equals_put(window: usize, target: u32, at: u64, number: u32, bytes: &[u8]) -> Self {
        let call = Call::put_words(bytes);
        Self { number, round: 0, window, target, at, call, result: Judged::None, has_request: false }
    }
}
