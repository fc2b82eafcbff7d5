//! How typed windows come by their memory, and whose it is afterwards.
//!
//! Every test runs where ranks map each other's memory and where they do not.

#![allow(missing_docs)]
#![forbid(unsafe_code)]

use rma::config::Configuration;
use rma::{Element, ErrorClass, Result, World};
use rma_ch_sim::SimConfig;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn on_both_paths(rank: impl Fn(&World) -> Result<()> + Sync) {
    for ranks_per_node in [0, 1] {
        let sim = SimConfig { ranks_per_node, ..SimConfig::default() };
        World::run_threads_with(4, &Configuration::default(), &sim, &rank).unwrap();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Particle {
    place: [f64; 3],
    charge: f32,
    id: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(transparent)]
struct Weight(f64);

#[test]
fn structs_without_padding_are_elements() {
    on_both_paths(|world| {
        let mut window = world.allocate::<Particle>(2)?;
        let right = (world.rank() + 1) % 4;
        let particle = |id: u32| Particle { place: [f64::from(id), 0.5, -1.0], charge: 2.5, id };
        window.fence_epoch(|epoch| epoch.put_value(particle(world.rank()), right, 1))?;
        let zero = Particle { place: [0.0; 3], charge: 0.0, id: 0 };
        assert_eq!(window.local().to_vec(), [zero, particle((world.rank() + 3) % 4)]);
        let weights = world.window().over(vec![Weight(0.5); 3])?;
        assert_eq!(weights.into_buffer()?, [Weight(0.5); 3]);
        window.free()
    });
}

#[test]
fn a_window_over_a_buffer_gives_it_back() {
    on_both_paths(|world| {
        let len = 1 + world.rank() as usize;
        let buffer: Vec<u64> = (0..len as u64).collect();
        let address = buffer.as_ptr();
        let mut window = world.window().name("given").over(buffer)?;
        let (rank, right) = (u64::from(world.rank()), (world.rank() + 1) % 4);
        window.fence_epoch(|epoch| epoch.put_value(100 + rank, right, 0))?;
        let mut last = [0];
        window.shared(3, |rank3| rank3.batch(|batch| batch.get(&mut last, 3)))?;
        assert_eq!(last, [3]);
        let buffer = window.into_buffer()?;
        assert_eq!((buffer.as_ptr(), buffer.len()), (address, len), "no copy");
        assert_eq!(buffer[0], 100 + (rank + 3) % 4);
        assert_eq!(buffer[1..], (1..len as u64).collect::<Vec<_>>());
        let error = world.allocate::<u64>(1)?.into_buffer().unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaFlavor, "{error}");
        Ok(())
    });
}

#[test]
fn a_buffer_of_a_window_that_is_dropped_stays_where_others_reach_it() {
    on_both_paths(|world| {
        let mut window = world.window().over(vec![0u64; 4])?;
        let is_dropped = world.rank() == 0;
        if is_dropped {
            drop(window);
            world.barrier()?;
            return world.barrier();
        }
        world.barrier()?;
        // Rank 0 has let go of its window; its memory is still there.
        let before = window.exclusive(0, |rank0| rank0.fetch_add(2, 1))?;
        assert!(before < 3);
        std::mem::forget(window);
        world.barrier()
    });
}

#[test]
fn a_revoked_window_keeps_its_buffer_while_others_are_in_it() {
    on_both_paths(|world| {
        let window = world.window().over(vec![7u64; 4])?;
        if world.rank() == 0 {
            window.revoke();
            // The others have not left, and those that map the memory may be in the middle of an access.
            let is_mapped = window.is_direct(1);
            match window.into_buffer() {
                Ok(buffer) => assert!(!is_mapped && buffer == [7; 4]),
                Err(error) => assert!(is_mapped && error.class() == ErrorClass::Revoked, "{error}"),
            }
            return world.barrier();
        }
        world.barrier()?;
        while !window.is_revoked() {
            std::hint::spin_loop();
        }
        match window.into_buffer() {
            Ok(buffer) => assert_eq!(buffer, [7; 4]),
            Err(error) => assert_eq!(error.class(), ErrorClass::Revoked, "{error}"),
        }
        Ok(())
    });
}

#[test]
fn borrowed_memory_is_back_behind_the_call() {
    on_both_paths(|world| {
        let (rank, right) = (u64::from(world.rank()), (world.rank() + 1) % 4);
        let mut memory = [rank; 8];
        let sum = world.window().lend(&mut memory[2..6], |window| {
            window.fence_epoch(|epoch| epoch.put_value(50 + rank, right, 3))?;
            let mut all = [0; 4];
            window.lock_all(|locked| {
                locked.batch(|batch| {
                    all.iter_mut()
                        .enumerate()
                        .try_for_each(|(from, value)| batch.get(std::slice::from_mut(value), from, 3))
                })
            })?;
            Ok(all.iter().sum::<u64>())
        })?;
        assert_eq!(sum, 50 + 51 + 52 + 53);
        let left = (rank + 3) % 4;
        assert_eq!(memory, [rank, rank, rank, rank, rank, 50 + left, rank, rank]);

        // All ranks leave by a panic, and find their memory as it was.
        let panic = catch_unwind(AssertUnwindSafe(|| {
            world.window().lend(&mut memory, |window| -> Result<()> {
                window.fence_epoch(|epoch| epoch.put_value(9, right, 0))?;
                panic!("out of the window");
            })
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "out of the window");
        assert_eq!(memory[..2], [9, rank]);
        Ok(())
    });
}

#[test]
fn shared_windows_are_views_of_every_rank() {
    on_both_paths(|world| {
        let node = world.split_by_node(Some(0))?.expect("every rank gives a key");
        for is_apart in [false, true] {
            let builder = node.window::<u32>().len(3);
            let builder = if is_apart { builder.parts_apart() } else { builder };
            let mut window = builder.allocate_shared()?;
            window.fence_epoch(|epoch| {
                epoch.local().write(0, &[node.rank(); 3]);
                Ok(())
            })?;
            for rank in 0..node.size() {
                let part = window.part(rank).expect("ranks of a node are mapped");
                assert_eq!(part.to_vec(), [rank; 3]);
            }
            node.barrier()?;
            window.free()?;
        }
        assert!(world.window::<u8>().len(1).allocate_shared().is_ok() == (node.size() == world.size()));
        Ok(())
    });
}

#[test]
fn hints_are_in_force_and_names_are_taken() {
    on_both_paths(|world| {
        let mut window = world.window::<u8>().len(1).no_locks().name("without locks").allocate()?;
        assert!(window.hints().contains(&("no_locks", "true".to_owned())));
        window.exclusive(0, |target| target.fetch_add(0, 1))?;
        world.barrier()?;
        if world.rank() == 0 {
            assert_eq!(
                u32::from(window.local().get(0)),
                world.size(),
                "locks exclude each other all the same"
            );
        }
        window.free()
    });
}

#[test]
fn elements_without_bytes_are_refused() {
    on_both_paths(|world| {
        let error = world.allocate::<[u8; 0]>(4).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Type, "{error}");
        Ok(())
    });
}
