//! One rank of a job: plays its script, writes down how each step ended, and stays until all living ranks are
//! through.

use super::case::{Case, Death, How, When};
use super::diary::{Diary, Line, Reader, death, memory};
use super::program::{FENCED, Step, elements};
use super::sheet::Sheet;
use crate::world::{into, local};
use rma::{Communicator, World};
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::ids::Rank;
use rma_core::window::{Window, WindowSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

mod calls;

/// How often a rank that waits for others looks for the others.
const LOOK: Duration = Duration::from_millis(2);

struct Player<'a> {
    world: &'a World,
    /// Those that take part in collective calls, if this rank does.
    members: Option<Arc<Communicator>>,
    case: &'a Case,
    folder: &'a Path,
    me: u32,
    at: usize,
    windows: Vec<Option<Window>>,
    /// The window that a step has made, and its memory.
    made: Option<Window>,
    memory: Vec<Vec<u64>>,
    sheet: Sheet,
    diary: Diary,
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
    let started = World::init().and_then(|world| {
        let members = match case.members < case.ranks {
            true => world.split((rank < case.members).then_some(0), 0)?.map(Arc::new),
            false => Some(world.communicator()),
        };
        let windows = make_windows(&world, members.as_deref(), case, &mut memory)?;
        // A rank that died after the barrier may have kept its end from others, which are as far.
        let was_ready = |death: Death| Reader::of(folder, death.rank).has(&Line::Ready);
        world.barrier().or_else(|error| case.death.is_some_and(was_ready).then_some(()).ok_or(error))?;
        Ok((world, members, windows))
    });
    let (world, members, windows) = match started {
        Ok(started) => started,
        Err(error) => {
            diary.add(&Line::Broken(format!("start: {error}")));
            return Err(error.to_string());
        }
    };
    diary.add(&Line::Ready);
    let mut player = Player {
        world: &world,
        members,
        case,
        folder,
        me: rank,
        at: 0,
        windows,
        made: None,
        memory: Vec::new(),
        sheet: Sheet::new(rank),
        diary,
    };
    if case.ends_at_once() && case.death.is_some_and(|death| death.rank == rank) {
        // Others may still be in the barrier, which fails where a rank has died. Only pairs are to meet the dead here.
        player.await_others(&Line::Ready);
    }
    let script = &case.program.scripts[rank as usize];
    for (at, step) in script.iter().enumerate() {
        player.at = at;
        player.step(step);
    }
    player.diary.add(&Line::Over);
    player.await_others(&Line::Over);
    player.dump();
    let Player { mut diary, windows, members, .. } = player;
    if case.ends_at_once() {
        std::process::exit(0);
    }
    for window in windows.into_iter().flatten() {
        // A collective call: it may fail when a rank is dead, and must end.
        if let (Err(error), None) = (window.free(), case.death) {
            diary.add(&Line::Broken(format!("free: {error}")));
        }
    }
    drop(members);
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

fn make_windows(
    world: &World,
    members: Option<&Communicator>,
    case: &Case,
    memory: &mut [Vec<u64>],
) -> Result<Vec<Option<Window>>> {
    let len = elements(case.ranks) * 8;
    let specs = case.is_allocated.iter().zip(memory).map(|(is_allocated, memory)| match is_allocated {
        true => WindowSpec::Allocate { len, unit: 8 },
        false => WindowSpec::Create { memory: into(memory), unit: 8 },
    });
    let make = |(at, spec)| {
        let group = if at == FENCED { members.map(Communicator::group) } else { Some(world.group()) };
        group.map(|group| world.engine().create_window(group, spec)).transpose()
    };
    specs.enumerate().map(make).collect()
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
        if self.sheet.is_to_skip(step) {
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
        self.sheet.note(step, outcome.is_ok());
        match outcome {
            Ok(()) => {
                self.diary.add(&Line::Done(self.at));
                self.sheet.judge_results(self.at, step).iter().for_each(|line| self.diary.add(line));
            }
            Err(error) => self.diary.add(&Line::Failed(self.at, error.to_string())),
        }
    }

    /// Serves the others until each has written this line, or is known to be dead.
    fn await_others(&self, line: &Line) {
        let others = (0..self.case.ranks).filter(|rank| *rank != self.me);
        let mut missing = others.map(|rank| (rank, Reader::new(self.folder, rank))).collect::<Vec<_>>();
        self.serve_until(|| {
            missing.retain_mut(|(rank, diary)| {
                diary.read();
                !diary.has(line) && !death(self.folder, *rank).exists()
            });
            missing.is_empty()
        });
    }

    /// Sleeps outside the engine's own waits and is woken by what arrives: with a pause between two polls a long body would come
    /// a ring at a time, and its sender would seem to hang.
    fn serve_until(&self, mut is_over: impl FnMut() -> bool) {
        let engine = self.world.engine();
        let limit = Timespec::try_from(LOOK).unwrap_or_default();
        while !is_over() {
            let news = engine.news();
            if engine.poll() {
                continue;
            }
            match (engine.arm(news), engine.wait_descriptor()) {
                (Some(_wait), Ok(descriptor)) => {
                    // An interrupted sleep is a wake-up.
                    let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&limit));
                }
                // Something is due soon, though nothing arrives.
                _ => thread::yield_now(),
            }
        }
    }

    /// Writes down the own memory of every window, read under a lock of it where no epoch of all is open.
    fn dump(&mut self) {
        let mut bytes = Vec::new();
        let mut locked = Ok(());
        for (at, window) in self.windows.iter().enumerate() {
            let me = Rank(self.me);
            let Some(window) = window else {
                bytes.extend((0..elements(self.case.ranks)).flat_map(|_| [0; 8]));
                continue;
            };
            if at < FENCED && locked.is_ok() {
                locked = window.lock(LockKind::Shared, me, Assert::NONE).and_then(|()| window.unlock(me));
            }
            let elements = 0..elements(self.case.ranks) as usize;
            bytes.extend(elements.flat_map(|at| local(window, at).to_le_bytes()));
        }
        if let Err(error) = locked {
            self.diary.add(&Line::Broken(format!("lock of the own memory: {error}")));
        }
        std::fs::write(memory(self.folder, self.me), bytes).expect("the folder of diaries can be written to");
        self.diary.add(&Line::Dumped);
    }
}
