//! For users of rsmpi, which binds a C library.
//!
//! | rsmpi | here |
//! | --- | --- |
//! | `mpi::initialize()`, `universe.world()` | [`World::init`](crate::World::init); no C library is needed, and none is linked |
//! | panics, codes of the C library | each call answers a [`Result`](crate::Result) |
//! | `#[derive(Equivalence)]` | `#[derive(Element)]`, which refuses padding |
//! | `world.process_at_rank(r).send(&x)` | [`world.send(r, tag, &[x])`](crate::Communicator::send) |
//! | `any_process().receive_vec()` | [`world.receive(None, None)`](crate::Communicator::receive) |
//! | `immediate_send(scope, &x)` in `request::scope` | [`begin_send`](crate::Communicator::begin_send), which copies and can be awaited |
//! | `all_reduce_into(&x, &mut sum, SystemOperation::sum())` | [`allreduce(ReduceOp::Sum, &[x])`](crate::Communicator::allreduce) |
//! | ranks are `i32` | any integer, or `None` for no process |
//! | `mpirun` and processes for every test | [`World::run_threads`](crate::World::run_threads) in `cargo test`; `rmarun`, `mpirun`, `srun` for jobs |
//!
//! A program that stays with rsmpi runs over the C library of this project; bindings need `MPI_Fint`, which the header declares when it
//! is asked to:
//!
//! ```sh
//! export MPICC=rmacc CFLAGS=-DRMA_MPI_FINT BINDGEN_EXTRA_CLANG_ARGS=-DRMA_MPI_FINT
//! cargo build && rmarun -n 4 target/debug/program
//! ```
//!
//! Messages and a collective call here, with a job of three ranks in threads:
//!
//! ```
//! rma::World::run_threads(3, |world| {
//!     let sum = world.allreduce(rma::ReduceOp::Sum, &[world.rank()])?;
//!     let right = (world.rank() + 1) % world.size();
//!     let sending = world.begin_send(right, 0, &[sum[0] + world.rank()])?;
//!     let message = world.receive::<u32>(None, None)?;
//!     assert_eq!(message.values, [3 + message.source]);
//!     sending.wait()
//! })
//! .unwrap();
//! ```
