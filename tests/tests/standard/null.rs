//! A target that is no process: every call is over at once and changes nothing, in whatever epoch; other arguments are checked
//! as always, and ranks that do not exist stay errors.

use rma_core::ErrorClass;
use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, ReduceOp};
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window};
use rma_tests::world::{TestRank, from, into, kernel, local, run_all};

const BLANK: u64 = 0xeeee_eeee;
/// Outside of every window: no target is there that it could be outside of.
const FAR: Disp = Disp(1 << 60);

/// All communication calls; the results must stay as they are.
fn communicate(window: &Window) {
    let (origin, mut result) = ([7u64], [BLANK]);
    let seven = 7u64.to_ne_bytes();
    let swap = CompareAndSwap::new(BasicType::U64).unwrap();
    let ty = Datatype::basic(BasicType::U64);
    window.put(from(&origin), Rank::NULL, FAR).unwrap();
    assert!(window.try_put(from(&origin), Rank::NULL, FAR).unwrap());
    window.get(into(&mut result), Rank::NULL, FAR).unwrap();
    window.accumulate(from(&origin), kernel(ReduceOp::Sum), Rank::NULL, FAR).unwrap();
    window.fetch_and_op(&seven, into(&mut result), kernel(ReduceOp::Sum), Rank::NULL, FAR).unwrap();
    window.compare_and_swap(&seven, &seven, into(&mut result), swap, Rank::NULL, FAR).unwrap();
    let (from, to, area) = sides(&origin, &mut result, &ty);
    // SAFETY: nothing is read or written; the arrays live here in any case.
    unsafe { window.get_accumulate(from, to, ReduceOp::Sum, Rank::NULL, area) }.unwrap();
    assert_eq!(result, [BLANK]);
    assert_eq!((window.outstanding(), window.outstanding_to(Rank::NULL)), (0, 0));
}

fn sides<'a>(
    origin: &[u64; 1],
    result: &mut [u64; 1],
    ty: &'a Datatype,
) -> (Origin<'a>, Destination<'a>, TargetArea<'a>) {
    (
        Origin { base: origin.as_ptr().cast(), count: 1, ty },
        Destination { base: result.as_mut_ptr().cast(), count: 1, ty },
        TargetArea { disp: FAR, count: 1, ty },
    )
}

/// All calls with requests.
fn request(window: &Window) {
    let (origin, mut result) = ([7u64], [BLANK]);
    let ty = Datatype::basic(BasicType::U64);
    let (from, to, area) = sides(&origin, &mut result, &ty);
    let (sum, null) = (ReduceOp::Sum, Rank::NULL);
    // SAFETY: as in `communicate`.
    let requests: [OperationRequest; 4] = unsafe {
        [
            window.rput(from, null, area).unwrap(),
            window.rget(to, null, area).unwrap(),
            window.raccumulate(from, sum, null, area).unwrap(),
            window.rget_accumulate(from, to, sum, null, area).unwrap(),
        ]
    };
    for request in requests {
        assert!(request.is_complete().unwrap() && request.test().unwrap());
        request.wait().unwrap();
    }
    assert_eq!(result, [BLANK]);
}

fn synchronize(window: &Window) {
    for kind in [LockKind::Exclusive, LockKind::Shared] {
        window.lock(kind, Rank::NULL, Assert::NONE).unwrap();
        window.flush(Rank::NULL).unwrap();
        window.flush_local(Rank::NULL).unwrap();
        window.unlock(Rank::NULL).unwrap();
    }
}

fn in_every_epoch(rank: &TestRank) {
    let window = rank.allocate(2);
    let neighbour = Rank((rank.me + 1) % rank.size);
    let everything = || {
        communicate(&window);
        synchronize(&window);
        request(&window);
    };
    everything();
    for round in 0..2 {
        window.fence(Assert::NONE).unwrap();
        everything();
        window.fence(if round == 1 { Assert::NO_SUCCEED } else { Assert::NONE }).unwrap();
    }
    window.post_to(&[neighbour], Assert::NONE).unwrap();
    window.start(&[neighbour], Assert::NONE).unwrap();
    everything();
    window.complete().unwrap();
    window.wait().unwrap();
    window.lock(LockKind::Exclusive, neighbour, Assert::NONE).unwrap();
    everything();
    window.unlock(neighbour).unwrap();
    window.lock_all(Assert::NONE).unwrap();
    everything();
    window.flush_all().unwrap();
    window.unlock_all().unwrap();
    rank.barrier();
    assert_eq!((local(&window, 0), local(&window, 1)), (0, 0));
    window.free().unwrap();
}

#[test]
fn nothing_happens_in_any_epoch() {
    run_all(2, in_every_epoch);
}

#[test]
fn other_arguments_are_checked() {
    run_all(2, |rank| {
        let window = rank.allocate(2);
        window.lock_all(Assert::NONE).unwrap();
        let class = |outcome: Result<(), rma_core::Error>| outcome.unwrap_err().class();
        let three = [0u8; 3];
        let mut result = [BLANK];
        let short = window.fetch_and_op(&three, into(&mut result), kernel(ReduceOp::Sum), Rank::NULL, FAR);
        assert_eq!(class(short), ErrorClass::Count);
        let no_op = window.accumulate(from(&[1]), kernel(ReduceOp::NoOp), Rank::NULL, FAR);
        assert_eq!(class(no_op), ErrorClass::Op);
        assert_eq!(class(window.lock(LockKind::Shared, Rank::NULL, Assert::NO_PUT)), ErrorClass::Assert);
        for wrong in [Rank(2), Rank(Rank::NULL.0 - 1)] {
            assert_eq!(class(window.put(from(&[1]), wrong, Disp(0))), ErrorClass::Rank);
            assert_eq!(class(window.flush(wrong)), ErrorClass::Rank);
        }
        window.unlock_all().unwrap();
        assert_eq!(class(window.start(&[Rank::NULL], Assert::NONE)), ErrorClass::Rank);
        rank.barrier();
        window.free().unwrap();
    });
}
