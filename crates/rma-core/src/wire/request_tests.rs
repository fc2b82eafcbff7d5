//! Requests as bytes: they survive, and what no origin sends is refused.

use super::flags::RequestFlags;
use super::place::{Area, TargetPlace};
use super::request::{Request, RequestKind, SHAPED};
use crate::datatype::{BasicType, Layout, Loop};
use crate::ids::{Disp, RequestId, Sequence, WindowId};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};

fn samples() -> Vec<Request> {
    let run = || TargetPlace::run(Disp(u64::MAX), 1 << 40);
    let reply_to = RequestId { index: 7, generation: u32::MAX };
    let kernel = Kernel::new(ReduceOp::Sum, BasicType::F64).unwrap();
    let mut kinds = vec![
        RequestKind::Sync,
        RequestKind::FetchOp {
            place: run(),
            kernel: Kernel::new(ReduceOp::NoOp, BasicType::I8).unwrap(),
            reply_to,
        },
        RequestKind::CompareSwap {
            place: run(),
            kernel: CompareAndSwap::new(BasicType::U16).unwrap(),
            reply_to,
        },
        RequestKind::Post,
        RequestKind::WakeUp,
        RequestKind::Unfinished { acknowledged: 1 << 50, reply_to },
    ];
    let loops = [Loop { count: 1 << 40, stride: 4096 }, Loop { count: 7, stride: -64 }];
    let shape = |loops: &[Loop], runs: &[(i64, u64)]| {
        let layout = Layout::blocks(runs.iter().copied()).unwrap().repeated_from(-5, loops).unwrap();
        Area::Shape { layout: Box::new(layout), from: 3 }
    };
    for area in [
        Area::Run { offset: 1 << 40 },
        shape(&loops, &[(0, 8)]),
        shape(&[], &[(0, 3), (-9, 1), (70, 1 << 50)]),
        shape(&[], &[(0, 3), (-9, 1), (70, 1 << 30)]),
        shape(&[], &[(0, 32_000), (-760, 1)]),
        shape(&loops[1..], &[(0, 4), (8, 8)]),
    ] {
        let place = || TargetPlace { disp: Disp(7), area: area.clone() };
        kinds.push(RequestKind::Put(place()));
        kinds.push(RequestKind::Get { place: place(), len: u64::MAX, reply_to });
        kinds.push(RequestKind::Accumulate { place: place(), kernel });
        kinds.push(RequestKind::GetAccumulate { place: place(), kernel, len: 1 << 60, reply_to });
    }
    let flags = [RequestFlags::NONE, RequestFlags::LOCK_EXCLUSIVE.with(RequestFlags::UNLOCK)];
    let window = WindowId { index: 300, generation: 9 };
    let request = |flags, kind| Request { window, flags, sequence: Sequence(1 << 50), kind };
    let words = [RequestKind::Left, RequestKind::Revoked, RequestKind::Key]
        .map(|kind| request(RequestFlags::NONE, kind));
    let notice = RequestFlags::ACK.with(RequestFlags::notice(1 << 20));
    let notified = kinds.iter().filter(|kind| kind.takes_shape()).cloned();
    let notified: Vec<_> = notified.map(|kind| request(notice, kind)).collect();
    let all = kinds.into_iter().flat_map(|kind| flags.map(|flags| request(flags, kind.clone())));
    all.chain(words).chain(notified).collect()
}

#[test]
fn every_request_survives_its_wire_form() {
    for request in samples() {
        let head = request.emit();
        let is_shaped = request.kind.place().is_some_and(TargetPlace::is_shaped);
        assert!(is_shaped || (head.len() <= 64 && !head.spilled()), "{request}");
        assert_eq!(Request::parse(&head), Ok((request.clone(), &[][..])));
        let mut with_data = head.clone();
        with_data.extend_from_slice(b"data");
        match Request::parse(&with_data) {
            Ok((again, data)) => assert_eq!((again, data), (request, &b"data"[..])),
            Err(_) => assert!(!request.kind.takes_data()),
        }
    }
}

#[test]
fn shortened_and_damaged_heads_are_refused_or_legal_but_never_panic() {
    for request in samples() {
        let head = request.emit();
        for len in 0..head.len() {
            assert!(Request::parse(&head[..len]).is_err(), "{request} cut to {len}");
        }
        for at in 2..head.len() {
            for bit in 0..8 {
                let mut damaged = head.clone();
                damaged[at] ^= 1 << bit;
                if let Ok((other, _)) = Request::parse(&damaged) {
                    // A shape that is not normal may come to the same as a normal one.
                    let is_shaped = request.kind.place().is_some_and(TargetPlace::is_shaped);
                    assert!(is_shaped || other != request);
                    assert_eq!(Request::parse(&other.emit()).map(|(r, _)| r), Ok(other));
                }
            }
        }
    }
}

#[test]
fn more_follows_only_what_can_be_cut_and_without_another_flag() {
    for request in samples() {
        let more = |flags| Request { flags, ..request.clone() }.emit();
        assert_eq!(
            Request::parse(&more(RequestFlags::MORE)).is_ok(),
            request.kind.takes_shape(),
            "{request}"
        );
        for other in [RequestFlags::ACK, RequestFlags::LOCK_SHARED, RequestFlags::UNLOCK] {
            assert!(Request::parse(&more(RequestFlags::MORE.with(other))).is_err(), "{request}");
        }
    }
}

