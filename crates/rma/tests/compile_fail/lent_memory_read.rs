//! Memory that a window exposes is read as what the compiler believes to own.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut memory = [0u64; 4];
        world.window().lend(&mut memory, |window| {
            window.fence_epoch(|epoch| epoch.put_value(1, 0, 0))?;
            assert_eq!(memory[0], 1);
            Ok(())
        })
    })
    .unwrap();
}
