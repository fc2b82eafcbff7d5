//! Dynamic windows: places that travel, what detaching promises, and what is refused.

use super::on_both_paths;
use rma::window::Place;
use rma::{Element, ErrorClass, ReduceOp, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Node {
    value: u64,
    next: Place<Node>,
    owner: u64,
}

#[test]
fn a_list_grows_across_ranks_within_one_epoch() {
    on_both_paths(4, |world| {
        let mut heads = world.allocate::<[Place<Node>; 1]>(1)?;
        let mut heap = world.window::<Node>().name("heap").dynamic()?;
        let (rank, size) = (u64::from(world.rank()), world.size());
        // Rank by rank puts a node before the first one, whose place lies in a window of rank 0.
        let mut first = Place::NULL;
        for turn in 0..size {
            if turn == world.rank() {
                heads.exclusive(0, |rank0| {
                    let next = rank0.load(0)?[0];
                    first =
                        heap.lock_all(|all| all.attach(vec![Node { value: 10 * rank, next, owner: rank }]))?;
                    rank0.store(0, [first])
                })?;
            }
            world.barrier()?;
        }
        let mut at = heads.shared(0, |rank0| rank0.load(0))?[0];
        let mut owner = u64::from(size) - 1;
        let mut values = Vec::new();
        while !at.is_null() {
            let node = heap.shared(owner, |locked| locked.load(at.at(0)))?;
            values.push(node.value);
            (at, owner) = (node.next, node.owner.saturating_sub(1));
        }
        assert_eq!(values, [30, 20, 10, 0]);
        assert_eq!(heap.region(first).expect("it is attached").get(0).value, 10 * rank);
        // Its node is told when it has another value.
        heap.set_notifications(1)?;
        let target = (world.rank() + 1) % size;
        let theirs = world.allgather(&[first])?[target as usize][0];
        let node = [Node { value: rank, next: Place::NULL, owner: u64::from(target) }];
        heap.lock_all(|all| {
            all.put_notify(&node, target, theirs.at(0), 0)?;
            assert_eq!(all.notifications().wait(0, 1)?, 1);
            let value = all.region(first).expect("it is attached").get(0).value;
            assert_eq!(value, (rank + u64::from(size) - 1) % u64::from(size));
            Ok(())
        })?;
        world.barrier()?;
        let nodes = heap.detach(first)?;
        assert!(nodes.len() == 1 && nodes[0].owner == rank && heap.region(first).is_none());
        // What is still attached is released with the window.
        heap.attach(nodes)?;
        heap.free()?;
        heads.free()
    });
}

#[test]
fn what_is_not_attached_is_out_of_range_for_others() {
    on_both_paths(2, |world| {
        let mut heap = world.window::<u64>().dynamic()?;
        let place = heap.attach(vec![5; 4])?;
        let other = 1 - world.rank();
        let theirs = world.allgather(&[place])?[other as usize][0];
        assert_eq!(heap.shared(other, |locked| locked.load(theirs.at(3)))?, 5);
        for outside in [theirs.at(4), theirs.at(usize::MAX), 8] {
            let error = heap.shared(other, |locked| locked.load(outside)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        }
        world.barrier()?;
        assert_eq!(heap.detach(place)?, [5; 4]);
        world.barrier()?;
        let error = heap.exclusive(other, |locked| locked.fetch_add(theirs.at(0), 1)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        assert_eq!(heap.detach(place).unwrap_err().class(), ErrorClass::Base);
        assert_eq!(heap.attach(vec![]).unwrap_err().class(), ErrorClass::Size);
        world.barrier()?;
        heap.free()?;

        // Other windows have no regions.
        let mut window = world.allocate::<u64>(1)?;
        let error = window.shared(other, |locked| locked.attach(vec![1])).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaFlavor);
        world.barrier()?;
        window.free()
    });
}

#[test]
fn lent_memory_comes_back_however_its_closure_ends() {
    on_both_paths(2, |world| {
        let mut heap = world.window::<u64>().dynamic()?;
        let (other, mut memory) = (1 - world.rank(), [1, 2, 3]);
        let mut known = Place::NULL;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            heap.lend(&mut memory, |heap, place| -> Result<()> {
                known = world.allgather(&[place])?[other as usize][0];
                heap.exclusive(other, |locked| locked.accumulate_value(7, ReduceOp::Sum, known.at(1)))?;
                assert!(heap.detach(place).is_err(), "it is lent");
                assert_eq!(heap.region(place).expect("it is attached").len(), 3);
                world.barrier()?;
                panic!("out of the closure");
            })
        }));
        assert!(panic.is_err());
        memory[0] = 9;
        assert_eq!(memory, [9, 9, 3]);
        world.barrier()?;
        let error = heap.shared(other, |locked| locked.load(known.at(0))).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaRange);
        world.barrier()?;
        // A window that is forgotten keeps what is attached.
        heap.attach(vec![1])?;
        std::mem::forget(heap);
        world.barrier()
    });
}

#[test]
fn a_revoked_window_releases_what_is_attached_when_it_is_freed() {
    on_both_paths(2, |world| {
        let mut heap = world.window::<u64>().dynamic()?;
        let place = heap.attach(vec![1])?;
        world.barrier()?;
        heap.revoke();
        assert_eq!(heap.detach(place).unwrap_err().class(), ErrorClass::Revoked);
        assert_eq!(heap.region(place).expect("it stays attached").get(0), 1);
        heap.free()
    });
}

#[test]
fn a_buffer_that_no_rank_maps_is_given_back_by_a_revoked_window() {
    on_both_paths(2, |world| {
        let window = world.window().over(vec![1u64; 4])?;
        assert!(!window.is_direct(1 - world.rank()));
        world.barrier()?;
        window.revoke();
        assert_eq!(window.into_buffer()?, vec![1; 4]);
        Ok(())
    });
}
