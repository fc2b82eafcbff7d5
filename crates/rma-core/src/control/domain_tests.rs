//! Accumulates of many threads on the same elements: small, bulk, unaligned, each in the name of a process of its own or all
//! in one. Sums are exact.

use super::bulk::CHUNK;
use super::domain::{Domain, NodeDomain, TargetDomain};
use super::tests::shape;
use super::{ControlBlock, ControlShape, Holder};
use crate::datatype::{BasicType, Layout, Loop, Scatter};
use crate::host::{Barriers, Vitals};
use crate::ids::{Peer, Rank};
use crate::kernel::{CompareAndSwap, Exclusion, Kernel, Operands, ReduceOp};
use crate::mem::WriteSpan;
use crate::mem::testing::{bytes, memory};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

fn holder(peer: u32) -> Holder {
    Holder::new(Peer(peer)).unwrap()
}

/// Windows as `ranks` processes see them, all with the target in block 0.
pub(super) fn processes(
    ranks: u32,
    barriers: impl Fn(u32) -> Barriers,
) -> (Vec<ControlBlock>, Vec<NodeDomain>) {
    // A thread that waits long asks: processes without a task may be taken for ended.
    processes_of(shape(), ranks, barriers, |_| false)
}

/// The same, but the process of rank 2 has ended, and only a waiting thread can find out.
fn processes_without_the_last() -> (Vec<ControlBlock>, Vec<NodeDomain>) {
    processes_of(shape(), 3, |_| Barriers::Even, |vital| vital == 102)
}

fn processes_of(
    shape: ControlShape,
    ranks: u32,
    barriers: impl Fn(u32) -> Barriers,
    has_ended: fn(u64) -> bool,
) -> (Vec<ControlBlock>, Vec<NodeDomain>) {
    let blocks: Vec<_> =
        (0..ranks).map(|_| ControlBlock::new(memory(shape.control_len()), shape).unwrap()).collect();
    let node_domain = (0..ranks).map(|rank| {
        let vitals = Vitals { own: u64::from(rank) + 100, has_ended };
        NodeDomain::new(blocks.clone().into(), blocks[rank as usize], holder(rank), barriers(rank), vitals)
    });
    let node_domain = node_domain.collect();
    (blocks, node_domain)
}

/// No process publishes how to ask whether it has ended.
fn silent_processes(ranks: u32) -> (Vec<ControlBlock>, Vec<NodeDomain>) {
    let (blocks, node_domain) = processes(ranks, |_| Barriers::Even);
    for (rank, block) in blocks.iter().enumerate() {
        block.introduce(holder(rank as u32), 0);
    }
    (blocks, node_domain)
}

fn sum() -> Kernel {
    Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap()
}

/// What a thread does in each round, on all of `target` in the end.
fn round(work: u32, domain: &Domain<'_>, target: WriteSpan, ones: &[u8], round: usize) {
    let words = target.len() / 8;
    match work {
        // Bulk, without and with old values.
        0 => sum().accumulate(target, ones, domain),
        1 => {
            let mut old = vec![0; target.len()];
            sum().fetch_accumulate(target, ones, &mut old[..], domain);
        }
        // Single words and short runs, which together make one for each word.
        2 => {
            for word in 0..words {
                sum().accumulate(target.part(8 * word, 8), &ones[..8], domain);
            }
        }
        3 => {
            // Of different lengths, so that some switch the accumulate mode and some do not.
            let (mut run, step) = (0, [96, 8, 7, 33][round % 4]);
            while run < words {
                let len = 8 * step.min(words - run);
                sum().accumulate(target.part(8 * run, len), &ones[..len], domain);
                run += step;
            }
        }
        // Every other word, then the rest, as blocks of a vector, and with old values that count up.
        4 => {
            for first in 0..2 {
                let count = (words - first).div_ceil(2) as u64;
                let layout = Layout::nest(8 * first as i64, 8, &[Loop { count, stride: 16 }]).unwrap();
                let place = Scatter::within(target, 0, &layout).unwrap();
                let operands = Operands::Bytes(&ones[..8 * count as usize]);
                if round.is_multiple_of(2) {
                    sum().accumulate_scattered(&place, operands, domain);
                } else {
                    let old = memory(8 * count as usize);
                    sum().fetch_scattered(&place, operands, &Scatter::span(old), domain);
                }
            }
        }
        // Compare-and-swap until it succeeds.
        _ => {
            let swap = CompareAndSwap::new(BasicType::U64).unwrap();
            for word in 0..words {
                let element = target.part(8 * ((word + round) % words), 8);
                let mut guess = [0; 8];
                loop {
                    let new = (u64::from_ne_bytes(guess) + 1).to_ne_bytes();
                    let mut old = [0; 8];
                    swap.apply(element, &guess[..], &new[..], &mut old[..], domain);
                    if old == guess {
                        break;
                    }
                    guess = old;
                }
            }
        }
    }
}

