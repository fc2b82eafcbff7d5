//! A buffer that ends with the closure, before the locks do.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.lock_all(|all| {
            let values = [1, 2];
            all.put(&values, 0, 0)?;
            all.flush(0)
        })
    })
    .unwrap();
}
