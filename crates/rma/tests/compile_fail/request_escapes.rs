//! A future of an operation is kept beyond its epoch.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let request = window.exclusive(0, |rank0| rank0.rget(vec![0; 4], 0))?;
        let more = window.exclusive(0, |rank0| rank0.load(0))?;
        let values = request.wait()?;
        assert_eq!(values[0], more);
        window.free()
    })
    .unwrap();
}