#[test]
fn a_notice_ends_an_operation_that_may_have_one() {
    for request in samples() {
        let parse = |flags| Request::parse(&Request { flags, ..request.clone() }.emit()).is_ok();
        let notice = RequestFlags::notice(7);
        assert_eq!(
            (parse(notice), parse(notice.with(RequestFlags::MORE))),
            (request.kind.takes_shape(), false)
        );
    }
    let flags = RequestFlags::ACK.with(RequestFlags::notice(7));
    assert_eq!((flags.counter(), flags.without(RequestFlags::ACK).counter()), (Some(7), Some(7)));
    assert_eq!(flags.without(RequestFlags::NOTICE), RequestFlags::ACK);
    assert_eq!(format!("{flags:?}"), "ack+notice of 7");
}

#[test]
fn words_about_the_end_of_a_window_ask_for_nothing() {
    for kind in [RequestKind::Left, RequestKind::Revoked, RequestKind::Key] {
        let request = Request { kind, flags: RequestFlags::ACK, ..samples().remove(0) };
        assert!(Request::parse(&request.emit()).is_err(), "{request}");
    }
}

#[test]
fn contradictory_locks_and_illegal_operations_are_refused() {
    let both = RequestFlags::LOCK_SHARED.with(RequestFlags::LOCK_EXCLUSIVE);
    let request = Request { flags: both, ..samples().remove(0) };
    assert!(Request::parse(&request.emit()).is_err());
    let others = [RequestFlags::LOCK_SHARED, RequestFlags::UNLOCK, RequestFlags::DONE, RequestFlags::ACK];
    let legal = others.map(|other| {
        let flags = RequestFlags::FENCE.with(other);
        Request::parse(&Request { flags, ..samples().remove(0) }.emit()).is_ok()
    });
    assert_eq!(legal, [false, false, false, true], "a fence with the end of another epoch");
    let kernel = Kernel::new(ReduceOp::Sum, BasicType::F64).unwrap();
    let kind = RequestKind::Accumulate { place: TargetPlace::run(Disp(0), 0), kernel };
    let mut head = Request { kind, ..samples().remove(0) }.emit();
    assert!(Request::parse(&head).is_ok());
    head[32] = ReduceOp::BitXor.code();
    assert!(Request::parse(&head).is_err(), "bitwise operation on floating point");
}

#[test]
fn shapes_that_no_origin_sends_are_refused() {
    let described = |from: u64, loops: &[(u64, i64)], number_len: u8, runs: &[(i64, u64)], first: i64| {
        let kind = RequestKind::Put(TargetPlace::run(Disp(0), 0));
        let mut head = Request { kind, ..samples().remove(0) }.emit();
        head[2] |= SHAPED;
        head.truncate(24);
        head.extend_from_slice(&from.to_le_bytes());
        head.extend_from_slice(&(loops.len() as u16).to_le_bytes());
        head.extend_from_slice(&(runs.len() as u16).to_le_bytes());
        head.push(number_len);
        head.extend_from_slice(&first.to_le_bytes());
        for (count, stride) in loops {
            head.extend_from_slice(&count.to_le_bytes());
            head.extend_from_slice(&stride.to_le_bytes());
        }
        for (gap, len) in runs {
            head.extend_from_slice(&gap.to_le_bytes()[..usize::from(number_len)]);
            head.extend_from_slice(&len.to_le_bytes()[..usize::from(number_len)]);
        }
        Request::parse(&head).map(|(request, _)| request)
    };
    for len in [2, 4, 8] {
        assert!(described(0, &[(2, 100)], len, &[(0, 8), (-30, 8)], 0).is_ok(), "numbers of {len} bytes");
    }
    for len in [0, 1, 3, 5, 7] {
        assert!(described(0, &[(2, 100)], len, &[(0, 8)], 0).is_err(), "numbers of {len} bytes");
    }
    let shaped = |from: u64, loops: &[(u64, i64)], runs: &[(i64, u64)], first: i64| {
        described(from, loops, 8, runs, first)
    };
    assert!(shaped(0, &[(2, 100)], &[(0, 8)], 0).is_ok());
    assert!(shaped(16, &[(2, 100)], &[(0, 8)], 0).is_err(), "behind the end");
    assert!(shaped(0, &[], &[], 0).is_err(), "nothing");
    assert!(shaped(0, &[(0, 8)], &[(0, 8)], 0).is_err(), "no repetition");
    assert!(shaped(0, &[], &[(0, u64::MAX)], 0).is_err(), "too long a run");
    assert!(shaped(0, &[(u64::MAX, 0)], &[(0, 8)], 0).is_err(), "too many repetitions");
    assert!(shaped(0, &[(3, i64::MAX)], &[(0, 8)], 0).is_err(), "too far apart");
    assert!(shaped(0, &[(2, i64::MIN)], &[(0, 8)], 0).is_err(), "too far back");
    assert!(shaped(0, &[], &[(i64::MAX, 8)], 0).is_err(), "a run that ends too late");
    assert!(
        shaped(0, &[], &[(i64::MAX - 8, 8), (i64::MIN, 8), (i64::MIN, 8)], 0).is_err(),
        "a gap too far back"
    );
    assert!(
        shaped(0, &[], &[(i64::MIN, 8), (i64::MAX, 8), (i64::MAX - 100, 8)], 0).is_err(),
        "runs too far apart"
    );
    assert!(shaped(0, &[], &[(0, 8)], i64::MAX - 7).is_err(), "begins too late");
    assert!(shaped(0, &[], &[(0, 8)], i64::MIN).is_ok(), "outside every window, but a number");
    for kind in samples().into_iter().map(|request| request.kind).filter(|kind| !kind.takes_shape()) {
        let mut head = Request { kind, ..samples().remove(0) }.emit();
        head[2] |= SHAPED;
        assert!(Request::parse(&head).is_err());
    }
}
