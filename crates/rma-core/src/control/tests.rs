//! Control blocks in real memory: each rule of the lock alone, all interleavings of small programs, threads, hostile bytes.

use super::state::{Holder, LockRequest};
use super::{ControlBlock, ControlShape, Published, Ticket, Wake};
use crate::ids::{LockKind, Peer};
use crate::mem::testing::{bytes, memory};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use LockKind as K;
use LockRequest as R;

pub(super) fn shape() -> ControlShape {
    ControlShape::new(16, 8)
}

fn control_len() -> usize {
    shape().control_len()
}

pub(super) fn block() -> ControlBlock {
    ControlBlock::new(memory(control_len()), shape()).unwrap()
}

pub(super) fn holder(peer: u32) -> Holder {
    Holder::new(Peer(peer)).unwrap()
}

/// Tries a ticket; the wake of the grant as `Ok`.
pub(super) fn turn(block: &ControlBlock, ticket: &mut Option<Ticket>) -> Option<Option<Wake>> {
    match block.try_turn(ticket.take().expect("the ticket is still waiting")) {
        Ok(grant) => Some(grant.wake),
        Err(back) => {
            *ticket = Some(back);
            None
        }
    }
}

#[test]
fn a_block_needs_room_and_alignment() {
    assert!(ControlBlock::new(memory(control_len() - 1), shape()).is_none());
    assert!(ControlBlock::new(memory(control_len() + 64).part(8, control_len()), shape()).is_none());
    assert!(ControlBlock::new(memory(control_len() + 64).part(64, control_len()), shape()).is_some());
}

#[test]
fn what_the_owner_published_is_read_back() {
    let block = block();
    assert_eq!(block.published(), None);
    for is_mapped in [false, true] {
        let published = Published { data_len: 1 << 40, disp_unit: 8, is_mapped };
        block.publish(published);
        assert_eq!(block.published(), Some(published));
    }
}

#[test]
fn free_locks_are_taken_and_released_without_a_trace() {
    let (memory, me) = (memory(control_len()), holder(0));
    let block = ControlBlock::new(memory, shape()).unwrap();
    for request in [R::Exclusive, R::Shared, R::SharedHolding] {
        assert!(block.try_acquire(request, me));
        assert!(!block.try_acquire(R::Exclusive, holder(1)));
        assert_eq!(block.release(request.kind(), me), Ok(None));
        assert!(block.lock_state().is_free());
    }
    assert!(bytes(memory).iter().all(|b| *b == 0), "no process waited, so only the word was used");
}

#[test]
fn a_lock_is_released_alone_only_where_no_other_process_holds_it_or_waits() {
    let (block, me, other) = (block(), holder(0), holder(1));
    for (request, kind) in [(R::Exclusive, K::Exclusive), (R::Shared, K::Shared)] {
        let wrong = if kind == K::Shared { K::Exclusive } else { K::Shared };
        assert!(!block.release_alone(kind, me), "it is free");
        assert!(block.try_acquire(request, me));
        assert!(!block.release_alone(wrong, me) && !block.release_alone(K::Exclusive, other));
        assert!(block.release_alone(kind, me) && block.lock_state().is_free());
        assert!(block.try_acquire(request, me));
        let waiter = block.join(R::Exclusive, other);
        assert!(!block.release_alone(kind, me), "the waiter has to be woken");
        assert!(block.release(kind, me).unwrap().is_some());
        assert!(block.try_turn(waiter).is_ok() && block.release_alone(K::Exclusive, other));
    }
    assert!(block.try_acquire(R::Shared, me) && block.try_acquire(R::Shared, other));
    assert!(!block.release_alone(K::Shared, me), "there are two");
    assert_eq!((block.release(K::Shared, other), block.release_alone(K::Shared, me)), (Ok(None), true));
}

