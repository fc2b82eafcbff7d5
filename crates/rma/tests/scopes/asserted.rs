//! Epochs with promises, and windows that keep their communicator.

use super::on_both_paths;
use rma::window::Layout;
use rma::{Communicator, ErrorClass, ReduceOp, Window, World};
use std::sync::Arc;

#[test]
fn epochs_that_nothing_excludes_do_what_others_do() {
    on_both_paths(4, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let (rank, right, left) = (world.rank(), (world.rank() + 1) % 4, (world.rank() + 3) % 4);
        window.unchecked().exclusive(right, |locked| locked.put_value(1, 0))?;
        world.barrier()?;
        window.unchecked().shared(right, |locked| locked.fetch_add(1, 2))?;
        world.barrier()?;
        window.unchecked().lock_all(|all| all.accumulate_value(3, ReduceOp::Sum, right, 2))?;
        world.barrier()?;
        window.unchecked().expose(&[left], |exposure| {
            world.barrier()?;
            exposure.access(&[right], |epoch| epoch.put_value(u64::from(rank), right, 3))
        })?;
        assert_eq!(window.local().to_vec(), [1, 2, 3, u64::from(left)]);
        let mut all = [0; 16];
        let rows = Layout::contiguous(4)?;
        window.read_epoch(|reads| {
            let mut parts = all.chunks_exact_mut(4).enumerate();
            parts.try_for_each(|(rank, part)| reads.get_layout(part, &rows, rank, 0, &rows))
        })?;
        assert_eq!(all, [1, 2, 3, 3, 1, 2, 3, 0, 1, 2, 3, 1, 1, 2, 3, 2]);
        window.free()
    });
}

#[test]
fn layouts_serve_locks_batches_and_requests() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<i32>(9)?;
        let other = 1 - world.rank();
        let (diagonal, row) = (Layout::with_strides(&[3], &[4])?, Layout::contiguous(3)?);
        let column = Layout::face(&[3, 3], 1, 2..3)?;
        let (ones, mut before, mut column_here) = ([1, 2, 3], [9; 3], [0; 9]);
        window.exclusive(other, |locked| {
            locked.put_layout(&ones, &row, 0, &diagonal)?;
            locked.flush()?;
            locked.batch(|batch| {
                batch.get_accumulate_layout(&ones, &row, &mut before, &row, ReduceOp::Sum, (0, &diagonal))
            })?;
            assert_eq!(before, [1, 2, 3]);
            locked.batch(|batch| batch.accumulate_layout(&ones, &row, ReduceOp::Sum, 0, &column))?;
            let _ = locked
                .rput_layout(
                    vec![0, 0, 7],
                    &Layout::blocks(std::iter::once(2..3))?,
                    3,
                    &Layout::contiguous(1)?,
                )?
                .wait()?;
            let cells = locked.rget_layout(&mut column_here, &column, 0, &column)?.wait()?;
            assert_eq!(*cells, [0, 0, 1, 0, 0, 2, 0, 0, 9]);
            let error = locked.rput_layout(vec![1; 8], &diagonal, 0, &row).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Arg);
            Ok(())
        })?;
        world.barrier()?;
        assert_eq!(window.local().to_vec(), [2, 0, 1, 7, 4, 2, 0, 0, 9]);
        assert!(Layout::<i32>::face(&[3, 3], 2, 0..1).is_err());
        assert!(Layout::<i32>::with_strides(&[3, 3], &[1]).is_err());
        window.free()
    });
}

#[test]
fn a_window_that_keeps_its_communicator_may_outlive_the_world() {
    struct Both {
        // The world goes first, and the window has to bear it.
        half: Option<Arc<Communicator>>,
        window: Window<'static, u64>,
    }
    let kept = World::run_threads(4, |world| {
        let half = Arc::new(world.split(Some(world.rank() % 2), 0)?.expect("every rank gives a color"));
        let mut window = Arc::clone(&half).owned_window::<u64>().len(2).name("kept").allocate()?;
        assert!(window.communicator().is_some_and(|kept| Arc::ptr_eq(kept, &half)));
        window.fence_epoch(|epoch| epoch.put_value(7, 1 - half.rank(), 1))?;
        Ok(Both { half: Some(half), window })
    })
    .unwrap();
    for mut both in kept {
        both.half = None;
        assert_eq!(both.window.local().to_vec(), [0, 7]);
        let other = 1 - both.window.rank();
        let ends = [
            both.window.fence_epoch(|_| Ok(())),
            both.window.exclusive(other, |locked| locked.load(1).map(drop)),
            both.window.lock_all(|_| Ok(())),
            both.window.access(&[other], |_| Ok(())),
            both.window.expose(&[other], |_| Ok(())),
            both.window.unchecked().shared(other, |_| Ok(())),
            both.window.read_epoch(|_| Ok(())),
        ];
        for end in ends {
            assert_eq!(end.unwrap_err().cause(), "the world of the window has ended");
        }
        assert_eq!(both.window.free().unwrap_err().class(), ErrorClass::Other);
    }
}
