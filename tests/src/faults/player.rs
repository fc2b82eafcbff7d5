//! One rank of a job: plays its script, writes down how each step ended, and stays until all who live are through.

use super::case::{Case, Death, How, When};
use super::diary::{Diary, Line, Reader, death, memory};
use super::program::{
    AREA, COUNTER, Collective, FENCED, OWN, PAIR, POSTED, Part, SWAPPED, Step, WINDOWS, digit, digit_of,
    elements, stamp,
};
use crate::world::{from, into, kernel, local};
use rma::World;
use rma_core::datatype::BasicType;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, ReduceOp};
use rma_core::window::{Window, WindowSpec};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How often a rank that is through looks for the others.
const LOOK: Duration = Duration::from_millis(2);

/// What a window is open to.
#[derive(Debug, Default)]
struct Open {
    targets: HashSet<u32>,
    is_open_to_all: bool,
    is_exposed: bool,
}

struct Player<'a> {
    world: &'a World,
    case: &'a Case,
    me: u32,
    at: usize,
    windows: Vec<Window>,
    open: Vec<Open>,
    diary: Diary,
    /// What the own areas at each target hold, by window and target.
    areas: HashMap<(usize, u32), Vec<u64>>,
    /// How often this rank has fetched and added, or added by compare-and-swap, by window, target and number.
    added: HashMap<(usize, u32, u64), u64>,
    /// Buffers of operations: kept until the end, so that none is written to that is not the library's any more.
    sources: Vec<Vec<u64>>,
    /// Gets that have not been completed.
    results: Vec<Awaited>,
}

/// What a get brings.
struct Awaited {
    window: usize,
    target: u32,
    got: Box<[u64]>,
    expected: Vec<u64>,
}

/// Plays this process's part; the diaries are in `folder`.
///
/// # Errors
/// When the job cannot be entered or left; it is in the diary as well.
pub fn play(folder: &Path, case: &Case) -> Result<(), String> {
    let rank = std::env::var("PMI_RANK").ok().and_then(|rank| rank.parse().ok()).unwrap_or(0);
    let mut diary = Diary::begin(folder, rank);
    // A core file would be something left behind.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    diary.add(&Line::Started { pid: getpid().as_raw_pid() as u32 });
    die_when(case.death, rank, None);
    let mut memory = own_memory(case);
    let begun = World::init().and_then(|world| {
        let windows = make_windows(&world, case, &mut memory)?;
        // Who has died behind the barrier may have kept its end from others, who are as far.
        let was_ready = |death: Death| Reader::of(folder, death.rank).has(&Line::Ready);
        world.barrier().or_else(|error| case.death.is_some_and(was_ready).then_some(()).ok_or(error))?;
        Ok((world, windows))
    });
    let (world, windows) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            diary.add(&Line::Broken(format!("start: {error}")));
            return Err(error.to_string());
        }
    };
    diary.add(&Line::Ready);
    let mut player = Player {
        world: &world,
        case,
        me: rank,
        at: 0,
        windows,
        open: (0..WINDOWS).map(|_| Open::default()).collect(),
        diary,
        areas: HashMap::new(),
        added: HashMap::new(),
        sources: Vec::new(),
        results: Vec::new(),
    };
    if case.ends_at_once() && case.death.is_some_and(|death| death.rank == rank) {
        // Others may still be in the barrier, which fails where a rank has died. Only pairs are to meet the dead here.
        player.await_others(folder, &Line::Ready);
    }
    let script = &case.program.scripts[rank as usize];
    for (at, step) in script.iter().enumerate() {
        player.at = at;
        player.step(step);
    }
    player.diary.add(&Line::Over);
    player.await_others(folder, &Line::Over);
    player.dump(folder);
    let Player { mut diary, windows, .. } = player;
    if case.ends_at_once() {
        std::process::exit(0);
    }
    for window in windows {
        // A collective call: it may fail when a rank is dead, and must end.
        if let (Err(error), None) = (window.free(), case.death) {
            diary.add(&Line::Broken(format!("free: {error}")));
        }
    }
    world.finalize().map_err(|error| {
        diary.add(&Line::Broken(format!("finalize: {error}")));
        error.to_string()
    })?;
    diary.add(&Line::Finalized);
    Ok(())
}

/// Memory for windows that are made of the ranks' own.
fn own_memory(case: &Case) -> Vec<Vec<u64>> {
    let len = elements(case.ranks) as usize;
    case.is_allocated.iter().map(|is_allocated| vec![0; if *is_allocated { 0 } else { len }]).collect()
}

