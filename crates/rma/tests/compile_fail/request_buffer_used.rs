//! A buffer that an operation has is used before it is given back.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.exclusive(0, |rank0| {
            let buffer = vec![0; 4];
            let request = rank0.rget(buffer, 0)?;
            assert_eq!(buffer[0], 0);
            request.wait()
        })
    })
    .unwrap();
}