fn mix(ranks: u32, threads: u32, barriers: impl Fn(u32) -> Barriers) {
    mix_in(shape(), ranks, threads, barriers);
}

fn mix_in(shape: ControlShape, ranks: u32, threads: u32, barriers: impl Fn(u32) -> Barriers) {
    const ROUNDS: usize = if cfg!(miri) { 1 } else { 60 };
    let (blocks, node_domain) = processes_of(shape, ranks, barriers, |_| false);
    // Three chunks, which begin in the middle of the first.
    let len = 3 * CHUNK;
    let all = memory(len + CHUNK);
    let target = all.part(CHUNK / 2 + 8, len);
    let ones = 1u64.to_ne_bytes().repeat(len / 8);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (node_domain, block, ones) = (&node_domain[(thread % ranks) as usize], &blocks[0], &ones);
            scope.spawn(move || {
                let target_domain = TargetDomain::new(*block, Rank(0), all);
                let domain = node_domain.domain(&target_domain);
                for i in 0..ROUNDS {
                    round(thread % 6, &domain, target, ones, i);
                }
            });
        }
    });
    let expected = (u64::from(threads) * ROUNDS as u64).to_ne_bytes().repeat(len / 8);
    assert!(bytes(target) == expected, "an update was lost");
    assert_eq!(bytes(all.part(0, CHUNK / 2 + 8)), vec![0; CHUNK / 2 + 8], "bytes before");
}

#[test]
fn small_and_bulk_accumulates_of_several_processes_are_not_lost() {
    mix(6, 6, |_| Barriers::Even);
}

#[test]
fn threads_of_one_process_announce_apart_and_those_without_a_word_lock() {
    mix(1, 2 * shape().announcers() as u32 + 2, |_| Barriers::Even);
    mix_in(ControlShape::new(1, 1), 2, 6, |_| Barriers::Even);
    mix_in(ControlShape::new(1, 40), 1, 20, |_| Barriers::Even);
}

#[test]
fn processes_without_remote_barriers_do_no_bulk_and_take_part() {
    mix(3, 6, |rank| if rank == 0 { Barriers::Even } else { Barriers::Own });
}

#[test]
fn unaligned_accumulates_are_not_lost_under_the_exclusion() {
    const STEPS: u64 = 3_000;
    let (blocks, node_domain) = processes(3, |_| Barriers::Even);
    let target = memory(1024).part(3, 8 * 100);
    std::thread::scope(|scope| {
        for node_domain in &node_domain {
            let block = &blocks[0];
            scope.spawn(move || {
                let ones = 1u64.to_ne_bytes().repeat(100);
                let target_domain = TargetDomain::new(*block, Rank(0), target);
                for _ in 0..STEPS {
                    sum().accumulate(target, &ones[..], &node_domain.domain(&target_domain));
                }
            });
        }
    });
    assert_eq!(bytes(target), (3 * STEPS).to_ne_bytes().repeat(100));
}

#[test]
fn the_mode_switches_for_bulk_and_back_after_many_small_ones() {
    static HEAVY: AtomicU32 = AtomicU32::new(0);
    let count = || {
        HEAVY.fetch_add(1, Relaxed);
        true
    };
    let (blocks, node_domain) = processes(1, |_| Barriers::Remote(count));
    let target = memory(8 << 10);
    let target_domain = TargetDomain::new(blocks[0], Rank(0), target);
    let domain = node_domain[0].domain(&target_domain);
    let ones = 1u64.to_ne_bytes().repeat(1 << 10);
    let steps_lock = || blocks[0].bulk(holder(0)).steps_lock();
    let small = |count| (0..count).for_each(|_| sum().accumulate(target.part(0, 8), &ones[..8], &domain));
    small(1000);
    assert!(!steps_lock());
    for _ in 0..3 {
        sum().accumulate(target, &ones[..], &domain);
        assert!(steps_lock());
        small(200);
    }
    assert_eq!(HEAVY.load(Relaxed), 1, "bulk after bulk needs no switch");
    small(100);
    assert!(!steps_lock(), "small ones are left alone again");
    sum().accumulate(target, &ones[..], &domain);
    assert_eq!(HEAVY.load(Relaxed), 2);
    assert!(steps_lock());
}

