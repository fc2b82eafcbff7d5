//! Compare-and-swap is not defined on floating point (MPI 3.1 §11.3.5).

fn main() {
    rma::World::run_threads(1, |world| {
        let mut window = world.allocate::<f64>(4)?;
        window.exclusive(0, |rank0| rank0.compare_and_swap(0, 1.0, 2.0))
    })
    .unwrap();
}