fn make_windows(world: &World, case: &Case, memory: &mut [Vec<u64>]) -> Result<Vec<Window>> {
    let len = elements(case.ranks) * 8;
    let specs = case.is_allocated.iter().zip(memory).map(|(is_allocated, memory)| match is_allocated {
        true => WindowSpec::Allocate { len, unit: 8 },
        false => WindowSpec::Create { memory: into(memory), unit: 8 },
    });
    specs.map(|spec| world.engine().create_window(world.group(), spec)).collect()
}

/// Dies, if that is this rank's part: a while after the step, or after the start of the process.
fn die_when(planned: Option<Death>, rank: u32, step: Option<usize>) {
    let Some(Death { rank: victim, when, how }) = planned else { return };
    let delay = match (when, step) {
        (When::Step(at, delay), Some(step)) if at == step => delay,
        (When::AtStart(delay), None) => delay,
        _ => return,
    };
    if victim != rank {
        return;
    }
    if delay < Duration::from_micros(1) {
        die(how);
    }
    thread::spawn(move || {
        thread::sleep(delay);
        die(how)
    });
}

fn die(how: How) -> ! {
    match how {
        How::Exit => std::process::exit(3),
        How::Abort => std::process::abort(),
        How::Kill => send_self(Signal::KILL),
        How::Segv => send_self(Signal::SEGV),
    }
}

fn send_self(signal: Signal) -> ! {
    loop {
        // The standard library's handler takes the first SIGSEGV, and gives the signal back its default.
        let _ = kill_process(getpid(), signal);
        thread::yield_now();
    }
}

