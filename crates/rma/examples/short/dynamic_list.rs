//! Dynamic lists: nodes are attached as they are needed, and link to nodes of other ranks by their places.

use rma::window::Place;
use rma::{Element, Result, World};

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Node {
    value: u64,
    owner: u64,
    next: Place<Node>,
}

pub(crate) fn run(world: &World) -> Result<()> {
    let (rank, size) = (u64::from(world.rank()), u64::from(world.size()));
    // The owner and the place of the first node, on rank 0.
    let mut first = world.allocate::<Node>(1)?;
    let mut nodes = world.window::<Node>().dynamic()?;
    for value in [rank, rank + size] {
        // The exclusive lock makes the two steps one.
        first.exclusive(0, |rank0| {
            let Node { owner, next, .. } = rank0.load(0)?;
            let node = Node { value, owner, next };
            let place = nodes.attach(vec![node])?;
            rank0.store(0, Node { value: 0, owner: rank, next: place })
        })?;
    }
    world.barrier()?;
    let (mut sum, mut at) = (0, first.shared(0, |rank0| rank0.load(0))?);
    while !at.next.is_null() {
        at = nodes.shared(at.owner, |owner| owner.load(at.next.at(0)))?;
        sum += at.value;
    }
    let all = 2 * size;
    assert_eq!(sum, all * (all - 1) / 2);
    // What is attached is released with the window.
    nodes.free()?;
    first.free()
}
