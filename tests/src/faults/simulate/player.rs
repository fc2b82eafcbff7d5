//! A simulated rank's part: the calls of its script, one after the other, as a future that gives way wherever a call waits.
//!
//! Dropping the future is the rank's death: none of the calls under way is ended. Syncs are not even dropped, since a process
//! that is killed takes nothing back.

use super::ledger::Ledger;
use crate::faults::case::Case;
use crate::faults::diary::Line;
use crate::faults::program::{COUNTER, FENCED, PAIR, POSTED, SWAPPED, Step, digit, elements, stamp};
use crate::faults::sheet::Sheet;
use crate::world::{from, into, kernel, local};
use rma_ch_sim::SimHost;
use rma_core::Engine;
use rma_core::datatype::BasicType;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::host::{Group, Host};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::kernel::{CompareAndSwap, ReduceOp};
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use std::future::poll_fn;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// One rank.
pub(super) struct Player {
    me: u32,
    case: Rc<Case>,
    engine: Engine,
    host: Arc<SimHost>,
    ledger: Rc<Ledger>,
    at: usize,
    /// In front of the buffers: the channel ends with them.
    windows: Vec<Option<Window>>,
    /// The window that a step has made.
    made: Option<Window>,
    sheet: Sheet,
    memory: Vec<Vec<u64>>,
}

/// Lets all others go on.
async fn give_way() {
    let mut is_first = true;
    poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
}

/// Asks until there is an answer.
async fn ask<T>(mut question: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    loop {
        if let Some(answer) = question()? {
            return Ok(answer);
        }
        give_way().await;
    }
}

/// Makes a communication call until there is room for it.
async fn post(mut call: impl FnMut() -> Result<bool>) -> Result<()> {
    ask(|| call().map(|is_queued| is_queued.then_some(()))).await
}

/// Ends a synchronization call.
async fn end(window: &Window, started: Result<Sync>) -> Result<()> {
    let mut sync = ManuallyDrop::new(started?);
    let outcome = ask(|| window.poll_sync(&mut sync).map(|is_over| is_over.then_some(()))).await;
    drop(ManuallyDrop::into_inner(sync));
    outcome
}

impl Player {
    pub(super) fn new(
        me: u32,
        case: Rc<Case>,
        engine: Engine,
        host: Arc<SimHost>,
        ledger: Rc<Ledger>,
    ) -> Self {
        let len = elements(case.ranks) as usize;
        let memory =
            case.is_allocated.iter().map(|is_allocated| vec![0; if *is_allocated { 0 } else { len }]);
        let memory = memory.collect();
        let (windows, made, sheet) = (Vec::new(), None, Sheet::new(me));
        Self { me, case, engine, host, ledger, at: 0, windows, made, sheet, memory }
    }

    pub(super) async fn play(mut self) {
        if let Err(error) = self.begin().await {
            return self.note(Line::Broken(format!("start: {error}")));
        }
        self.note(Line::Ready);
        let case = Rc::clone(&self.case);
        for (at, step) in case.program.scripts[self.me as usize].iter().enumerate() {
            self.at = at;
            self.step(step).await;
        }
        self.note(Line::Over);
        self.until(|ledger| ledger.all_have(&Line::Over)).await;
        self.dump().await;
        for window in std::mem::take(&mut self.windows).into_iter().flatten() {
            // A collective call: it may fail when a rank is dead, and must end.
            let error = free(window).await.err().filter(|_| self.ledger.dead.borrow().is_empty());
            if let Some(error) = error {
                self.note(Line::Broken(format!("free: {error}")));
            }
        }
        self.note(Line::Finalized);
        self.until(|ledger| ledger.all_have(&Line::Finalized)).await;
    }

    fn note(&self, line: Line) {
        self.ledger.note(self.me, line);
    }

    async fn until(&self, is_so: impl Fn(&Ledger) -> bool) {
        while !is_so(&self.ledger) {
            give_way().await;
        }
    }

