//! Two scopes of locks, one inside the other; several ranks are locked by `lock_set`.

fn main() {
    rma::World::run_threads(2, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.exclusive(0, |_| window.exclusive(1, |rank1| rank1.store(0, 1)))
    })
    .unwrap();
}
