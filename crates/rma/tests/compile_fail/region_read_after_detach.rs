//! A view of memory is used that was detached.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut heap = world.window::<u64>().dynamic()?;
        let place = heap.attach(vec![1, 2])?;
        let region = heap.region(place).unwrap();
        let buffer = heap.detach(place)?;
        assert_eq!(region.get(0), buffer[0]);
        heap.free()
    })
    .unwrap();
}
