//! Request-based calls: an operation's own end, apart from its epoch's (MPI 3.1 §11.3.5).

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::{ErrorClass, Result};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window};
use rma_tests::world::{local, run_all, set_local};

fn number() -> Datatype {
    Datatype::basic(BasicType::U64)
}

fn area(disp: u64, count: u64, ty: &Datatype) -> TargetArea<'_> {
    TargetArea { disp: Disp(disp), count, ty }
}

fn from<'a>(values: &[u64], ty: &'a Datatype) -> Origin<'a> {
    Origin { base: values.as_ptr().cast(), count: values.len() as u64, ty }
}

fn into<'a>(values: &mut [u64], ty: &'a Datatype) -> Destination<'a> {
    Destination { base: values.as_mut_ptr().cast(), count: values.len() as u64, ty }
}

fn rput(window: &Window, values: &[u64], target: Rank, disp: u64) -> Result<OperationRequest> {
    let ty = number();
    // SAFETY: tests keep the values until the request or the epoch is complete.
    unsafe { window.rput(from(values, &ty), target, area(disp, values.len() as u64, &ty)) }
}

fn rget(window: &Window, values: &mut [u64], target: Rank, disp: u64) -> Result<OperationRequest> {
    let (ty, count) = (number(), values.len() as u64);
    // SAFETY: as for `rput`.
    unsafe { window.rget(into(values, &ty), target, area(disp, count, &ty)) }
}

#[test]
fn buffers_are_the_callers_again_when_their_request_is_complete() {
    run_all(3, |rank| {
        let window = rank.allocate(3000);
        let target = Rank((rank.me + 1) % rank.size);
        for len in [1, 20, 900] {
            rank.barrier();
            window.lock(Exclusive, target, Assert::NONE).unwrap();
            let mut values = vec![7; len];
            rput(&window, &values, target, 0).unwrap().wait().unwrap();
            // What has left is not affected by this.
            values.fill(8);
            let mut found = vec![0; len];
            let request = rget(&window, &mut found, target, 0).unwrap();
            request.wait().unwrap();
            assert!(request.is_complete().unwrap() && request.test().unwrap(), "an end is an end");
            assert_eq!(found, vec![7; len]);
            window.unlock(target).unwrap();
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn combining_calls_have_requests_too() {
    run_all(2, |rank| {
        let window = rank.allocate(64);
        let target = Rank(1 - rank.me);
        let (ty, sum) = (number(), ReduceOp::Sum);
        // Every other element, so that it travels with its shape.
        let column = Datatype::vector(16, 1, 2, &ty).unwrap();
        let values = (0..16).collect::<Vec<u64>>();
        let mut old = vec![99; 16];
        rank.barrier();
        window.lock(Shared, target, Assert::NONE).unwrap();
        // SAFETY: the buffers live until the requests are complete.
        let (first, second) = unsafe {
            let first = window.raccumulate(from(&values, &ty), sum, target, area(0, 1, &column)).unwrap();
            let (origin, result) = (from(&values, &ty), into(&mut old, &ty));
            (first, window.rget_accumulate(origin, result, sum, target, area(0, 1, &column)).unwrap())
        };
        second.wait().unwrap();
        assert_eq!(old, values, "accumulates of one origin to one place are in order");
        first.wait().unwrap();
        window.unlock(target).unwrap();
        rank.barrier();
        assert!((0..16).all(|i| local(&window, 2 * i) == 2 * i as u64 && local(&window, 2 * i + 1) == 0));
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn many_requests_may_be_under_way_and_end_in_any_order() {
    const MANY: u64 = 500;
    run_all(2, |rank| {
        let window = rank.allocate(MANY);
        let target = Rank(1 - rank.me);
        (0..MANY).for_each(|i| set_local(&window, i as usize, 1000 * u64::from(rank.me) + i));
        rank.barrier();
        window.lock(Shared, target, Assert::NONE).unwrap();
        let mut found = vec![[0]; MANY as usize];
        let begin = |(i, value): (usize, &mut [u64; 1])| rget(&window, value, target, i as u64).unwrap();
        let mut requests = found.iter_mut().enumerate().map(begin).collect::<Vec<_>>();
        requests.last().unwrap().wait().unwrap();
        while !requests.is_empty() {
            requests.retain(|request| !request.test().unwrap());
        }
        window.unlock(target).unwrap();
        let right = (0..MANY).map(|i| [1000 * u64::from(target.0) + i]).collect::<Vec<_>>();
        assert_eq!(found, right);
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_request_may_be_dropped_and_the_epoch_completes_its_operation() {
    run_all(2, |rank| {
        let window = rank.allocate(8);
        let target = Rank(1 - rank.me);
        let values = [5, 6];
        rank.barrier();
        window.lock(Exclusive, target, Assert::NONE).unwrap();
        drop(rput(&window, &values, target, 2).unwrap());
        let empty = rput(&window, &[], target, 2).unwrap();
        assert!(empty.is_complete().unwrap(), "nothing is complete at once");
        window.unlock(target).unwrap();
        rank.barrier();
        assert_eq!((local(&window, 2), local(&window, 3)), (5, 6));
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn requests_are_for_passive_epochs() {
    run_all(2, |rank| {
        let window = rank.allocate(8);
        let target = Rank(1 - rank.me);
        let refused = |outcome: Result<OperationRequest>, words: &[&str]| {
            let error = outcome.expect_err("should have been refused");
            assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
            assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
        };
        refused(rput(&window, &[1], target, 0), &["put"]);
        window.fence(Assert::NONE).unwrap();
        refused(rput(&window, &[1], target, 0), &["rput", "fence"]);
        refused(rget(&window, &mut [1], target, 0), &["rget", "fence"]);
        window.fence(Assert::NO_SUCCEED).unwrap();
        rank.barrier();
        assert_eq!(local(&window, 0), 0);
        rank.barrier();
        window.free().unwrap();
    });
}
