//! A view of window memory that is used after the window is gone.

fn main() {
    rma::World::run_threads(1, |world| {
        let window = world.allocate::<u64>(4)?;
        let view = window.local();
        window.free()?;
        assert_eq!(view.get(0), 0);
        Ok(())
    })
    .unwrap();
}
