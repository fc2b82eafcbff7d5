//! A process dies at each step of each call, with any number of others in line and holding: the lock's owner
//! recounts, every survivor gets the lock in the end, and none beside a holder that it excludes.
//!
//! A waiting process tries only when it is woken, so a wake-up that is missing is a lock that never comes.

use super::mortal::live_for;
use super::state::{Holder, LockRequest};
use super::{ControlBlock, ControlShape, Living, LockCell, OfEngine, Ticket, Wake};
use crate::ids::{LockKind, Peer};
use crate::mem::testing::memory;
use std::time::Duration;

use LockKind as K;
use LockRequest as R;

/// The lock's owner, whose engine counts anew. It uses its own lock as well.
const OWNER: usize = 0;
/// The process that dies.
const VICTIM: usize = 1;

#[derive(Debug)]
enum Part {
    Idle,
    Waits(Ticket, R),
    Holds(K),
    Dead,
}

struct World {
    block: ControlBlock,
    cells: Vec<LockCell>,
    parts: Vec<Part>,
    woken: Vec<bool>,
    voids: Vec<Ticket>,
    now: Duration,
}

fn holder(rank: usize) -> Holder {
    Holder::new(Peer(rank as u32)).unwrap()
}

impl World {
    fn new(ranks: usize) -> Self {
        let shape = ControlShape::new(16, 8);
        let memories: Vec<_> = (0..ranks).map(|_| memory(shape.control_len_with_cells(ranks))).collect();
        Self {
            block: ControlBlock::new(memories[OWNER], shape).unwrap(),
            cells: memories.iter().map(|memory| LockCell::new(*memory, shape, OWNER).unwrap()).collect(),
            parts: (0..ranks).map(|_| Part::Idle).collect(),
            woken: vec![false; ranks],
            voids: Vec::new(),
            now: Duration::ZERO,
        }
    }

    fn wake(&mut self, wake: Option<Wake>) {
        match wake {
            None => {}
            Some(Wake::Peer(peer)) => self.woken[peer.0 as usize] = true,
            Some(Wake::Everyone) => self.woken.fill(true),
        }
    }

    /// Asks for the lock, and stands in line if it is not to be had.
    fn ask(&mut self, rank: usize, request: R) {
        let (block, cell) = (self.block, self.cells[rank]);
        self.parts[rank] = if block.try_acquire_own(&cell, request, holder(rank)).is_granted() {
            Part::Holds(request.kind())
        } else {
            let mut ticket = block.join_own(&cell, request, holder(rank));
            ticket.set_came(|| self.now);
            Part::Waits(ticket, request)
        };
        self.woken[rank] = true;
        self.check();
    }

    fn attempt(&mut self, rank: usize) {
        let part = std::mem::replace(&mut self.parts[rank], Part::Idle);
        self.parts[rank] = match part {
            Part::Waits(ticket, request) => {
                match self.block.try_pass_own(&self.cells[rank], ticket, self.now) {
                    Ok(grant) => {
                        self.wake(grant.wake);
                        Part::Holds(request.kind())
                    }
                    Err(ticket) => Part::Waits(ticket, request),
                }
            }
            part => part,
        };
        self.check();
    }

    fn release(&mut self, rank: usize) {
        let Part::Holds(kind) = std::mem::replace(&mut self.parts[rank], Part::Idle) else {
            panic!("rank {rank} holds nothing")
        };
        let wake = self.block.release_own(&self.cells[rank], kind, holder(rank)).unwrap();
        self.wake(wake);
    }

    /// The owner has learned that the victim is dead.
    fn recover(&mut self) {
        self.parts[VICTIM] = Part::Dead;
        self.block.freeze();
        let cells: Vec<_> =
            (0..self.cells.len()).filter(|rank| *rank != VICTIM).map(|rank| self.cells[rank]).collect();
        let living = Living {
            cells: &cells,
            ranks: self.cells.len(),
            owner: holder(OWNER),
            is_dead: &|peer| peer == holder(VICTIM).peer(),
        };
        let tickets = self.voids.iter().filter_map(Ticket::number).collect();
        let voids = self.block.recount(&living, &OfEngine { sharers: 0, tickets });
        self.voids.extend(voids.expect("no process is in the middle of a step"));
        self.wake(Some(Wake::Everyone));
    }

