//! The audited copy next to `memcpy`, its limit: same lengths, same buffers, aligned alike and not.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rma_core::mem::{ReadSpan, WriteSpan};
use std::hint::black_box;

/// A scalar, a row of a stencil, a piece of a streamed operation, and more than a cache holds.
const LENGTHS: [usize; 4] = [8, 4 << 10, 64 << 10, 16 << 20];

fn copies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("copy");
    for len in LENGTHS {
        let source = vec![7u8; len + 1];
        let mut target = vec![0u8; len];
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("memcpy", len), |bencher| {
            bencher.iter(|| black_box(&mut target[..]).copy_from_slice(black_box(&source[..len])));
        });
        for (name, shift) in [("span", 0), ("span, source off by one", 1)] {
            // SAFETY: both vectors live until the end of this iteration, and are used through the spans only while
            // these are in use.
            let (from, to) = unsafe {
                (ReadSpan::new(source.as_ptr().add(shift), len), WriteSpan::new(target.as_mut_ptr(), len))
            };
            group.bench_function(BenchmarkId::new(name, len), |bencher| {
                bencher.iter(|| black_box(to).write_from(black_box(from)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, copies);
criterion_main!(benches);
