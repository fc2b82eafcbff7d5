//! Recovery of an error: closures have an error type of the program's own, and an epoch that fails is closed, so the next one
//! can put things right.

use rma::{ErrorClass, World};

#[derive(Debug)]
enum Failure {
    Rma(rma::Error),
    Empty,
}

impl From<rma::Error> for Failure {
    fn from(error: rma::Error) -> Self {
        Self::Rma(error)
    }
}

pub(crate) fn run(world: &World) -> rma::Result<()> {
    let size = u64::from(world.size());
    let mut stock = world.allocate::<u64>(1)?.with_errors::<Failure>();
    let mut had = 0;
    // Half of the ranks find nothing, fill up, and go on.
    for _ in 0..2 {
        let taken = stock.exclusive(0, |rank0| match rank0.load(0)? {
            0 => Err(Failure::Empty),
            left => Ok(rank0.store(0, left - 1)?),
        });
        match taken {
            Ok(()) => had += 1,
            Err(Failure::Empty) => match stock.exclusive(0, |rank0| Ok(rank0.fetch_add(0, 1)?)) {
                Ok(_) => {}
                Err(Failure::Rma(error)) => return Err(error),
                Err(Failure::Empty) => unreachable!("nothing is taken here"),
            },
            Err(Failure::Rma(error)) => return Err(error),
        }
    }
    // An access outside the window is an error that says so, and disturbs nothing.
    match stock.exclusive(0, |rank0| Ok(rank0.load(7)?)) {
        Err(Failure::Rma(error)) => assert_eq!(error.class(), ErrorClass::RmaRange, "{error}"),
        other => panic!("element 7 of 1: {other:?}"),
    }
    world.barrier()?;
    let left = stock.local().get(0);
    let sum = world.allreduce(rma::ReduceOp::Sum, &[had])?[0];
    if world.rank() == 0 {
        // Each of two attempts of each rank has taken one or brought one.
        assert_eq!(2 * size - sum, sum + left);
    }
    stock.free()
}
