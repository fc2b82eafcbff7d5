//! When a counter is raised, and when not.

use super::on_both_paths;
use rma::{ErrorClass, ReduceOp, Result};
use std::time::{Duration, Instant};

#[test]
fn operations_that_fail_raise_no_counter() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(1)?;
        window.set_notifications(1)?;
        let (other, two, mut found) = (1 - world.rank(), [1; 2], [0; 2]);
        let refused = |failed: Result<()>| assert_eq!(failed.unwrap_err().class(), ErrorClass::RmaRange);
        refused(window.shared(other, |locked| locked.put_notify(&two, 0, 0)));
        refused(window.shared(other, |locked| locked.put_value_notify(1, 1, 0)));
        refused(window.shared(other, |locked| locked.get_notify(&mut found, 0, 0)));
        refused(window.shared(other, |locked| locked.accumulate_notify(&two, ReduceOp::Sum, 0, 0)));
        refused(window.shared(other, |locked| locked.rput_notify(vec![1; 2], 0, 0)?.wait().map(drop)));
        refused(window.shared(other, |locked| locked.rget_notify(vec![0; 2], 0, 0)?.wait().map(drop)));
        world.barrier()?;
        assert_eq!((window.notifications().value(0)?, window.local().get(0)), (0, 0));
        world.barrier()?;
        window.free()
    });
}

#[test]
fn what_a_get_has_read_may_be_written_anew_when_its_counter_is_raised() {
    const LEN: usize = 1 << 15;
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(LEN)?;
        window.set_notifications(1)?;
        let other = 1 - world.rank();
        for round in 1..=8 {
            window.local().write(0, &[round; LEN]);
            world.barrier()?;
            let mut found = vec![0; LEN];
            window.lock_all(|all| {
                all.get_notify(&mut found, other, 0, 0)?;
                all.notifications().wait(0, round)?;
                all.local().write(0, &[99; LEN]);
                Ok(())
            })?;
            assert!(found.iter().all(|value| *value == round), "round {round}");
            world.barrier()?;
        }
        window.free()
    });
}

#[test]
fn what_a_counter_speaks_for_is_there() {
    const LEN: usize = 1 << 15;
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(LEN)?;
        window.set_notifications(1)?;
        let other = 1 - world.rank();
        for round in 1..=64 {
            let origin = vec![round; LEN];
            window.lock_all(|all| {
                all.put_notify(&origin, other, 0, 0)?;
                all.notifications().wait(0, round)?;
                // The last of the data come last.
                assert_eq!((all.local().get(LEN - 1), all.local().get(0)), (round, round));
                Ok(())
            })?;
            world.barrier()?;
        }
        window.free()
    });
}

#[test]
fn a_loop_that_only_looks_sees_what_comes() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(1)?;
        window.set_notifications(2)?;
        let other = 1 - world.rank();
        window.lock_all(|all| {
            let (own, limit) = (all.notifications(), Instant::now() + Duration::from_secs(30));
            for counter in 0..2 {
                all.put_value_notify(7, other, 0, counter)?;
            }
            while own.value(0)? == 0 {
                assert!(Instant::now() < limit, "a loop of looks serves no other rank");
            }
            while own.take(1)? == 0 {
                assert!(Instant::now() < limit, "a loop of takes serves no other rank");
            }
            Ok(())
        })?;
        assert_eq!(window.local().get(0), 7);
        window.free()
    });
}
