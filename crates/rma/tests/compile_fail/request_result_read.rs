//! A result that a request has borrowed is read before the epoch's end.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let mut row = [0; 4];
        window.exclusive(0, |rank0| {
            let request = rank0.rget(&mut row, 0)?;
            assert_eq!(row[0], 0);
            request.wait().map(drop)
        })
    })
    .unwrap();
}
