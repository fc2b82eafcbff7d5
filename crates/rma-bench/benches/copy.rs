//! The audited copy beside the C library's, from 1 byte to 16 MiB, aligned and not aligned to each other.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

#[path = "support/memory.rs"]
mod support;

const LENGTHS: &[usize] = &[
    1, 2, 4, 7, 8, 12, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 262_144,
    1_048_576, 4_194_304, 16_777_216,
];

fn copy(criterion: &mut Criterion) {
    let memory = support::memory(33 << 20);
    for (name, to, from) in [("aligned", 0, 0), ("unaligned", 3, 21)] {
        let mut group = criterion.benchmark_group(format!("copy/{name}"));
        for len in LENGTHS.iter().copied() {
            let target = memory.part(to, len);
            let source = memory.part((16 << 20) + 4096 + from, len).as_read();
            group.throughput(Throughput::Bytes(len as u64));
            group.bench_function(BenchmarkId::new("span", len), |b| {
                b.iter(|| black_box(target).write_from(black_box(source)));
            });
            group.bench_function(BenchmarkId::new("memcpy", len), |b| {
                b.iter(|| {
                    let (to, from) = black_box((target.as_mut_ptr(), source.as_ptr()));
                    // SAFETY: both spans have `len` bytes, do not overlap, and have no other user.
                    unsafe { std::ptr::copy_nonoverlapping(from, to, black_box(len)) }
                });
            });
        }
    }
}

criterion_group!(benches, copy);
criterion_main!(benches);
