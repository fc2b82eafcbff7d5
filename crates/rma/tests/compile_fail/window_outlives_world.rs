//! A window that outlives its world.

fn main() -> rma::Result<()> {
    let mut window = {
        let world = rma::World::init()?;
        world.allocate::<u64>(4)?
    };
    window.fence_epoch(|epoch| epoch.put(&[1], 0, 0))
}
