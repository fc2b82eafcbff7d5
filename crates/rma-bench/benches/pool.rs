//! Pools: an element taken, looked up and put back, from the window's share and from the global level.

use criterion::{Criterion, criterion_group, criterion_main};
use rma_core::pool::GlobalPool;
use std::hint::black_box;

fn pool(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pool");
    for (name, reserved) in [("share", 64), ("global", 0)] {
        let mut pool = GlobalPool::new(64);
        let mut share = pool.open_share(reserved).expect("few elements");
        group.bench_function(format!("take and put back, {name}"), |b| {
            b.iter(|| {
                let key = pool.take(&mut share, black_box([7u64; 8])).expect("the pool is empty");
                black_box(pool.get_mut(key));
                pool.put_back(&mut share, key)
            });
        });
    }
    group.bench_function("exhausted", |b| {
        let mut pool = GlobalPool::new(0);
        let mut share = pool.open_share(0).expect("no elements");
        b.iter(|| pool.take(&mut share, black_box(1u64)));
    });
}

criterion_group!(benches, pool);
criterion_main!(benches);