#[test]
fn a_release_by_a_process_that_does_not_hold_is_an_error_and_changes_nothing() {
    let block = block();
    assert!(block.release(K::Shared, holder(1)).is_err());
    assert!(block.try_acquire(R::Exclusive, holder(1)));
    for (kind, peer) in [(K::Exclusive, 2), (K::Shared, 1), (K::Shared, 2)] {
        let error = block.release(kind, holder(peer)).unwrap_err();
        assert_eq!(error.to_string(), "the lock is held exclusively by process 1");
    }
    // A request that follows the owner does not hold yet.
    let follower = block.join(R::SharedHolding, holder(2));
    assert!(block.release(K::Shared, holder(2)).is_err());
    assert_eq!(block.release(K::Exclusive, holder(1)), Ok(Some(Wake::Everyone)));
    assert!(block.try_turn(follower).is_ok());
    assert!(block.release(K::Exclusive, holder(2)).is_err());
    assert_eq!(block.release(K::Shared, holder(2)), Ok(None));
}

#[test]
fn the_line_is_served_in_order_and_shared_neighbours_together() {
    let block = block();
    assert!(block.try_acquire(R::Shared, holder(0)));
    let requests = [R::Exclusive, R::Shared, R::Shared, R::Exclusive, R::Shared];
    let mut tickets = requests.map(|_| None);
    for (i, request) in requests.into_iter().enumerate() {
        assert!(!block.try_acquire(request, holder(i as u32 + 1)), "request {i} would overtake");
        tickets[i] = Some(block.join(request, holder(i as u32 + 1)));
    }
    assert_eq!(block.lock_state().waiters(), 5);
    assert!((0..5).all(|i| turn(&block, &mut tickets[i]).is_none()));

    assert_eq!(block.release(K::Shared, holder(0)), Ok(Some(Wake::Peer(Peer(1)))));
    assert!((1..5).all(|i| turn(&block, &mut tickets[i]).is_none()), "only the head has its turn");
    assert_eq!(turn(&block, &mut tickets[0]), Some(None), "no request enters beside an owner");
    assert_eq!(block.lock_state().owner(), Some(Peer(1)));
    assert!(turn(&block, &mut tickets[1]).is_none());

    assert_eq!(block.release(K::Exclusive, holder(1)), Ok(Some(Wake::Peer(Peer(2)))));
    assert!(turn(&block, &mut tickets[2]).is_none(), "also among neighbours the first is first");
    assert_eq!(turn(&block, &mut tickets[1]), Some(Some(Wake::Peer(Peer(3)))), "the neighbour is woken");
    assert_eq!(turn(&block, &mut tickets[2]), Some(None), "the next is exclusive");
    assert_eq!(block.lock_state().shared(), 2);
    assert!(turn(&block, &mut tickets[3]).is_none() && turn(&block, &mut tickets[4]).is_none());
    assert!(!block.try_acquire(R::Shared, holder(9)), "newcomers see that others wait");

    assert_eq!(block.release(K::Shared, holder(3)), Ok(None));
    assert_eq!(block.release(K::Shared, holder(2)), Ok(Some(Wake::Peer(Peer(4)))));
    assert_eq!(turn(&block, &mut tickets[3]), Some(None));
    assert_eq!(block.release(K::Exclusive, holder(4)), Ok(Some(Wake::Peer(Peer(5)))));
    assert_eq!(turn(&block, &mut tickets[4]), Some(None));
    assert_eq!(block.release(K::Shared, holder(5)), Ok(None));
    assert_eq!(block.lock_state(), Default::default());
}

#[test]
fn an_origin_that_does_not_map_the_block_waits_through_the_owner() {
    let block = block();
    assert!(block.try_acquire(R::Exclusive, holder(1)));
    let (remote, owner) = (holder(70), holder(0));
    let mut ticket = Some(block.join_for(R::Exclusive, remote, owner));
    assert_eq!(block.release(K::Exclusive, holder(1)), Ok(Some(Wake::Peer(owner.peer()))));
    assert_eq!(turn(&block, &mut ticket), Some(None));
    assert_eq!(block.lock_state().owner(), Some(remote.peer()), "the lock is the origin's, not the owner's");
    assert!(block.release(K::Exclusive, owner).is_err());
    assert_eq!(block.release(K::Exclusive, remote), Ok(None));
}

#[test]
fn a_full_directory_rings_all() {
    for entries in [1, 2, 16, 41, 300] {
        let shape = ControlShape::new(entries, 1);
        let block = ControlBlock::new(memory(shape.control_len()), shape).unwrap();
        wake_forty(block, entries as usize);
    }
}

