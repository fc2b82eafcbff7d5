//! The program of the repository's first page.

fn main() -> rma::Result<()> {
    let world = rma::World::init()?;
    let mut window = world.allocate::<u64>(4)?;
    let (me, right) = (world.rank(), (world.rank() + 1) % world.size());

    let mine = [u64::from(me); 2];
    window.fence_epoch(|epoch| epoch.put(&mine, right, 1))?;
    println!("rank {me} was given {:?}", [1, 2].map(|at| window.local().get(at)));

    let ticket = window.exclusive(0, |rank0| rank0.fetch_add(0, 1))?;
    println!("rank {me} drew ticket {ticket}");
    window.free()?;
    world.finalize()
}