    /// The owner's engine gives void tickets their turns, in order.
    fn advance(&mut self) {
        while !self.voids.is_empty() {
            match self.block.try_turn(self.voids.remove(0)) {
                Ok(grant) => self.wake(grant.wake),
                Err(ticket) => return self.voids.insert(0, ticket),
            }
        }
    }

    fn check(&self) {
        let holds =
            |kind| self.parts.iter().filter(|part| matches!(part, Part::Holds(of) if *of == kind)).count();
        let (owners, sharers) = (holds(K::Exclusive), holds(K::Shared));
        assert!(owners == 0 || (owners, sharers) == (1, 0), "{owners} owners and {sharers} sharers");
    }

    /// Every waiting process gets the lock, and gives it back.
    fn run_out(&mut self) {
        let ranks = self.parts.len();
        for _ in 0..4 * ranks + 8 {
            self.now += Duration::from_millis(100);
            if std::mem::take(&mut self.woken[OWNER]) {
                self.advance();
                self.woken[OWNER] = true;
            }
            for rank in 0..ranks {
                let is_timed = matches!(&self.parts[rank], Part::Waits(ticket, _) if ticket.due().is_some());
                if std::mem::take(&mut self.woken[rank]) || is_timed {
                    self.attempt(rank);
                }
            }
            for rank in 0..ranks {
                if matches!(self.parts[rank], Part::Holds(_)) {
                    self.release(rank);
                }
            }
        }
        for (rank, part) in self.parts.iter().enumerate() {
            assert!(
                matches!(part, Part::Idle | Part::Dead),
                "rank {rank}: {part:?}, {:?}",
                self.block.lock_state()
            );
        }
        let state = self.block.lock_state();
        assert!(state.is_free() && state.waiters() == 0 && self.voids.is_empty(), "{state:?}");
    }
}

/// What the victim is doing.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// Asks, and tries once.
    Ask(R),
    /// Has asked before others, has its turn now, and tries.
    Turn(R),
    /// Gives back what it has.
    Release(R),
}

const CALLS: [Call; 9] = [
    Call::Ask(R::Exclusive),
    Call::Ask(R::Shared),
    Call::Ask(R::SharedHolding),
    Call::Turn(R::Exclusive),
    Call::Turn(R::Shared),
    Call::Turn(R::SharedHolding),
    Call::Release(R::Exclusive),
    Call::Release(R::Shared),
    Call::Release(R::SharedHolding),
];

/// What the others in line want, by turns.
const WANTS: [&[R]; 4] = [
    &[R::Exclusive],
    &[R::Shared],
    &[R::Shared, R::Exclusive],
    &[R::Exclusive, R::Shared, R::Shared, R::SharedHolding],
];

/// Runs the call with so many in line before the victim and behind it, and kills it after so many steps; answers whether it was
/// killed.
fn run(call: Call, held: Option<K>, before: usize, behind: usize, wants: &[R], steps: u32) -> bool {
    let mut world = World::new(3 + before + behind);
    let want = |place: usize| wants[place % wants.len()];
    let first = 3;
    let keeper = 2;
    let request = match call {
        Call::Ask(request) | Call::Turn(request) | Call::Release(request) => request,
    };
    if let Call::Release(_) = call {
        world.ask(VICTIM, request);
        if let (Some(K::Shared), K::Shared) = (held, request.kind()) {
            world.ask(keeper, R::Shared);
        }
    } else if let Some(kind) = held {
        world.ask(keeper, if kind == K::Shared { R::Shared } else { R::Exclusive });
    }
    if let Call::Turn(_) = call {
        world.ask(VICTIM, request);
    }
    (0..before).for_each(|place| world.ask(first + place, want(place)));
    if let (Call::Turn(_), Part::Holds(_)) = (call, &world.parts[keeper]) {
        world.release(keeper);
    }
    let was_killed = live_for(steps, || match call {
        Call::Ask(_) => {
            world.ask(VICTIM, request);
            world.attempt(VICTIM);
        }
        Call::Turn(_) => world.attempt(VICTIM),
        Call::Release(_) => world.release(VICTIM),
    })
    .is_none();
    // Others come before the death is known.
    world.parts[VICTIM] = Part::Dead;
    (0..behind).for_each(|place| world.ask(first + before + place, want(place)));
    world.recover();
    world.run_out();
    was_killed
}

