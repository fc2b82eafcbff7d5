//! Handing shared memory to the processes of the same node.
//!
//! A descriptor is put into the sibling's mailbox before the message that announces it is sent, so it is there when the
//! message is: nobody waits for a mailbox.

use parking_lot::Mutex;
use rma_ch_shm::ShmConfig;
use rma_ch_shm::segment::{Mailbox, Mapping, SharedMemory};
use rma_core::ids::Peer;
use std::collections::HashMap;
use std::fmt;
use std::os::fd::OwnedFd;

/// The way to this node's other processes.
pub struct Siblings {
    config: ShmConfig,
    post: Mutex<Post>,
}

struct Post {
    mailbox: Mailbox,
    /// What has arrived and was not asked for yet.
    arrived: HashMap<(Peer, u64), OwnedFd>,
    /// Number of the next segment that this process makes.
    next: u64,
}

/// Most parcels kept for nobody; the job's processes never come near.
const ARRIVED_MAX: usize = 4096;

impl Siblings {
    /// Opens this process's mailbox.
    pub fn new(mailbox: Mailbox, config: ShmConfig) -> Self {
        Self { config, post: Mutex::new(Post { mailbox, arrived: HashMap::new(), next: 0 }) }
    }

    /// Makes shared memory, maps it, and gives it to the others; answers by which number they find it.
    pub(super) fn share(&self, len: u64, others: &[Peer]) -> Result<(u64, Mapping), String> {
        let text = |error: &dyn fmt::Display| error.to_string();
        let memory = SharedMemory::create(len, len, &self.config).map_err(|error| text(&error))?;
        memory.reserve().map_err(|error| format!("{len} bytes of shared memory: {error}"))?;
        let mapping = Mapping::new(&memory).map_err(|error| format!("mapping {len} bytes: {error}"))?;
        let mut post = self.post.lock();
        let number = post.next;
        post.next += 1;
        for peer in others {
            let sent = post.mailbox.try_send(*peer, number, std::os::fd::AsFd::as_fd(&memory));
            match sent {
                Ok(true) => {}
                Ok(false) => return Err(format!("the mailbox of process {peer} is full")),
                Err(error) => return Err(text(&error)),
            }
        }
        Ok((number, mapping))
    }

    /// Maps what a sibling has made and announced.
    pub(super) fn take(&self, from: Peer, number: u64, len: u64) -> Result<Mapping, String> {
        let descriptor = self.post.lock().take(from, number)?;
        let memory =
            SharedMemory::received(descriptor, len, &self.config).map_err(|error| error.to_string())?;
        Mapping::new(&memory).map_err(|error| format!("mapping {len} bytes: {error}"))
    }
}

impl Post {
    fn take(&mut self, from: Peer, number: u64) -> Result<OwnedFd, String> {
        while let Some(parcel) = self.mailbox.try_receive().map_err(|error| error.to_string())? {
            if self.arrived.len() >= ARRIVED_MAX {
                self.arrived.clear();
            }
            self.arrived.insert((parcel.from, parcel.tag), parcel.descriptor);
        }
        let descriptor = self.arrived.remove(&(from, number));
        descriptor.ok_or_else(|| format!("process {from} announced shared memory that did not arrive"))
    }
}

impl fmt::Debug for Siblings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Siblings").field("config", &self.config).finish_non_exhaustive()
    }
}