#[test]
fn the_mode_switches_for_many_runs_of_some_elements_too() {
    static HEAVY: AtomicU32 = AtomicU32::new(0);
    let count = || {
        HEAVY.fetch_add(1, Relaxed);
        true
    };
    let (blocks, node_domain) = processes(1, |_| Barriers::Remote(count));
    let target = memory(8 << 10);
    let target_domain = TargetDomain::new(blocks[0], Rank(0), target);
    let domain = node_domain[0].domain(&target_domain);
    let ones = 1u64.to_ne_bytes().repeat(64);
    let steps_lock = || blocks[0].bulk(holder(0)).steps_lock();
    let run =
        |len, count| (0..count).for_each(|_| sum().accumulate(target.part(8, len), &ones[..len], &domain));
    run(512, 7);
    assert!(!steps_lock(), "seven times 512 bytes cost less than a switch");
    run(512, 1);
    assert!(steps_lock());
    // Each of the long runs makes up for 64 of the small ones.
    for _ in 0..20 {
        run(8, 64);
        run(512, 1);
    }
    assert!(steps_lock());
    assert_eq!(HEAVY.load(Relaxed), 1);
    run(8, 256);
    assert!(!steps_lock());
    run(32, 1000);
    assert!(!steps_lock(), "runs of a few elements stay steps");
    run(64, 63);
    assert!(!steps_lock());
    run(64, 1);
    assert!(steps_lock());
    let mut first = [0; 8];
    target.as_read().part(8, 8).read(&mut first);
    assert_eq!(u64::from_ne_bytes(first), 8 + 20 * 65 + 256 + 1000 + 64);
}

#[test]
fn bulk_goes_on_beside_an_announcement_that_does_not_end_and_is_plain_when_it_is_cleared() {
    let (blocks, node_domain) = processes(2, |_| Barriers::Even);
    let target = memory(CHUNK);
    blocks[1].announcements()[3].store(1, Relaxed);
    let target_domain = TargetDomain::new(blocks[0], Rank(0), target);
    let domain = node_domain[0].domain(&target_domain);
    let ones = 1u64.to_ne_bytes().repeat(CHUNK / 8);
    sum().accumulate(target, &ones[..], &domain);
    assert!(!domain.enter_run(target, CHUNK).is_plain, "a process may be in the middle of a step");
    blocks[1].clear_dead_announcements();
    assert!(domain.enter_run(target, CHUNK).is_plain);
    sum().accumulate(target, &ones[..], &domain);
    assert_eq!(bytes(target), 2u64.to_ne_bytes().repeat(CHUNK / 8));
}

#[test]
fn what_a_dead_process_holds_can_be_cleared() {
    let (blocks, node_domain) = silent_processes(3);
    let target = memory(CHUNK);
    let target_domain = TargetDomain::new(blocks[0], Rank(0), target);
    let dead = node_domain[2].domain(&target_domain);
    std::mem::forget(dead.exclude());
    std::mem::forget(dead.enter_run(target, CHUNK));
    assert!(!blocks[0].clear_dead_accumulates(holder(1)), "another holds them");
    assert!(blocks[0].clear_dead_accumulates(holder(2)));
    let domain = node_domain[0].domain(&target_domain);
    drop(domain.exclude());
    drop(domain.enter_run(target, CHUNK));
    assert!(!blocks[0].clear_dead_accumulates(holder(2)));
}

#[test]
fn a_wait_for_a_process_that_has_ended_asks_and_goes_on() {
    let (blocks, node_domain) = processes_without_the_last();
    let target = memory(CHUNK);
    let target_domain = TargetDomain::new(blocks[0], Rank(0), target);
    let dead = node_domain[2].domain(&target_domain);
    let domain = node_domain[0].domain(&target_domain);
    let ones = 1u64.to_ne_bytes().repeat(CHUNK / 8);
    // Unaligned; a long run, plain; a short one, and what switches the accumulate mode back.
    std::mem::forget(dead.exclude());
    drop(domain.exclude());
    std::mem::forget(dead.enter_run(target, CHUNK));
    sum().accumulate(target, &ones[..], &domain);
    for _ in 0..2 {
        std::mem::forget(dead.enter_run(target, CHUNK));
        for _ in 0..300 {
            sum().accumulate(target.part(0, 8), &ones[..8], &domain);
        }
    }
    assert!(!blocks[0].clear_dead_accumulates(holder(2)));
}

#[test]
fn a_process_is_asked_after_by_its_own_number() {
    let (_, node_domain) = processes_without_the_last();
    let codes = [0, 1, 2, 3, 4, u64::MAX].map(|code| node_domain[0].has_ended(code));
    assert_eq!(codes, [false, false, false, true, false, false]);
}
