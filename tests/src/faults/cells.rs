//! The named matrix: each call of windows and of messages, while a rank dies that stands in each relation to it.
//!
//! Four ranks: the *caller*, the *target* of what it calls, a *third* one, which holds or waits for a lock
//! where one must, and an *other* one, the last, which is in no group of the call. The scripts order
//! themselves: a rank begins a step when another has begun one ([`Step::Await`]), and the victim dies in its
//! last step, when the rank that is to wait for it does, or nearly. What is right does not depend on which of
//! the two comes first.
//!
//! | dies | is |
//! | --- | --- |
//! | target | the rank that the call addresses, or that a collective call lacks |
//! | other | a rank that the call does not concern: it must succeed |
//! | holder | the third rank, which holds an exclusive lock of the target: the lock must pass on |
//! | owner | the target, whose lock the caller or the third rank holds meanwhile; of collective calls, a rank within the call |
//!
//! After all this the caller and a living rank still reach each other, and calls on the dead fail in the end.

use super::case::{Case, Death, Faults, How, Way, When};
use super::program::{Calls, Part, Program, Step, WINDOWS};
use std::time::Duration;

mod together;

/// A row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Call {
    Put,
    Get,
    Atomic,
    Flush,
    Lock,
    Fence,
    Post,
    Create,
    Free,
    Collective,
    Message,
}

/// A column of the matrix: the rank that dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Victim {
    Target,
    Other,
    Holder,
    Owner,
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What is called.
    pub call: Call,
    /// The rank that dies.
    pub victim: Victim,
    /// With virtual nodes of two ranks: whether the target is on the caller's node, and the third rank on the other one.
    pub is_target_near: bool,
}

/// All rows, with their names.
pub const CALLS: [(&str, Call); 11] = [
    ("put", Call::Put),
    ("get", Call::Get),
    ("atomic", Call::Atomic),
    ("flush", Call::Flush),
    ("lock", Call::Lock),
    ("fence", Call::Fence),
    ("post", Call::Post),
    ("create", Call::Create),
    ("free", Call::Free),
    ("collective", Call::Collective),
    ("message", Call::Message),
];

/// All columns, with their names.
pub const VICTIMS: [(&str, Victim); 4] = [
    ("target", Victim::Target),
    ("other", Victim::Other),
    ("holder", Victim::Holder),
    ("owner", Victim::Owner),
];

/// How long after the others have come to where they wait the victim dies, where ranks are processes: for the call to be under way,
/// and right if it is not.
pub const DELAY: Duration = Duration::from_millis(3);

const RANKS: u32 = 4;
const CALLER: u32 = 0;
/// The last rank, so that it can stay out of collective calls.
const OTHER: u32 = RANKS - 1;
/// The window that is locked.
const LOCKED: usize = 1;
/// The window of lock_all.
const ALL: usize = 0;
/// How often a call is made while its target dies.
const TIMES: usize = 8;

impl Cell {
    /// The cell of a word: call, victim, and whether the target is near.
    pub fn of(word: &str) -> Option<Self> {
        let mut words = word.split('-');
        let (call, victim, near) = (words.next()?, words.next()?, words.next());
        let call = CALLS.iter().find(|(name, _)| *name == call)?.1;
        let victim = VICTIMS.iter().find(|(name, _)| *name == victim)?.1;
        Some(Self { call, victim, is_target_near: near.is_some() })
    }

    /// The word of a cell.
    pub fn word(self) -> String {
        let call = CALLS.iter().find(|(_, call)| *call == self.call).map_or("", |(name, _)| name);
        let victim = VICTIMS.iter().find(|(_, victim)| *victim == self.victim).map_or("", |(name, _)| name);
        format!("{call}-{victim}{}", if self.is_target_near { "-near" } else { "" })
    }

    /// The job; the victim dies so long after the others have come to where they wait.
    pub fn case(self, way: Way, delay: Duration) -> Case {
        let mut draft = Draft::new(self, way);
        draft.write();
        let Draft { scripts, must_fail, death, .. } = draft;
        let members = if self.victim == Victim::Other { RANKS - 1 } else { RANKS };
        let ends = vec![scripts.iter().map(Vec::len).collect()];
        let (rank, step) = death.expect("every cell has a victim");
        Case {
            seed: 0,
            cell: Some(self),
            faults: Faults::Death,
            way,
            ranks: RANKS,
            variables: way.variables().to_vec(),
            is_allocated: [true; WINDOWS],
            goes_on: true,
            program: Program { scripts, ends },
            death: Some(Death { rank, when: When::Step(step, delay), how: How::Kill }),
            stop: None,
            calls: Calls::All,
            members,
            must_fail,
        }
    }
}

struct Draft {
    cell: Cell,
    target: u32,
    third: u32,
    /// Whether what the caller does to the target takes packets.
    is_by_packets: bool,
    scripts: Vec<Vec<Step>>,
    /// Rank and step of the death.
    death: Option<(u32, usize)>,
    must_fail: Vec<(u32, usize)>,
}