    /// All ranks, and those that take part in collective calls.
    fn groups(&self) -> (Group, Option<Group>) {
        let of = |context, ranks| Group::strided(context, Rank(self.me), Peer(0), 1, ranks);
        let members = self.case.members;
        (of(0, self.case.ranks), (self.me < members).then(|| of(1, members)))
    }

    fn members(&self) -> Group {
        self.groups().1.expect("scripts have collective calls of members alone")
    }

    async fn begin(&mut self) -> Result<()> {
        let (all, members) = self.groups();
        for at in 0..self.case.is_allocated.len() {
            let group = if at == FENCED { members.clone() } else { Some(all.clone()) };
            let len = elements(self.case.ranks) * 8;
            let spec = match self.case.is_allocated[at] {
                true => WindowSpec::Allocate { len, unit: 8 },
                false => WindowSpec::Create { memory: into(&mut self.memory[at]), unit: 8 },
            };
            let window = match group {
                Some(group) => Some(self.create(group, spec).await?),
                None => None,
            };
            self.windows.push(window);
        }
        self.barrier(&all).await
    }

    async fn create(&self, group: Group, spec: WindowSpec) -> Result<Window> {
        let mut creation = self.engine.begin_window(group, spec)?;
        ask(|| creation.poll()).await
    }

    async fn barrier(&self, group: &Group) -> Result<()> {
        let request = self.host.begin_barrier(group)?;
        ask(|| self.host.poll(request)).await.map(drop)
    }

    async fn step(&mut self, step: &Step) {
        if self.sheet.is_to_skip(step) {
            return;
        }
        self.note(Line::Begins(self.at));
        // A death may come between what has been written down and the call.
        give_way().await;
        let outcome = self.call(step).await;
        self.sheet.note(step, outcome.is_ok());
        match outcome {
            Ok(()) => {
                self.note(Line::Done(self.at));
                self.sheet.judge_results(self.at, step).into_iter().for_each(|line| self.note(line));
            }
            Err(error) => self.note(Line::Failed(self.at, error.to_string())),
        }
    }

    fn window(&self, window: usize) -> &Window {
        self.windows[window].as_ref().expect("scripts use windows that their ranks have")
    }

