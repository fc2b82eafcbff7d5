//! The lock word: without company, and between two threads.

use criterion::{Criterion, criterion_group, criterion_main};
use rma_core::config::EngineConfig;
use rma_core::control::{ControlBlock, ControlShape, Holder, LockKind, LockRequest};
use rma_core::ids::Peer;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[path = "support/memory.rs"]
mod support;

fn block() -> ControlBlock {
    let shape = ControlShape::of(&EngineConfig::default());
    let memory = support::memory(shape.control_len());
    memory.clear();
    ControlBlock::new(memory, shape).expect("a page is long and aligned enough")
}

fn holder(peer: u32) -> Holder {
    Holder::new(Peer(peer)).expect("a small number")
}

fn lock_and_release(block: &ControlBlock, request: LockRequest, holder: Holder) {
    if !block.try_acquire(request, holder) {
        let mut ticket = block.join(request, holder);
        while let Err(back) = block.try_turn(ticket) {
            ticket = back;
            std::thread::yield_now();
        }
    }
    let _ = block.release(request.kind(), holder).expect("the lock is held");
}

fn uncontended(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lock/alone");
    let block = block();
    for (name, request) in [
        ("exclusive", LockRequest::Exclusive),
        ("shared", LockRequest::Shared),
        ("shared, holding", LockRequest::SharedHolding),
    ] {
        group.bench_function(name, |b| b.iter(|| lock_and_release(black_box(&block), request, holder(0))));
    }
    group.bench_function("shared beside a holder", |b| {
        assert!(block.try_acquire(LockRequest::Shared, holder(1)));
        b.iter(|| lock_and_release(black_box(&block), LockRequest::Shared, holder(0)));
        let _ = block.release(LockKind::Shared, holder(1)).expect("the lock is held");
    });
}

fn contended(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lock/two threads");
    for request in [LockRequest::Exclusive, LockRequest::Shared] {
        let (block, stop) = (block(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    lock_and_release(&block, request, holder(1));
                }
            });
            group.bench_function(format!("{request:?}"), |b| {
                b.iter(|| lock_and_release(&block, request, holder(0)));
            });
            stop.store(true, Relaxed);
        });
    }
}

criterion_group!(benches, uncontended, contended);
criterion_main!(benches);