impl Draft {
    fn new(cell: Cell, way: Way) -> Self {
        let (target, third) = if cell.is_target_near { (1, 2) } else { (2, 1) };
        let is_by_packets = match way {
            Way::Mapped => false,
            Way::Shm | Way::Tcp => true,
            Way::Nodes => !cell.is_target_near,
        };
        let scripts = vec![Vec::new(); RANKS as usize];
        Self { cell, target, third, is_by_packets, scripts, death: None, must_fail: Vec::new() }
    }

    fn write(&mut self) {
        match self.cell.call {
            Call::Put | Call::Get | Call::Atomic | Call::Flush | Call::Lock => self.passive(),
            Call::Fence => self.fence(),
            Call::Post => self.posted(),
            Call::Create | Call::Free => self.windows(),
            Call::Collective => self.collective(),
            Call::Message => self.message(),
        }
        let victim = self.victim();
        if self.cell.victim == Victim::Holder {
            // Whatever became of the call, the lock has passed on.
            self.add(CALLER, Step::AwaitDeath { rank: victim });
            self.use_alone(CALLER, self.target);
        }
        if matches!(self.cell.victim, Victim::Target | Victim::Owner) {
            self.fails(CALLER, Step::LockInVain { window: LOCKED, target: victim });
        }
        // The living go on.
        let alive = if self.cell.victim == Victim::Other { self.target } else { OTHER };
        for rank in [CALLER, self.third].into_iter().filter(|rank| *rank != victim) {
            self.use_alone(rank, alive);
        }
    }

    fn victim(&self) -> u32 {
        match self.cell.victim {
            Victim::Target | Victim::Owner => self.target,
            Victim::Other => OTHER,
            Victim::Holder => self.third,
        }
    }

    /// The number of the step that a rank is given next.
    fn next(&self, rank: u32) -> usize {
        self.scripts[rank as usize].len()
    }

    fn add(&mut self, rank: u32, step: Step) {
        self.scripts[rank as usize].push(step);
    }

    /// Adds a step that must fail.
    fn fails(&mut self, rank: u32, step: Step) {
        self.must_fail.push((rank, self.next(rank)));
        self.add(rank, step);
    }

    /// The victim dies, when a rank has begun the step that it will add next.
    fn die_when_next_of(&mut self, rank: u32) {
        self.die_when(rank, self.next(rank));
    }

    fn die_when(&mut self, rank: u32, step: usize) {
        let victim = self.victim();
        self.add(victim, Step::Await { rank, step });
        self.death = Some((victim, self.next(victim)));
        self.add(victim, Step::AwaitDeath { rank: victim });
    }

    fn operate(&mut self, rank: u32, window: usize, target: u32) {
        let part = Part { at: 3, len: 700 };
        let (call, seven) = (self.cell.call, Part { at: 0, len: 7 });
        let steps = match call {
            Call::Get => vec![Step::Get { window, target, part }],
            Call::Atomic => vec![
                Step::Add { window, target, part: seven },
                Step::Fetch { window, target },
                Step::Swap { window, target },
            ],
            _ => vec![Step::Put { window, target, part }],
        };
        steps.into_iter().for_each(|step| self.add(rank, step));
        self.add(rank, Step::Flush { window, target });
    }

    /// An epoch of a lock that no other rank has to give back.
    fn use_alone(&mut self, rank: u32, target: u32) {
        let (window, part) = (LOCKED, Part { at: 900, len: 5 });
        self.add(rank, Step::Lock { window, target, is_exclusive: true });
        self.add(rank, Step::Put { window, target, part });
        self.add(rank, Step::Unlock { window, target });
    }

    /// The third rank takes the target's lock; answers which of its steps has not begun before it has it.
    fn hold(&mut self) -> usize {
        let (third, target, window) = (self.third, self.target, LOCKED);
        self.add(third, Step::Lock { window, target, is_exclusive: self.cell.call != Call::Lock });
        self.add(third, Step::Fetch { window, target });
        self.next(third)
    }

    fn passive(&mut self) {
        let (target, third, window) = (self.target, self.third, LOCKED);
        let is_exclusive = self.cell.call != Call::Get;
        let lock = Step::Lock { window, target, is_exclusive };
        match (self.cell.victim, self.cell.call) {
            (Victim::Other, Call::Lock) => self.pass_a_waiter(),
            (Victim::Target | Victim::Other, call) => {
                let victim = self.victim();
                let unlock = Step::Unlock { window, target };
                let (window, lock, unlock) = match call {
                    Call::Flush => (ALL, Step::LockAll { window: ALL }, Step::UnlockAll { window: ALL }),
                    _ => (window, lock, unlock),
                };
                self.die_when(CALLER, self.next(CALLER) + 1);
                self.add(CALLER, lock.clone());
                for _ in 0..TIMES {
                    self.operate(CALLER, window, target);
                    if call == Call::Lock {
                        self.add(CALLER, unlock.clone());
                        self.add(CALLER, lock.clone());
                    }
                }
                self.add(CALLER, Step::AwaitDeath { rank: victim });
                self.operate(CALLER, window, target);
                if self.cell.victim == Victim::Target && self.is_by_packets {
                    self.must_fail.push((CALLER, self.next(CALLER) - 1));
                }
                self.add(CALLER, unlock);
            }
            (Victim::Holder, _) => {
                let held = self.hold();
                self.add(CALLER, Step::Await { rank: third, step: held });
                self.die_when_next_of(CALLER);
                self.add(CALLER, lock);
                self.operate(CALLER, window, target);
                self.add(CALLER, Step::Unlock { window, target });
            }
            (Victim::Owner, _) => {
                let held = self.hold();
                self.add(CALLER, Step::Await { rank: third, step: held });
                self.die_when_next_of(CALLER);
                self.add(CALLER, lock);
                self.operate(CALLER, window, target);
                if self.is_by_packets {
                    self.must_fail.push((CALLER, self.next(CALLER) - 1));
                }
                self.add(CALLER, Step::Unlock { window, target });
                self.add(third, Step::AwaitDeath { rank: target });
                self.operate(third, window, target);
                self.add(third, Step::Unlock { window, target });
                self.fails(third, Step::LockInVain { window, target });
            }
        }
    }

