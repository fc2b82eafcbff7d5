//! Kernels: one element beside the bare atomic, and long runs.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rma_core::datatype::BasicType;
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp, Sole};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[path = "support/memory.rs"]
mod support;

fn one_element(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel/one");
    let (target, origin, result) = (support::memory(4096), support::memory(4096), support::memory(4096));
    let atomic = AtomicU64::new(0);
    group.bench_function("bare atomic add", |b| {
        b.iter(|| black_box(&atomic).fetch_add(black_box(1), Relaxed))
    });
    for (op, ty) in [
        (ReduceOp::Sum, BasicType::U64),
        (ReduceOp::Sum, BasicType::I32),
        (ReduceOp::Sum, BasicType::F64),
        (ReduceOp::Max, BasicType::I64),
        (ReduceOp::BitOr, BasicType::U64),
        (ReduceOp::Replace, BasicType::U64),
        (ReduceOp::NoOp, BasicType::U64),
    ] {
        let kernel = Kernel::new(op, ty).expect("the pairs above are legal");
        let (target, origin, result) =
            (target.part(0, ty.size()), origin.part(0, ty.size()).as_read(), result.part(0, ty.size()));
        group.bench_function(format!("accumulate {op} {ty}"), |b| {
            b.iter(|| black_box(kernel).accumulate(black_box(target), black_box(origin), &Sole));
        });
        group.bench_function(format!("fetch {op} {ty}"), |b| {
            b.iter(|| {
                black_box(kernel).fetch_accumulate(
                    black_box(target),
                    black_box(origin),
                    black_box(result),
                    &Sole,
                );
            });
        });
    }
    let swap = CompareAndSwap::new(BasicType::U64).expect("integers can be compared");
    let (target, origin, result) = (target.part(0, 8), origin.part(0, 8).as_read(), result.part(0, 8));
    group.bench_function("compare and swap u64", |b| {
        b.iter(|| {
            black_box(swap).apply(
                black_box(target),
                black_box(origin),
                black_box(origin),
                black_box(result),
                &Sole,
            );
        });
    });
}

fn long_runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel/long");
    const LEN: usize = 64 << 10;
    let (target, origin, result) = (support::memory(LEN + 8), support::memory(LEN), support::memory(LEN));
    group.throughput(Throughput::Bytes(LEN as u64));
    for (op, ty) in [
        (ReduceOp::Sum, BasicType::F64),
        (ReduceOp::Sum, BasicType::I64),
        (ReduceOp::Max, BasicType::F32),
        (ReduceOp::Replace, BasicType::Byte),
    ] {
        let kernel = Kernel::new(op, ty).expect("the pairs above are legal");
        for shift in [0, 1] {
            let target = target.part(shift, LEN);
            group.bench_function(
                BenchmarkId::new(format!("accumulate {op} {ty}"), format!("+{shift}")),
                |b| {
                    b.iter(|| kernel.accumulate(black_box(target), black_box(origin.as_read()), &Sole));
                },
            );
        }
        group.bench_function(BenchmarkId::new(format!("fetch {op} {ty}"), "+0"), |b| {
            b.iter(|| {
                kernel.fetch_accumulate(
                    black_box(target.part(0, LEN)),
                    black_box(origin.as_read()),
                    black_box(result),
                    &Sole,
                );
            });
        });
    }
}

criterion_group!(benches, one_element, long_runs);
criterion_main!(benches);
