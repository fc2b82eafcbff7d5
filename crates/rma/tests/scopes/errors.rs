//! What an error says as values: each call on a window that fails says of which, in an epoch and outside of one.

use super::on_both_paths;
use rma::window::{BasicType, Layout, Place, Window};
use rma::{Element, Error, ErrorClass, Integer, Number, ReduceOp, Result, World};
use std::sync::mpsc;
use std::time::Duration;

/// Ranks that the window has not, one of which no window has.
const NONE: [i64; 2] = [2, -1];

/// Calls of which each fails, with what went wrong.
fn failing_calls(window: &mut Window<'_, u64>, other: u32) -> Vec<(ErrorClass, Error)> {
    let (mut found, mut errors) = ([0; 4], Vec::new());
    let mut note = |class, failed: Result<()>| errors.push((class, failed.expect_err("the call fails")));
    let is_over = |result: Result<Option<u32>>| result.map(drop);
    for rank in NONE {
        note(ErrorClass::Rank, window.exclusive(rank, |_| Ok(())));
        note(ErrorClass::Rank, window.lock_set(&[(rank, rma::LockKind::Shared)], |_| Ok(())));
        note(ErrorClass::Rank, window.lock_all(|all| all.put_value(1, rank, 0)));
        note(ErrorClass::Rank, window.lock_all(|all| all.put_value_notify(1, rank, 0, 0)));
        note(ErrorClass::Rank, window.lock_all(|all| all.flush(rank)));
        note(ErrorClass::Rank, window.lock_all(|all| all.rank(rank)?.load(0).map(drop)));
    }
    // Some are found by the target, and raised by a later call.
    note(ErrorClass::RmaRange, window.exclusive(other, |locked| locked.put_value(1, 4)));
    note(ErrorClass::RmaRange, window.exclusive(other, |locked| locked.store(4, 1)));
    note(ErrorClass::RmaRange, window.exclusive(other, |locked| locked.fetch_add(4, 1).map(drop)));
    note(ErrorClass::RmaRange, window.shared(other, |locked| locked.rget(vec![0], 4)?.wait().map(drop)));
    note(ErrorClass::Op, window.lock_all(|all| all.accumulate_value(1, ReduceOp::NoOp, other, 0)));
    note(
        ErrorClass::Count,
        window.lock_all(|all| all.get_accumulate(&[1], &mut found, ReduceOp::Sum, other, 0)),
    );
    let (one, four) = (Layout::contiguous(1).unwrap(), Layout::contiguous(4).unwrap());
    note(ErrorClass::Arg, window.lock_all(|all| all.put_layout(&[1], &four, other, 0, &one)));
    note(ErrorClass::RmaNotification, window.lock_all(|all| all.put_value_notify(1, other, 0, 1)));
    note(ErrorClass::RmaNotification, window.notifications().value(1).map(drop));
    note(ErrorClass::RmaNotification, window.notified(1, 0).map(drop));
    let nothing = window.notifications().wait_any(1..1, 0, Some(Duration::ZERO));
    note(ErrorClass::Arg, is_over(nothing));
    errors
}

#[test]
fn errors_say_of_which_window_they_are() {
    on_both_paths(2, |world| {
        let (first, mut window) = (world.allocate::<u64>(4)?, world.allocate::<u64>(4)?);
        window.set_notifications(1)?;
        let other = 1 - world.rank();
        for (class, error) in failing_calls(&mut window, other) {
            assert_eq!((error.class(), error.window()), (class, Some(window.id())), "{error}");
        }
        let mut dynamic = world.window::<u64>().dynamic()?;
        let refused = [dynamic.attach(Vec::new()).map(drop), dynamic.detach(Place::NULL).map(drop)];
        for refused in refused {
            assert_eq!(refused.unwrap_err().window(), Some(dynamic.id()));
        }
        // Of no window: it is not made.
        let unmade = world.window::<[u64; 0]>().len(1).allocate().map(drop);
        assert_eq!(unmade.unwrap_err().window(), None);
        world.barrier()?;
        let id = first.id();
        assert_eq!(first.into_buffer().unwrap_err().window(), Some(id));
        window.revoke();
        let errors = [
            window.lock_all(|_| Ok(())),
            window.fence_epoch(|_| Ok(())),
            window.notifications().wait(0, 9).map(drop),
        ];
        for revoked in errors {
            let error = revoked.unwrap_err();
            assert_eq!((error.class(), error.window()), (ErrorClass::Revoked, Some(window.id())), "{error}");
        }
        dynamic.free()?;
        window.free()
    });
}