fn wake_forty(block: ControlBlock, entries: usize) {
    assert!(block.try_acquire(R::Exclusive, holder(0)));
    let mut tickets: Vec<_> = (0..40).map(|i| Some(block.join(R::Exclusive, holder(i + 1)))).collect();
    let mut owner = holder(0);
    for (i, ticket) in tickets.iter_mut().enumerate() {
        let next = holder(i as u32 + 1);
        let exact = i + entries >= 40;
        let expected = if exact { Wake::Peer(next.peer()) } else { Wake::Everyone };
        assert_eq!(block.release(K::Exclusive, owner), Ok(Some(expected)), "ticket {i}");
        assert_eq!(turn(&block, ticket), Some(None));
        owner = next;
    }
    assert_eq!(block.release(K::Exclusive, owner), Ok(None));
}

/// Tries a ticket at a time of the node.
pub(super) fn pass(block: &ControlBlock, ticket: &mut Option<Ticket>, now: Duration) -> Option<Option<Wake>> {
    match block.try_pass(ticket.take().expect("the ticket is still waiting"), now) {
        Ok(grant) => Some(grant.wake),
        Err(back) => {
            *ticket = Some(back);
            None
        }
    }
}

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A step of a rank's program over two locks.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Asks for a lock and goes on; at most once per lock.
    Ask(usize, LockRequest),
    /// Waits until the lock is granted.
    Await(usize),
    Release(usize, LockKind),
}

/// A world of ranks that can be put back to any state, since all of it is numbers.
struct World<'a> {
    programs: &'a [&'a [Step]],
    blocks: [ControlBlock; 2],
    at: Vec<usize>,
    tickets: Vec<[Option<Ticket>; 2]>,
}

impl<'a> World<'a> {
    fn replay(programs: &'a [&'a [Step]], schedule: &[(usize, bool)]) -> Self {
        let mut world = Self {
            programs,
            blocks: [block(), block()],
            at: vec![0; programs.len()],
            tickets: programs.iter().map(|_| [None, None]).collect(),
        };
        for (rank, has_time) in schedule {
            assert!(world.step(*rank, *has_time), "a schedule holds steps that can be made");
        }
        world
    }

    /// One step of a rank, for which time has passed or not; `false` when it has to wait or has ended.
    fn step(&mut self, rank: usize, has_time: bool) -> bool {
        let Some(step) = self.programs[rank].get(self.at[rank]) else { return false };
        let me = holder(rank as u32);
        match *step {
            Step::Ask(lock, request) => {
                if !self.blocks[lock].try_acquire(request, me) {
                    self.tickets[rank][lock] = Some(self.blocks[lock].join(request, me));
                }
            }
            Step::Await(lock) => {
                let (block, ticket) = (&self.blocks[lock], &mut self.tickets[rank][lock]);
                let is_tried = |ticket: &mut Option<Ticket>| match has_time {
                    true => [ms(0), ms(1)].into_iter().find_map(|now| pass(block, ticket, now)).is_some(),
                    false => turn(block, ticket).is_some(),
                };
                if ticket.is_some() && !is_tried(ticket) {
                    return false;
                }
            }
            Step::Release(lock, kind) => {
                let _ = self.blocks[lock].release(kind, me).expect("each program releases what it holds");
            }
        }
        self.at[rank] += 1;
        true
    }

    fn key(&self) -> (Vec<usize>, [super::LockState; 2], String) {
        (
            self.at.clone(),
            [self.blocks[0].lock_state(), self.blocks[1].lock_state()],
            format!("{:?}", self.tickets),
        )
    }
}

/// Runs every interleaving of the programs; answers how many states there are. Panics in a state from which
/// no program moves although one has not ended.
fn all_interleavings(programs: &[&[Step]]) -> usize {
    let mut known = HashSet::new();
    let mut open = vec![Vec::new()];
    while let Some(schedule) = open.pop() {
        let world = World::replay(programs, &schedule);
        let key = format!("{:?}", world.key());
        if !known.insert(key) {
            continue;
        }
        let mut moved = false;
        for rank in 0..programs.len() {
            for has_time in [false, true] {
                let mut schedule = schedule.clone();
                if World::replay(programs, &schedule).step(rank, has_time) {
                    moved = true;
                    schedule.push((rank, has_time));
                    open.push(schedule);
                }
            }
        }
        let has_ended = world.at.iter().zip(programs).all(|(at, program)| *at == program.len());
        assert!(moved || has_ended, "deadlock after {schedule:?}");
    }
    known.len()
}

