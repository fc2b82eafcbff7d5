//! The programs that are installed beside the C library, apart from the launcher.
//!
//! [`compile`] is `rmacc`, `rmacxx` and `rmafc`: a compiler with the flags that programs of the library need. [`info`] is
//! `rma-info`: what the library is and how it is set. [`timeline`] is `rma-trace`: where the time of a traced job went. [`guest`] is
//! `rma-guest`: another MPI with the guest in front. [`man`]
//! writes the manual pages of all of them. They know where they are installed only by where they are found, so an installation
//! can be moved as a whole.

pub mod compile;
pub mod guest;
pub mod info;
pub mod man;
pub mod timeline;