impl Player<'_> {
    fn step(&mut self, step: &Step) {
        if self.is_to_skip(step) {
            return;
        }
        self.diary.add(&Line::Begins(self.at));
        die_when(self.case.death, self.me, Some(self.at));
        if self.case.stop.is_some_and(|stop| (stop.rank, stop.step) == (self.me, self.at)) {
            // Beside the call, and certain however short the program is. The judge lets it go on.
            thread::spawn(|| {
                let _ = kill_process(getpid(), Signal::STOP);
            });
        }
        let outcome = self.call(step);
        self.note_state(step, outcome.is_ok());
        match outcome {
            Ok(()) => {
                self.diary.add(&Line::Done(self.at));
                self.judge_results(step);
            }
            Err(error) => {
                self.results.retain(|get| !step.completes(get.window, get.target));
                self.diary.add(&Line::Failed(self.at, error.to_string()));
            }
        }
    }

    /// Whether the epoch that a step belongs to has not been opened.
    fn is_to_skip(&self, step: &Step) -> bool {
        match step {
            Step::Unlock { window, target } | Step::Flush { window, target } => {
                !self.is_open(*window, *target)
            }
            Step::UnlockAll { window } | Step::FlushAll { window } => !self.open[*window].is_open_to_all,
            Step::Complete { group } => !group.iter().all(|target| self.is_open(POSTED, *target)),
            Step::Wait { .. } => !self.open[POSTED].is_exposed,
            other => other.place().is_some_and(|(window, target)| !self.is_open(window, target)),
        }
    }

    fn is_open(&self, window: usize, target: u32) -> bool {
        let open = &self.open[window];
        open.is_open_to_all || open.targets.contains(&target)
    }

    /// What is open now.
    fn note_state(&mut self, step: &Step, is_ok: bool) {
        match step {
            Step::Lock { window, target, .. } if is_ok => {
                self.open[*window].targets.insert(*target);
            }
            Step::Unlock { window, target } => {
                self.open[*window].targets.remove(target);
            }
            Step::LockAll { window } => self.open[*window].is_open_to_all = is_ok,
            Step::UnlockAll { window } => self.open[*window].is_open_to_all = false,
            Step::Fence => self.open[FENCED].is_open_to_all = is_ok,
            Step::Post { .. } => self.open[POSTED].is_exposed = is_ok,
            Step::Wait { .. } => self.open[POSTED].is_exposed = false,
            Step::Start { group } if is_ok => self.open[POSTED].targets.extend(group),
            Step::Complete { group } => group.iter().for_each(|target| {
                self.open[POSTED].targets.remove(target);
            }),
            _ => {}
        }
    }

    fn call(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Lock { window, target, is_exclusive } => {
                let kind = if *is_exclusive { LockKind::Exclusive } else { LockKind::Shared };
                self.windows[*window].lock(kind, Rank(*target), Assert::NONE)
            }
            Step::Unlock { window, target } => self.windows[*window].unlock(Rank(*target)),
            Step::Flush { window, target } => self.windows[*window].flush(Rank(*target)),
            Step::LockAll { window } => self.windows[*window].lock_all(Assert::NONE),
            Step::UnlockAll { window } => self.windows[*window].unlock_all(),
            Step::FlushAll { window } => self.windows[*window].flush_all(),
            Step::Fence => self.windows[FENCED].fence(Assert::NONE),
            Step::Post { group } => self.windows[POSTED].post_to(&ranks(group), Assert::NONE),
            Step::Start { group } => self.windows[POSTED].start(&ranks(group), Assert::NONE),
            Step::Complete { .. } => self.windows[POSTED].complete(),
            Step::Wait { .. } => self.windows[POSTED].wait(),
            Step::Put { window, target, part } => self.put(*window, *target, *part),
            Step::Get { window, target, part } => self.get(*window, *target, *part),
            Step::Add { window, target, part } => self.add(*window, *target, *part),
            Step::Fetch { window, target } => self.fetch(*window, *target),
            Step::Swap { window, target } => self.swap(*window, *target),
            Step::Increment { window, target } => self.increment(*window, *target),
            Step::CreateAndFree { is_allocated, elements } => self.create_and_free(*is_allocated, *elements),
            Step::Collective { kind, elements } => self.collective(*kind, *elements),
            Step::Exchange { to, from, elements, tag } => self.exchange(*to, *from, *elements, *tag),
        }
    }

    fn put(&mut self, window: usize, target: u32, part: Part) -> Result<()> {
        let value = stamp(self.me, self.at);
        let area = self.areas.entry((window, target)).or_insert_with(|| vec![0; AREA as usize]);
        area[part.at as usize..(part.at + part.len) as usize].fill(value);
        self.sources.push(vec![value; part.len as usize]);
        let source = from(self.sources.last().map_or(&[], |source| source));
        self.windows[window].put(source, Rank(target), self.own(part.at))
    }

    fn get(&mut self, window: usize, target: u32, part: Part) -> Result<()> {
        let range = part.at as usize..(part.at + part.len) as usize;
        let expected = self.areas.get(&(window, target));
        let expected = expected.map_or_else(|| vec![0; range.len()], |area| area[range.clone()].to_vec());
        let mut got = vec![u64::MAX; part.len as usize].into_boxed_slice();
        let begun = self.windows[window].get(into(&mut got), Rank(target), self.own(part.at));
        self.results.push(Awaited { window, target, got, expected });
        begun
    }

    fn add(&mut self, window: usize, target: u32, part: Part) -> Result<()> {
        self.sources.push(vec![digit(self.me); part.len as usize]);
        let source = from(self.sources.last().map_or(&[], |source| source));
        self.windows[window].accumulate(source, kernel(ReduceOp::Sum), Rank(target), Disp(part.at))
    }

    fn fetch(&mut self, window: usize, target: u32) -> Result<()> {
        let (mut old, to) = ([u64::MAX], Rank(target));
        let (one, add) = (digit(self.me).to_ne_bytes(), kernel(ReduceOp::Sum));
        self.windows[window].fetch_and_op(&one, into(&mut old), add, to, Disp(COUNTER))?;
        self.windows[window].flush(to)?;
        self.judge_own_digit(window, target, COUNTER, old[0]);
        Ok(())
    }

    /// Adds by compare-and-swap, until nobody comes between.
    fn swap(&mut self, window: usize, target: u32) -> Result<()> {
        let (to, at) = (Rank(target), Disp(SWAPPED));
        let swap = CompareAndSwap::new(BasicType::U64).expect("defined on integers");
        let mut expected = 0u64;
        loop {
            let mut old = [u64::MAX];
            let new = expected.wrapping_add(digit(self.me)).to_ne_bytes();
            let compare = expected.to_ne_bytes();
            self.windows[window].compare_and_swap(&new, &compare, into(&mut old), swap, to, at)?;
            self.windows[window].flush(to)?;
            if old[0] == expected {
                break;
            }
            expected = old[0];
        }
        self.judge_own_digit(window, target, SWAPPED, expected);
        Ok(())
    }

    /// What was fetched has counted every addition of this rank.
    fn judge_own_digit(&mut self, window: usize, target: u32, number: u64, fetched: u64) {
        let added = self.added.entry((window, target, number)).or_default();
        if digit_of(fetched, self.me) != *added {
            let why = format!(
                "step {}: number {number} of rank {target} in window {window} was {fetched:#x}, with {added} additions of \
                 rank {}",
                self.at, self.me
            );
            self.diary.add(&Line::Wrong(why));
        }
        *added += 1;
    }

    fn increment(&mut self, window: usize, target: u32) -> Result<()> {
        let (to, mut pair) = (Rank(target), [u64::MAX; 2]);
        let window = &self.windows[window];
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
        let mut memory = vec![0; elements as usize];
        let spec = match is_allocated {
            true => WindowSpec::Allocate { len: elements * 8, unit: 8 },
            false => WindowSpec::Create { memory: into(&mut memory), unit: 8 },
        };
        let window = self.world.engine().create_window(self.world.group(), spec)?;
        let used = self.use_neighbor(&window, elements);
        let freed = window.free();
        // A window that could not be freed may still be written to.
        std::mem::forget(memory);
        used.and(freed)
    }

    /// Writes the last element of the next rank's window, and reads it again.
    fn use_neighbor(&mut self, window: &Window, elements: u64) -> Result<()> {
        let to = Rank((self.me + 1) % self.case.ranks);
        let (value, mut got) = ([stamp(self.me, self.at)], [0]);
        window.lock(LockKind::Shared, to, Assert::NONE)?;
        window.put(from(&value), to, Disp(elements - 1))?;
        window.flush(to)?;
        window.get(into(&mut got), to, Disp(elements - 1))?;
        window.unlock(to)?;
        if got != value {
            let why = format!("step {}: {got:x?} instead of {value:x?} in a new window", self.at);
            self.diary.add(&Line::Wrong(why));
        }
        Ok(())
    }

    fn collective(&mut self, kind: Collective, elements: u64) -> Result<()> {
        let (me, ranks, at) = (self.me, self.case.ranks, self.at as u64);
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
            Collective::Barrier => self.world.barrier().map(|()| true)?,
            Collective::AllReduce => {
                let ones = vec![1u64 << (8 * me); elements as usize];
                let sums = self.world.allreduce(rma::ReduceOp::Sum, &ones)?;
                let expected = (0..ranks).map(digit).sum::<u64>();
                sums.len() as u64 == elements && sums.iter().all(|sum| *sum == expected)
            }
            Collective::Broadcast { root } => {
                let mut got = values(me);
                self.world.broadcast(root, &mut got)?;
                got.iter().all(|value| value >> 32 == u64::from(root))
            }
            Collective::Gather { root } => self.world.gather(root, &values(me))?.is_none_or(|got| same(&got)),
            Collective::AllGather => same(&self.world.allgather(&values(me))?),
            Collective::AllToAll => {
                let got = self.world.alltoall(&all().iter().map(|_| values(me)).collect::<Vec<_>>())?;
                same(&got)
            }
            Collective::Duplicate => self.world.duplicate().map(|made| made.size() == ranks)?,
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

    /// Gets that a step has completed hold what this rank has put there.
    fn judge_results(&mut self, step: &Step) {
        let is_over = |get: &mut Awaited| step.completes(get.window, get.target);
        let over = self.results.extract_if(.., is_over).collect::<Vec<_>>();
        for Awaited { window, target, got, expected } in over {
            if let Some(at) = got.iter().zip(&expected).position(|(got, expected)| got != expected) {
                let why = format!(
                    "step {}: a get from rank {target} in window {window} has {:#x} at {at} instead of {:#x}",
                    self.at, got[at], expected[at]
                );
                self.diary.add(&Line::Wrong(why));
            }
        }
    }

    fn own(&self, at: u64) -> Disp {
        Disp(OWN + AREA * u64::from(self.me) + at)
    }

    /// Serves the others until each has written this line, or is known to be dead.
    fn await_others(&mut self, folder: &Path, line: &Line) {
        let others = (0..self.case.ranks).filter(|rank| *rank != self.me);
        let mut missing = others.map(|rank| (rank, Reader::new(folder, rank))).collect::<Vec<_>>();
        loop {
            missing.retain_mut(|(rank, diary)| {
                diary.read();
                !diary.has(line) && !death(folder, *rank).exists()
            });
            if missing.is_empty() {
                return;
            }
            self.world.engine().poll();
            thread::sleep(LOOK);
        }
    }

    /// Writes down the own memory of every window, read under a lock of it where no epoch of all is open.
    fn dump(&mut self, folder: &Path) {
        let mut bytes = Vec::new();
        let mut locked = Ok(());
        for (at, window) in self.windows.iter().enumerate() {
            let me = Rank(self.me);
            if at < FENCED && locked.is_ok() {
                locked = window.lock(LockKind::Shared, me, Assert::NONE).and_then(|()| window.unlock(me));
            }
            let elements = 0..elements(self.case.ranks) as usize;
            bytes.extend(elements.flat_map(|at| local(window, at).to_le_bytes()));
        }
        if let Err(error) = locked {
            self.diary.add(&Line::Broken(format!("lock of the own memory: {error}")));
        }
        std::fs::write(memory(folder, self.me), bytes).expect("the folder of diaries can be written to");
        self.diary.add(&Line::Dumped);
    }
}

fn ranks(group: &[u32]) -> Vec<Rank> {
    group.iter().copied().map(Rank).collect()
}
