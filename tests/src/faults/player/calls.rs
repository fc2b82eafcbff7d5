//! The calls of a step, each of which waits.

use super::Player;
use crate::faults::diary::{Line, Reader, death};
use crate::faults::program::{COUNTER, Collective, FENCED, PAIR, POSTED, Part, SWAPPED, Step, digit, stamp};
use crate::world::{Elements, from, into, kernel};
use rma::Communicator;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Window, WindowSpec};

impl Player<'_> {
    pub(super) fn call(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Lock { window, target, is_exclusive } => {
                let kind = if *is_exclusive { LockKind::Exclusive } else { LockKind::Shared };
                self.window(*window).lock(kind, Rank(*target), Assert::NONE)
            }
            Step::Unlock { window, target } => self.window(*window).unlock(Rank(*target)),
            Step::Flush { window, target } => self.window(*window).flush(Rank(*target)),
            Step::LockAll { window } => self.window(*window).lock_all(Assert::NONE),
            Step::UnlockAll { window } => self.window(*window).unlock_all(),
            Step::FlushAll { window } => self.window(*window).flush_all(),
            Step::Fence => self.window(FENCED).fence(Assert::NONE),
            Step::Post { group } => self.window(POSTED).post_to(&ranks(group), Assert::NONE),
            Step::Start { group } => self.window(POSTED).start(&ranks(group), Assert::NONE),
            Step::Complete { .. } => self.window(POSTED).complete(),
            Step::Wait { .. } => self.window(POSTED).wait(),
            Step::Put { window, target, part } => self.put(*window, *target, *part),
            Step::Get { window, target, part } => self.get(*window, *target, *part),
            Step::Add { window, target, part } => self.add(*window, *target, *part),
            Step::Fetch { window, target } => self.fetch(*window, *target),
            Step::Swap { window, target } => self.swap(*window, *target),
            Step::Increment { window, target } => self.increment(*window, *target),
            Step::CreateAndFree { is_allocated, elements } => self.create_and_free(*is_allocated, *elements),
            Step::Create { is_allocated, elements } => {
                self.made = Some(self.create(*is_allocated, *elements)?);
                Ok(())
            }
            Step::Free => self.made.take().map_or(Ok(()), Window::free),
            Step::Collective { kind, elements } => self.collective(*kind, *elements),
            Step::Exchange { to, from, elements, tag } => self.exchange(*to, *from, *elements, *tag),
            Step::Await { rank, step } => {
                let mut diary = Reader::new(self.folder, *rank);
                self.serve_until(|| {
                    diary.read();
                    let is_there = diary.has(&Line::Begins(*step)) || diary.has(&Line::Over);
                    is_there || death(self.folder, *rank).exists()
                });
                Ok(())
            }
            Step::AwaitDeath { rank } => {
                self.serve_until(|| death(self.folder, *rank).exists());
                Ok(())
            }
            Step::LockInVain { window, target } => loop {
                self.window(*window).lock(LockKind::Shared, Rank(*target), Assert::NONE)?;
                self.window(*window).unlock(Rank(*target))?;
            },
        }
    }

    fn window(&self, window: usize) -> &Window {
        self.windows[window].as_ref().expect("scripts use windows that their ranks have")
    }

    /// Those that take part in collective calls.
    fn members(&self) -> &Communicator {
        self.members.as_ref().expect("scripts have collective calls of members alone")
    }

    fn put(&mut self, window: usize, target: u32, part: Part) -> Result<()> {
        let source = self.sheet.put(self.at, window, target, part);
        self.window(window).put(source, Rank(target), self.sheet.own(part.at))
    }

    fn get(&mut self, window: usize, target: u32, part: Part) -> Result<()> {
        let result = self.sheet.get(window, target, part);
        self.window(window).get(result, Rank(target), self.sheet.own(part.at))
    }

    fn add(&mut self, window: usize, target: u32, part: Part) -> Result<()> {
        let source = self.sheet.add(part);
        self.window(window).accumulate(source, kernel(ReduceOp::Sum), Rank(target), Disp(part.at))
    }

    fn fetch(&mut self, window: usize, target: u32) -> Result<()> {
        let old = self.window(window).fetch_add(target, COUNTER, digit(self.me))?;
        self.judge_fetched(window, target, COUNTER, old);
        Ok(())
    }

    /// Adds by compare-and-swap, until no other comes between.
    fn swap(&mut self, window: usize, target: u32) -> Result<()> {
        let mut expected = 0u64;
        loop {
            let new = expected.wrapping_add(digit(self.me));
            let old = self.window(window).swap_if(target, SWAPPED, expected, new)?;
            if old == expected {
                break;
            }
            expected = old;
        }
        self.judge_fetched(window, target, SWAPPED, expected);
        Ok(())
    }

    fn judge_fetched(&mut self, window: usize, target: u32, number: u64, old: u64) {
        if let Some(wrong) = self.sheet.fetched(self.at, window, target, number, old) {
            self.diary.add(&wrong);
        }
    }

    fn increment(&mut self, window: usize, target: u32) -> Result<()> {
        let (to, mut pair) = (Rank(target), [u64::MAX; 2]);
        let window = self.windows[window].as_ref().expect("increments are in windows of all");
        window.get(into(&mut pair), to, Disp(PAIR))?;
        window.flush(to)?;
        if pair[0] != pair[1] {
            self.diary.add(&Line::Torn(self.at));
        }
        let next = [pair[0].max(pair[1]) + 1];
        // Two stores, so that a death can come between them.
        window.put(from(&next), to, Disp(PAIR))?;
        window.flush(to)?;
        window.put(from(&next), to, Disp(PAIR + 1))?;
        window.flush(to)
    }

    fn create_and_free(&mut self, is_allocated: bool, elements: u64) -> Result<()> {
        let window = self.create(is_allocated, elements)?;
        let used = self.use_neighbor(&window, elements);
        used.and(window.free())
    }

    fn create(&mut self, is_allocated: bool, elements: u64) -> Result<Window> {
        // A window that cannot be freed may still be written to.
        self.memory.push(vec![0; elements as usize]);
        let spec = match (is_allocated, self.memory.last_mut()) {
            (false, Some(memory)) => WindowSpec::Create { memory: into(memory), unit: 8 },
            _ => WindowSpec::Allocate { len: elements * 8, unit: 8 },
        };
        self.world.engine().create_window(self.members().group(), spec)
    }

    /// Writes the last element of the next rank's window, and reads it again.
    fn use_neighbor(&mut self, window: &Window, elements: u64) -> Result<()> {
        let to = Rank((self.me + 1) % self.case.members);
        let (value, mut got) = ([stamp(self.me, self.at)], [0]);
        window.lock(LockKind::Shared, to, Assert::NONE)?;
        let put = window.put(from(&value), to, Disp(elements - 1)).and_then(|()| window.flush(to));
        let accessed = put.and_then(|()| window.get(into(&mut got), to, Disp(elements - 1)));
        // Whatever has become of the accesses: a window with a lock cannot be freed.
        let ended = window.unlock(to);
        accessed.and(ended)?;
        if got != value {
            let why = format!("step {}: {got:x?} instead of {value:x?} in a new window", self.at);
            self.diary.add(&Line::Wrong(why));
        }
        Ok(())
    }

    fn collective(&mut self, kind: Collective, elements: u64) -> Result<()> {
        let (me, ranks, at) = (self.me, self.case.members, self.at as u64);
        let values = |rank: u32| vec![u64::from(rank) << 32 | at; elements as usize];
        let all = || (0..ranks).map(values).collect::<Vec<_>>();
        // Steps have the same number on all ranks only by chance.
        let same = |got: &[Vec<u64>]| {
            got.len() == ranks as usize
                && got.iter().zip(0..).all(|(got, rank): (_, u64)| {
                    got.len() as u64 == elements && got.iter().all(|value| value >> 32 == rank)
                })
        };
        let is_right = match kind {
            Collective::Barrier => self.members().barrier().map(|()| true)?,
            Collective::AllReduce => {
                let ones = vec![1u64 << (8 * me); elements as usize];
                let sums = self.members().allreduce(rma::ReduceOp::Sum, &ones)?;
                let expected = (0..ranks).map(digit).sum::<u64>();
                sums.len() as u64 == elements && sums.iter().all(|sum| *sum == expected)
            }
            Collective::Broadcast { root } => {
                let mut got = values(me);
                self.members().broadcast(root, &mut got)?;
                got.iter().all(|value| value >> 32 == u64::from(root))
            }
            Collective::Gather { root } => {
                self.members().gather(root, &values(me))?.is_none_or(|got| same(&got))
            }
            Collective::AllGather => same(&self.members().allgather(&values(me))?),
            Collective::AllToAll => {
                let got = self.members().alltoall(&all().iter().map(|_| values(me)).collect::<Vec<_>>())?;
                same(&got)
            }
            Collective::Duplicate => self.members().duplicate().map(|made| made.size() == ranks)?,
        };
        if !is_right {
            self.diary.add(&Line::Wrong(format!("step {}: {kind:?} of {elements} is wrong", self.at)));
        }
        Ok(())
    }

    fn exchange(&mut self, to: u32, from: u32, elements: u64, tag: u32) -> Result<()> {
        let values = |rank: u32| vec![u64::from(rank) << 32 | u64::from(tag); elements as usize];
        let sending = self.world.begin_send(to, tag, &values(self.me));
        let received = self.world.receive::<u64>(Some(from), Some(tag));
        let sent = sending.and_then(rma::Sending::wait);
        let message = received?;
        if message.values != values(from) {
            self.diary.add(&Line::Wrong(format!("step {}: the message of rank {from} is wrong", self.at)));
        }
        sent
    }
}

fn ranks(group: &[u32]) -> Vec<Rank> {
    group.iter().copied().map(Rank).collect()
}
