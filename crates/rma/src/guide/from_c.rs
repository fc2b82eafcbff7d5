//! For users of MPI in C. The names of the chapter are the same words, as methods: `MPI_Get_accumulate` is `get_accumulate`.
//!
//! | C | here |
//! | --- | --- |
//! | `MPI_Init`, `MPI_Finalize` | [`World::init`](crate::World::init), [`World::finalize`](crate::World::finalize); a world that is dropped ends too |
//! | `MPI_COMM_WORLD`, `MPI_Comm_split` | the world behaves as a [`Communicator`](crate::Communicator), which makes others |
//! | error codes and handlers | [`Result`](crate::Result): the [`Error`](crate::Error) has class, call and cause |
//! | displacement unit, count, datatype | elements: displacements and lengths count them; [`Layout`](crate::window::Layout) for what is not contiguous |
//! | the call that opens an epoch and the one that closes it | one call with a closure, so that no epoch stays open |
//! | buffers left alone until the epoch ends | borrowed until then: what would break that does not compile |
//! | `MPI_PROC_NULL` | `None` |
//! | `MPI_IN_PLACE`, attributes, error handlers of windows | none |
//! | `MPI_Win_fence(MPI_MODE_NOPRECEDE)` … | assertions follow from the scope |
//! | `MPI_Alloc_mem` and `MPI_Win_create` | [`window().over(buffer)`](crate::window::WindowBuilder::over) |
//!
//! `MPI_Win_lock`, `MPI_Put`, `MPI_Fetch_and_op`, `MPI_Win_unlock`:
//!
//! ```
//! rma::World::run_threads(2, |world| {
//!     let mut window = world.allocate::<i32>(2)?;
//!     let (mine, target) = ([7], 1 - world.rank());
//!     let before = window.exclusive(target, |locked| {
//!         locked.put(&mine, 0)?;
//!         locked.fetch_add(1, 5)
//!     })?;
//!     assert_eq!(before, 0);
//!     world.barrier()?;
//!     assert_eq!(window.local().to_vec(), [7, 5]);
//!     window.free()
//! })
//! .unwrap();
//! ```