/// Four bytes that are said to be an integer of eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Element)]
#[repr(transparent)]
struct Short([u8; 4]);

impl Number for Short {
    const BASIC: BasicType = BasicType::I64;
}

impl Integer for Short {}

#[test]
fn numbers_that_are_not_as_long_as_they_say_are_refused() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<Short>(3)?;
        window.set_notifications(1)?;
        let (other, one, sum) = (1 - world.rank(), [Short::default()], ReduceOp::Sum);
        let (mut a, mut b, layout) = (one, one, Layout::contiguous(1)?);
        let refused = |call: &str, refused: Result<()>| {
            assert_eq!(refused.unwrap_err().class(), ErrorClass::Count, "{call}");
        };
        refused("accumulate", window.shared(other, |locked| locked.accumulate(&one, sum, 2)));
        refused("accumulate_value", window.shared(other, |locked| locked.accumulate_value(one[0], sum, 2)));
        refused("get_accumulate", window.shared(other, |locked| locked.get_accumulate(&one, &mut a, sum, 2)));
        refused("fetch", window.shared(other, |locked| locked.fetch(&mut b, 2)));
        refused("fetch_op", window.shared(other, |locked| locked.fetch_add(2, one[0]).map(drop)));
        refused("cas", window.shared(other, |l| l.compare_and_swap(2, one[0], one[0]).map(drop)));
        refused("racc", window.shared(other, |l| l.raccumulate(vec![one[0]], sum, 2)?.wait().map(drop)));
        refused("notify", window.shared(other, |locked| locked.accumulate_notify(&one, sum, 2, 0)));
        refused("layout", window.shared(other, |l| l.accumulate_layout(&one, &layout, sum, 2, &layout)));
        refused("allreduce", world.allreduce(sum, &one).map(drop));
        refused("begin_allreduce", world.begin_allreduce(sum, &one).map(drop));
        refused("reduce", world.reduce(0, sum, &one).map(drop));
        refused("begin_reduce", world.begin_reduce(0, sum, &one).map(drop));
        refused("scan", world.scan(sum, &one).map(drop));
        refused("exclusive_scan", world.exclusive_scan(sum, &one).map(drop));
        refused("reduce_scatter", world.reduce_scatter(sum, &[one, one]).map(drop));
        assert_eq!(window.local().to_vec(), [Short::default(); 3]);
        world.barrier()?;
        window.free()
    });
}

/// What is kept beyond its world waits for no rank: calls that need other ranks are errors.
#[test]
fn calls_after_the_world_fail_at_once() {
    let kept = World::run_threads(2, |world| {
        let window = world.communicator().owned_window::<u64>().len(1).allocate()?;
        window.set_notifications(1)?;
        world.barrier()?;
        Ok((world.communicator(), window))
    });
    for (world, mut window) in kept.unwrap() {
        let (ended, calls) = mpsc::channel();
        let call = |errors: Vec<Result<()>>| ended.send(errors).expect("the test waits");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                call(vec![
                    window.lock_all(|_| Ok(())),
                    window.notifications().wait(0, 1).map(drop),
                    window.notifications().wait_any(0..1, 1, None).map(drop),
                    window.notified(0, 1).and_then(|notified| notified.wait()),
                    window.set_notifications(1),
                    world.barrier(),
                    world.allreduce(ReduceOp::Sum, &[1]).map(drop),
                    world.begin_barrier().wait(),
                    world.allocate::<u64>(1).map(drop),
                    world.split(Some(0), 0).map(drop),
                    world.receive::<u64>(Some(1 - world.rank()), None).map(drop),
                ]);
            });
            let errors = calls.recv_timeout(Duration::from_secs(20));
            // A thread that hangs would keep the scope.
            let errors = errors.unwrap_or_else(|_| std::process::abort());
            errors.into_iter().for_each(|error| drop(error.expect_err("no rank is there")));
        });
        assert_eq!(window.local().to_vec(), [0]);
    }
}
