//! A buffer that ends with the closure of a batch, before its flush.

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<u64>(4)?;
        window.exclusive(0, |rank0| {
            rank0.batch(|batch| {
                let mut before = 0;
                batch.fetch_op(1, &mut before, rma::ReduceOp::Sum, 0)
            })
        })
    })
    .unwrap();
}
