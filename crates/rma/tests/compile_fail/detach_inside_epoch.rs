//! Memory is detached in an epoch whose operations may use it.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut heap = world.window::<u64>().dynamic()?;
        let place = heap.attach(vec![1, 2])?;
        heap.lock_all(|_| heap.detach(place).map(drop))?;
        heap.free()
    })
    .unwrap();
}