    /// The third rank holds the lock, the other one dies in line, and the caller waits behind it.
    fn pass_a_waiter(&mut self) {
        let (target, third, window) = (self.target, self.third, LOCKED);
        let lock = Step::Lock { window, target, is_exclusive: true };
        self.add(third, lock.clone());
        self.add(third, Step::Fetch { window, target });
        let held = self.next(third);
        self.add(OTHER, Step::Await { rank: third, step: held });
        let waits = self.next(OTHER);
        self.add(OTHER, lock.clone());
        self.add(OTHER, Step::Fetch { window, target });
        self.add(OTHER, Step::AwaitDeath { rank: OTHER });
        self.death = Some((OTHER, waits));
        self.add(CALLER, Step::Await { rank: OTHER, step: waits });
        let wanted = self.next(CALLER);
        self.add(CALLER, lock);
        self.add(CALLER, Step::Fetch { window, target });
        self.add(CALLER, Step::Unlock { window, target });
        self.add(third, Step::Await { rank: CALLER, step: wanted });
        self.add(third, Step::AwaitDeath { rank: OTHER });
        self.add(third, Step::Unlock { window, target });
    }

    /// The ranks that take part in collective calls, but for the victim.
    fn members(&self) -> Vec<u32> {
        (0..RANKS)
            .filter(|rank| *rank != self.victim() && (self.cell.victim != Victim::Other || *rank != OTHER))
            .collect()
    }

    /// Before a collective call: the locks that its cell wants held. The ranks that they are held for are
    /// named in the order of calls.
    fn prepare(&mut self) {
        let (target, third, window) = (self.target, self.third, LOCKED);
        match self.cell.victim {
            Victim::Holder => {
                let held = self.hold();
                for rank in self.members() {
                    self.add(rank, Step::Await { rank: third, step: held });
                }
            }
            Victim::Owner => {
                self.add(CALLER, Step::Lock { window, target, is_exclusive: true });
                self.add(CALLER, Step::Fetch { window, target });
            }
            Victim::Target | Victim::Other => {}
        }
    }

    /// After one.
    fn give_back(&mut self) {
        if self.cell.victim == Victim::Owner {
            self.add(CALLER, Step::Unlock { window: LOCKED, target: self.target });
        }
    }

    fn posted(&mut self) {
        let (target, third) = (self.target, self.third);
        self.prepare();
        let window = super::program::POSTED;
        let part = Part { at: 0, len: 9 };
        match self.cell.victim {
            // It has posted, and waits for what the caller does; the third waits for what it does.
            Victim::Target => {
                self.add(target, Step::Post { group: vec![CALLER] });
                self.add(third, Step::Post { group: vec![target] });
                self.fails(third, Step::Wait { group: vec![target] });
                self.add(CALLER, Step::Start { group: vec![target] });
                self.die_when_next_of(CALLER);
                self.add(CALLER, Step::Put { window, target, part });
                self.add(CALLER, Step::AwaitDeath { rank: target });
                self.add(CALLER, Step::Complete { group: vec![target] });
            }
            // It has not posted. A start that names others beside it waits for this rank alone.
            Victim::Owner => {
                let mut group = vec![target, third];
                group.sort_unstable();
                self.add(third, Step::Post { group: vec![CALLER] });
                self.add(third, Step::Wait { group: vec![CALLER] });
                self.die_when_next_of(CALLER);
                self.add(CALLER, Step::Start { group: group.clone() });
                self.add(CALLER, Step::Put { window, target: third, part });
                self.fails(CALLER, Step::Complete { group });
            }
            Victim::Other | Victim::Holder => {
                self.add(target, Step::Post { group: vec![CALLER] });
                self.add(CALLER, Step::Start { group: vec![target] });
                self.die_when_next_of(CALLER);
                self.add(CALLER, Step::AwaitDeath { rank: self.victim() });
                self.add(CALLER, Step::Put { window, target, part });
                self.add(CALLER, Step::Complete { group: vec![target] });
                self.add(target, Step::Wait { group: vec![CALLER] });
            }
        }
        self.give_back();
    }
}