const A: usize = 0;
const B: usize = 1;

/// The states of the four ranks of decision 2, two of which hold one lock and ask for the other like this.
fn states_of_four_ranks(second: R) -> usize {
    use Step::{Ask, Await, Release};
    let holds_both = |one, other| {
        [
            Ask(one, R::Shared),
            Await(one),
            Ask(other, second),
            Await(other),
            Release(A, K::Shared),
            Release(B, K::Shared),
        ]
    };
    let has_one = |lock| [Ask(lock, R::Exclusive), Await(lock), Release(lock, K::Exclusive)];
    all_interleavings(&[&holds_both(A, B), &holds_both(B, A), &has_one(A), &has_one(B)])
}

#[test]
fn the_four_ranks_of_decision_2_never_deadlock() {
    let states = states_of_four_ranks(R::SharedHolding);
    assert!(states > 500, "{states} states are not all");
}

#[test]
fn strict_order_would_deadlock_the_four_ranks() {
    let run = std::panic::catch_unwind(|| states_of_four_ranks(R::Shared));
    assert!(run.is_err(), "the search must be able to find the deadlock that the flag avoids");
}

#[test]
fn holders_with_several_requests_under_way_never_deadlock() {
    use Step::{Ask, Await, Release};
    // As the engine asks for remote targets: two holders ask for both locks before they wait, and each lock has owners
    // and exclusive waiters.
    let lazy = |first: usize, second: usize| {
        [
            Ask(first, R::SharedHolding),
            Ask(second, R::SharedHolding),
            Await(second),
            Await(first),
            Release(A, K::Shared),
            Release(B, K::Shared),
        ]
    };
    let owner = |lock| [Ask(lock, R::Exclusive), Await(lock), Release(lock, K::Exclusive)];
    let states = all_interleavings(&[&lazy(A, B), &lazy(B, A), &owner(A), &owner(B), &owner(A)]);
    assert!(states > 2000, "{states} states are not all");
}

#[test]
fn threads_that_lock_exclude_each_other() {
    const ROUNDS: u32 = 2_000;
    let block = block();
    let (inside, readers, plain) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for peer in 0..3 {
            let (block, inside, readers, plain) = (&block, &inside, &readers, &plain);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let request = if (round + peer) % 3 == 0 { R::Shared } else { R::Exclusive };
                    let me = holder(peer);
                    if !block.try_acquire(request, me) {
                        let mut ticket = Some(block.join(request, me));
                        while turn(block, &mut ticket).is_none() {
                            std::thread::yield_now();
                        }
                    }
                    if request.kind() == K::Exclusive {
                        assert_eq!((inside.fetch_add(1, Relaxed), readers.load(Relaxed)), (0, 0));
                        plain.store(plain.load(Relaxed) + 1, Relaxed);
                        inside.fetch_sub(1, Relaxed);
                    } else {
                        readers.fetch_add(1, Relaxed);
                        assert_eq!(inside.load(Relaxed), 0);
                        readers.fetch_sub(1, Relaxed);
                    }
                    let _ = block.release(request.kind(), me).unwrap();
                }
            });
        }
    });
    assert_eq!(plain.into_inner(), 3 * ROUNDS * 2 / 3);
    assert_eq!(block.lock_state(), Default::default());
}

#[test]
fn hostile_bytes_neither_panic_nor_hang() {
    let memory = memory(control_len());
    let block = ControlBlock::new(memory, shape()).unwrap();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut noise = vec![0u8; control_len()];
    for round in 0..2_000 {
        for byte in &mut noise {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            *byte = match round % 3 {
                0 => 0xff,
                1 => seed as u8,
                _ => (seed as u8) & 1,
            };
        }
        memory.write(&noise);
        for request in [R::Exclusive, R::Shared, R::SharedHolding] {
            let _ = block.try_acquire(request, holder(1));
            let ticket = block.join(request, holder(Holder::MAX_PEERS - 1));
            let _ = block.try_turn(ticket).or_else(|ticket| block.try_pass(ticket, ms(1)));
            let _ = block.release(request.kind(), holder(0));
        }
        let _ = (block.published(), block.lock_state());
    }
}
