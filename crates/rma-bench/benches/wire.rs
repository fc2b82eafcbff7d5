//! Packets' heads: values to bytes and back, checks included.

use criterion::{Criterion, criterion_group, criterion_main};
use rma_core::datatype::BasicType;
use rma_core::ids::{Disp, RequestId, Sequence, WindowId};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::wire::{
    Area, Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind, TargetPlace,
    check_header,
};
use std::hint::black_box;

fn request(kind: RequestKind) -> Request {
    Request {
        window: WindowId { index: 3, generation: 1 },
        flags: RequestFlags::LOCK_SHARED.with(RequestFlags::ACK),
        sequence: Sequence(77),
        kind,
    }
}

fn wire(criterion: &mut Criterion) {
    let place = || TargetPlace { disp: Disp(4711), area: Area::Run { offset: 0 } };
    let reply_to = RequestId { index: 5, generation: 9 };
    let kernel = Kernel::new(ReduceOp::Sum, BasicType::U64).expect("a sum of integers is legal");
    let requests = [
        ("put", request(RequestKind::Put(place()))),
        ("get", request(RequestKind::Get { place: place(), len: 8, reply_to })),
        ("fetch_and_op", request(RequestKind::FetchOp { place: place(), kernel, reply_to })),
    ];
    let mut group = criterion.benchmark_group("wire");
    for (name, request) in requests {
        let bytes = request.emit();
        assert_eq!(Request::parse(&bytes).map(|(parsed, _)| parsed).as_ref(), Ok(&request));
        group.bench_function(format!("emit {name}"), |b| b.iter(|| black_box(&request).emit()));
        group.bench_function(format!("parse {name}"), |b| b.iter(|| Request::parse(black_box(&bytes))));
    }
    let response = Response {
        window: WindowId { index: 3, generation: 1 },
        flags: ResponseFlags::default(),
        sequence: Sequence(77),
        kind: ResponseKind::Data { to: reply_to },
    };
    let bytes = response.emit();
    group.bench_function("emit data", |b| b.iter(|| black_box(&response).emit()));
    group.bench_function("parse data", |b| b.iter(|| Response::parse(black_box(&bytes))));
    group.bench_function("check header", |b| b.iter(|| check_header(black_box(&bytes))));
}

criterion_group!(benches, wire);
criterion_main!(benches);
