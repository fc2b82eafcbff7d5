//! Memory of windows that the processes of a node share: making it, mapping it, and handing it to peers of the node.
//!
//! Building blocks for a host of the engine. One process creates [`SharedMemory`], sends its descriptor to
//! its peers of the node through its [`Mailbox`], and all map it ([`Mapping`]). Nothing of it has a name in a file
//! system: when the last process that has it ends, in whatever way, the memory is gone.
//!
//! ```
//! use rma_ch_shm::ShmConfig;
//! use rma_ch_shm::segment::{Mailbox, Mapping, SharedMemory};
//! use rma_core::ids::Peer;
//! use std::os::fd::AsFd;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (config, job, secret) = (ShmConfig::default(), format!("example {}", std::process::id()), [7; 32]);
//! // These two would be in different processes.
//! let maker = Mailbox::open(Peer(0), &job, secret)?;
//! let mut peer = Mailbox::open(Peer(1), &job, secret)?;
//!
//! let memory = SharedMemory::create(4096, 2 * 4096, &config)?;
//! let own = Mapping::new(&memory)?;
//! assert!(maker.try_send(Peer(1), 42, memory.as_fd())?);
//!
//! let parcel = peer.try_receive()?.expect("it was sent just now");
//! assert_eq!((parcel.from, parcel.tag), (Peer(0), 42));
//! let theirs = Mapping::new(&SharedMemory::received(parcel.descriptor, 4096, &config)?)?;
//!
//! // SAFETY: the spans are not kept, and no reference to the memory is formed.
//! let (here, there) = unsafe { (own.span(0, 4096), theirs.span(0, 4096)) };
//! here.write(b"hello");
//! let mut bytes = [0; 5];
//! there.as_read().read(&mut bytes);
//! assert_eq!(&bytes, b"hello");
//! # Ok(())
//! # }
//! ```

mod mailbox;
mod mapping;
mod memory;

pub use mailbox::{Mailbox, Parcel};
pub use mapping::Mapping;
pub use memory::{Attempt, SegmentError, SharedMemory};
