//! What an error says as values: each call on a window that fails says of which, in an epoch and outside of one.

use super::on_both_paths;
use rma::window::{Layout, Place, Window};
use rma::{Error, ErrorClass, ReduceOp, Result};
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
