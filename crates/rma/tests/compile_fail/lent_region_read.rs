//! Memory is read while it is lent to a dynamic window.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut heap = world.window::<u64>().dynamic()?;
        let mut memory = [1, 2];
        heap.lend(&mut memory, |_, _| {
            assert_eq!(memory[0], 1);
            Ok(())
        })?;
        heap.free()
    })
    .unwrap();
}