    async fn call(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Lock { window, target, is_exclusive } => {
                let kind = if *is_exclusive { LockKind::Exclusive } else { LockKind::Shared };
                self.lock(*window, kind, *target).await
            }
            Step::Unlock { window, target } => self.unlock(*window, *target).await,
            Step::Flush { window, target } => self.flush(*window, *target).await,
            Step::LockAll { window } => {
                let window = self.window(*window);
                end(window, window.begin_lock_all(Assert::NONE)).await
            }
            Step::UnlockAll { window } => {
                let window = self.window(*window);
                end(window, window.begin_unlock_all()).await
            }
            Step::FlushAll { window } => {
                let window = self.window(*window);
                end(window, window.begin_flush_all()).await
            }
            Step::Fence => {
                let window = self.window(FENCED);
                end(window, window.begin_fence(Assert::NONE)).await
            }
            Step::Post { group } => self.window(POSTED).try_post_to(&ranks(group), Assert::NONE),
            Step::Start { group } => {
                let window = self.window(POSTED);
                end(window, window.begin_start(&ranks(group), Assert::NONE)).await
            }
            Step::Complete { .. } => {
                let window = self.window(POSTED);
                end(window, window.begin_complete()).await
            }
            Step::Wait { .. } => {
                let window = self.window(POSTED);
                end(window, window.begin_wait()).await
            }
            other => self.call_in_epoch(other).await,
        }
    }

    /// Calls that are no synchronization of one window.
    async fn call_in_epoch(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Put { window, target, part } => {
                let source = self.sheet.put(self.at, *window, *target, *part);
                let (to, at) = (Rank(*target), self.sheet.own(part.at));
                post(|| self.window(*window).try_put(source, to, at)).await
            }
            Step::Get { window, target, part } => {
                let result = self.sheet.get(*window, *target, *part);
                let (to, at) = (Rank(*target), self.sheet.own(part.at));
                post(|| self.window(*window).try_get(result, to, at)).await
            }
            Step::Add { window, target, part } => {
                let (source, add) = (self.sheet.add(*part), kernel(ReduceOp::Sum));
                post(|| self.window(*window).try_accumulate(source, add, Rank(*target), Disp(part.at))).await
            }
            Step::Fetch { window, target } => self.fetch(*window, *target).await,
            Step::Swap { window, target } => self.swap(*window, *target).await,
            Step::Increment { window, target } => self.increment(*window, *target).await,
            Step::CreateAndFree { is_allocated, elements } => {
                self.create_and_free(*is_allocated, *elements).await
            }
            Step::Create { is_allocated, elements } => {
                self.made = Some(self.make(*is_allocated, *elements).await?);
                Ok(())
            }
            Step::Free => match self.made.take() {
                Some(window) => free(window).await,
                None => Ok(()),
            },
            // There are no messages, so what there is of collectives is the host's.
            Step::Collective { .. } => self.barrier(&self.members()).await,
            Step::Exchange { .. } => unreachable!("simulated ranks have no messages"),
            Step::Await { rank, step } => {
                let is_there = |ledger: &Ledger| {
                    ledger.has(*rank, &Line::Begins(*step))
                        || ledger.has(*rank, &Line::Over)
                        || ledger.is_gone(*rank)
                };
                self.until(is_there).await;
                Ok(())
            }
            Step::AwaitDeath { rank } => {
                self.until(|ledger| ledger.is_dead(*rank)).await;
                Ok(())
            }
            Step::LockInVain { window, target } => loop {
                self.lock(*window, LockKind::Shared, *target).await?;
                self.unlock(*window, *target).await?;
                // Where memory is mapped both may be over at once.
                give_way().await;
            },
            other => unreachable!("{other:?} is a synchronization of one window"),
        }
    }

    async fn lock(&self, window: usize, kind: LockKind, target: u32) -> Result<()> {
        let window = self.window(window);
        end(window, window.begin_lock(kind, Rank(target), Assert::NONE)).await
    }

    async fn unlock(&self, window: usize, target: u32) -> Result<()> {
        let window = self.window(window);
        end(window, window.begin_unlock(Rank(target))).await
    }

    async fn flush(&self, window: usize, target: u32) -> Result<()> {
        let window = self.window(window);
        end(window, window.begin_flush(Rank(target))).await
    }

    async fn fetch(&mut self, window: usize, target: u32) -> Result<()> {
        let mut old = Box::new([u64::MAX]);
        let (one, result) = (digit(self.me).to_ne_bytes(), into(&mut *old));
        let (add, to) = (kernel(ReduceOp::Sum), Rank(target));
        post(|| self.window(window).try_fetch_and_op(&one, result, add, to, Disp(COUNTER))).await?;
        self.flush(window, target).await?;
        self.judge_fetched(window, target, COUNTER, old[0]);
        Ok(())
    }

    /// Adds by compare-and-swap, until no other comes between.
    async fn swap(&mut self, window: usize, target: u32) -> Result<()> {
        let swap = CompareAndSwap::new(BasicType::U64).expect("defined on integers");
        let (to, at) = (Rank(target), Disp(SWAPPED));
        let mut expected = 0u64;
        loop {
            let mut old = Box::new([u64::MAX]);
            let result = into(&mut *old);
            let (new, compare) =
                (expected.wrapping_add(digit(self.me)).to_ne_bytes(), expected.to_ne_bytes());
            post(|| self.window(window).try_compare_and_swap(&new, &compare, result, swap, to, at)).await?;
            self.flush(window, target).await?;
            if old[0] == expected {
                break;
            }
            expected = old[0];
        }
        self.judge_fetched(window, target, SWAPPED, expected);
        Ok(())
    }

    fn judge_fetched(&mut self, window: usize, target: u32, number: u64, old: u64) {
        if let Some(wrong) = self.sheet.fetched(self.at, window, target, number, old) {
            self.note(wrong);
        }
    }

    async fn increment(&mut self, window: usize, target: u32) -> Result<()> {
        let (to, mut pair) = (Rank(target), Box::new([u64::MAX; 2]));
        let result = into(&mut *pair);
        post(|| self.window(window).try_get(result, to, Disp(PAIR))).await?;
        self.flush(window, target).await?;
        if pair[0] != pair[1] {
            self.note(Line::Torn(self.at));
        }
        let next = Box::new([pair[0].max(pair[1]) + 1]);
        // Two stores, so that a death can come between them.
        for at in [PAIR, PAIR + 1] {
            let source = from(&*next);
            post(|| self.window(window).try_put(source, to, Disp(at))).await?;
            self.flush(window, target).await?;
        }
        Ok(())
    }

    async fn create_and_free(&mut self, is_allocated: bool, elements: u64) -> Result<()> {
        let window = self.make(is_allocated, elements).await?;
        let used = self.use_neighbor(&window, elements).await;
        used.and(free(window).await)
    }

    async fn make(&mut self, is_allocated: bool, elements: u64) -> Result<Window> {
        // A window that cannot be freed may still be written to.
        self.memory.push(vec![0; elements as usize]);
        let spec = match (is_allocated, self.memory.last_mut()) {
            (false, Some(memory)) => WindowSpec::Create { memory: into(memory), unit: 8 },
            _ => WindowSpec::Allocate { len: elements * 8, unit: 8 },
        };
        self.create(self.members(), spec).await
    }

    /// Writes the last element of the next rank's window, and reads it again.
    async fn use_neighbor(&self, window: &Window, elements: u64) -> Result<()> {
        let (to, last) = (Rank((self.me + 1) % self.case.members), Disp(elements - 1));
        let (value, mut got) = (Box::new([stamp(self.me, self.at)]), Box::new([0]));
        let (source, result) = (from(&*value), into(&mut *got));
        end(window, window.begin_lock(LockKind::Shared, to, Assert::NONE)).await?;
        let access = async {
            post(|| window.try_put(source, to, last)).await?;
            end(window, window.begin_flush(to)).await?;
            post(|| window.try_get(result, to, last)).await
        };
        let accessed = access.await;
        // Whatever has become of the accesses: a window with a lock cannot be freed.
        let ended = end(window, window.begin_unlock(to)).await;
        accessed.and(ended)?;
        if got != value {
            let why = format!("step {}: {got:x?} instead of {value:x?} in a new window", self.at);
            self.note(Line::Wrong(why));
        }
        Ok(())
    }

    /// Writes down the own memory of every window, read under a lock of it where no epoch of all is open.
    async fn dump(&mut self) {
        let len = elements(self.case.ranks) as usize;
        let mut words = Vec::new();
        for at in 0..self.windows.len() {
            if at < FENCED {
                let mut locked = self.lock(at, LockKind::Shared, self.me).await;
                if locked.is_ok() {
                    locked = self.unlock(at, self.me).await;
                }
                if let Err(error) = locked {
                    self.note(Line::Broken(format!("lock of the own memory: {error}")));
                }
            }
            match &self.windows[at] {
                Some(window) => words.extend((0..len).map(|at| local(window, at))),
                None => words.resize(words.len() + len, 0),
            }
        }
        self.ledger.memory.borrow_mut()[self.me as usize] = Some(words);
        self.note(Line::Dumped);
    }
}

async fn free(window: Window) -> Result<()> {
    let mut free = window.begin_free().map_err(|(_, error)| error)?;
    ask(|| free.poll().map(|is_over| is_over.then_some(()))).await
}

fn ranks(group: &[u32]) -> Vec<Rank> {
    group.iter().copied().map(Rank).collect()
}
