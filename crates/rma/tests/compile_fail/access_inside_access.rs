//! Two access epochs at a time within one exposure.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.expose(&[0], |exposure| {
            exposure.access(&[0], |_| exposure.access(&[0], |epoch| epoch.put_value(1, 0, 0)))
        })
    })
    .unwrap();
}
