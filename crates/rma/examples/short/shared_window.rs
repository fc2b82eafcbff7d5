//! Shared window: the ranks of a node read each other's memory by loads.

use rma::{Result, World};

pub(crate) fn run(world: &World) -> Result<()> {
    let node = world.split_by_node(Some(i64::from(world.rank())))?.expect("every rank gives a key");
    let mut parts = node.window::<u64>().len(2).allocate_shared()?;
    parts.fence_epoch(|epoch| {
        epoch.local().write(0, &[u64::from(node.rank()), 1]);
        Ok(())
    })?;
    let (mut ranks, mut ones) = (0, 0);
    for rank in 0..node.size() {
        let part = parts.part(rank).expect("parts of a shared window are mapped");
        ranks += part.get(0);
        ones += part.get(1);
    }
    let size = u64::from(node.size());
    assert_eq!((ranks, ones), (size * (size - 1) / 2, size));
    // No rank leaves while others read.
    node.barrier()?;
    parts.free()
}