#[test]
fn survivors_get_the_lock_wherever_another_process_dies() {
    let mut kills = 0;
    for call in CALLS {
        for held in [None, Some(K::Shared), Some(K::Exclusive)] {
            for wants in WANTS {
                for (before, behind) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 3), (3, 17), (18, 2)] {
                    for steps in 0.. {
                        if !run(call, held, before, behind, wants, steps) {
                            break;
                        }
                        kills += 1;
                    }
                }
            }
        }
    }
    assert!(kills > 4_000, "{kills} kills are not all");
}

#[test]
fn a_second_death_is_counted_as_well_while_places_of_the_first_are_waited_for() {
    for wants in WANTS {
        let mut world = World::new(30);
        world.ask(OWNER, R::Exclusive);
        world.ask(VICTIM, R::Exclusive);
        (2..28).for_each(|rank| world.ask(rank, wants[rank % wants.len()]));
        world.recover();
        world.recover();
        (28..30).for_each(|rank| world.ask(rank, R::Shared));
        world.run_out();
    }
}

#[test]
fn requests_made_while_the_word_is_frozen_get_the_lock_afterwards() {
    for held in [R::Shared, R::Exclusive] {
        let mut world = World::new(8);
        world.ask(VICTIM, held);
        world.block.freeze();
        (2..5).for_each(|rank| world.ask(rank, [R::Exclusive, R::Shared, R::SharedHolding][rank - 2]));
        (2..5).for_each(|rank| world.attempt(rank));
        assert!(world.parts[2..5].iter().all(|part| matches!(part, Part::Waits(..))));
        world.recover();
        world.run_out();
    }
}

#[test]
fn sharers_leave_while_the_word_is_frozen() {
    let mut world = World::new(4);
    [VICTIM, 2, 3].into_iter().for_each(|rank| world.ask(rank, R::Shared));
    world.block.freeze();
    world.release(2);
    world.recover();
    assert_eq!(world.block.lock_state().shared(), 1);
    world.run_out();
}

#[test]
fn a_lock_of_a_dead_owner_is_never_had_again() {
    let mut world = World::new(3);
    world.ask(2, R::Exclusive);
    world.block.freeze();
    world.ask(VICTIM, R::Exclusive);
    world.release(2);
    world.attempt(VICTIM);
    world.ask(2, R::Shared);
    assert!(world.parts[1..].iter().all(|part| matches!(part, Part::Waits(..))));
}

#[test]
fn a_word_says_that_a_holder_has_died_until_the_next_one_has_the_lock() {
    let whens = ["before the death", "while the word is frozen", "behind it"];
    for (held, next, when) in [R::Shared, R::Exclusive].into_iter().flat_map(|held| {
        let nexts = [R::Shared, R::SharedHolding, R::Exclusive];
        nexts.into_iter().flat_map(move |next| whens.map(|when| (held, next, when)))
    }) {
        let mut world = World::new(3);
        world.ask(VICTIM, held);
        if when == whens[1] {
            world.block.freeze();
        }
        if when != whens[2] {
            world.ask(2, next);
        }
        let has_it = matches!(world.parts[2], Part::Holds(_));
        world.recover();
        assert!(world.block.lock_state().is_bequeathed());
        if has_it {
            // It holds together with the dead process, so the next holder gets the notice.
            continue;
        }
        if when == whens[2] {
            world.ask(2, next);
        } else {
            world.attempt(2);
        }
        assert!(matches!(world.parts[2], Part::Holds(_)), "{next:?} asks {when}");
        assert!(!world.block.lock_state().is_bequeathed(), "{next:?} asks {when}");
    }
    // One that only waited had nothing to leave.
    let mut world = World::new(3);
    world.ask(2, R::Exclusive);
    world.ask(VICTIM, R::Exclusive);
    world.recover();
    assert!(!world.block.lock_state().is_bequeathed());
    world.run_out();
}
