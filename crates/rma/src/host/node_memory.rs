//! Memory that this process and the others of its node share: its own arenas, and those of the others that are mapped here.
//!
//! A descriptor is put into the peer's mailbox before the message is sent upon which the peer looks for
//! it, so it is there: no wait is for a mailbox. A mailbox that others keep full is [`Trouble::Passing`]: it
//! is worth another attempt.

use super::arena::{Arena, Arenas, Block};
use super::huge_pages;
use super::memory::Bytes;
use parking_lot::Mutex;
use rma_ch_shm::ShmConfig;
use rma_ch_shm::segment::{Mailbox, Mapping, SharedMemory};
use rma_core::ids::Peer;
use rma_core::mem::WriteSpan;
use std::collections::HashMap;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The way to this node's other processes.
pub struct NodeMemory {
    arenas: Arenas,
    post: Mutex<Post>,
    /// Arenas of peers of the node that are kept, by owner and number.
    mapped: Mutex<HashMap<(Peer, u64), Bytes>>,
    /// Whether it was said why memory is not shared.
    has_complained: AtomicBool,
}

struct Post {
    /// None when this process has ended its part in the job.
    mailbox: Option<Mailbox>,
    /// What has arrived and was not asked for yet.
    arrived: HashMap<(Peer, u64), OwnedFd>,
}

/// Why memory cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The same may go well in a moment.
    Passing(String),
    /// It will not.
    Lasting(String),
}

/// Times that a full mailbox is tried in one call, with room made in one's own in between.
const TRIES: usize = 8;

/// Most parcels kept that were not asked for; the job's processes never come near.
const ARRIVED_MAX: usize = 4096;

/// A process's arena, as sent to its peers of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArenaName {
    pub(super) number: u64,
    pub(super) len: u64,
    pub(super) is_kept: bool,
}

impl NodeMemory {
    /// Opens this process's mailbox.
    pub fn new(mailbox: Mailbox, config: ShmConfig) -> Self {
        let post = Post { mailbox: Some(mailbox), arrived: HashMap::new() };
        let (arenas, post, mapped) = (Arenas::new(config), Mutex::new(post), Mutex::default());
        Self { arenas, post, mapped, has_complained: AtomicBool::new(false) }
    }

    /// This process leaves the job: nothing more is handed to it or mapped.
    pub(crate) fn close(&self) {
        let mut post = self.post.lock();
        post.mailbox = None;
        post.arrived.clear();
        self.mapped.lock().clear();
        self.arenas.forget();
    }

    /// Zeroed memory that peers of the node can map, at a multiple of `align`, a power of two up to a huge page. It is given back
    /// when the block is dropped; windows over it must have been freed.
    ///
    /// # Errors
    /// When there is no such memory; says why.
    pub fn allocate(&self, len: u64, align: u64) -> Result<Block, String> {
        self.take(len, align, huge_pages::are_asked(len, align))
    }

    /// The same, on huge pages if they are wanted and there are such.
    pub(super) fn take(&self, len: u64, align: u64, is_huge: bool) -> Result<Block, String> {
        self.arenas.take(len, align, is_huge)
    }

    /// The arena that memory of this process lies in, and where.
    pub(super) fn find(&self, memory: WriteSpan) -> Option<(Arc<Arena>, u64)> {
        self.arenas.find(memory)
    }

    /// Puts an arena into the mailboxes of those of the peers of the node that have not mapped it.
    pub(super) fn give(&self, arena: &Arena, to: &[Peer]) -> Result<(), Trouble> {
        let mut post = self.post.lock();
        let mut missed = None;
        for peer in to.iter().filter(|peer| arena.is_news_to_one(**peer)) {
            let mut is_given = false;
            for attempt in 0..TRIES {
                if attempt > 0 {
                    std::thread::yield_now();
                }
                // Others may be giving too, and a full mailbox takes nothing.
                post.look()?;
                let sent = post.mailbox()?.try_send(*peer, arena.number, arena.memory.as_fd());
                is_given = sent.map_err(|error| Trouble::Lasting(error.to_string()))?;
                if is_given {
                    break;
                }
            }
            if !is_given {
                missed = Some(Trouble::Passing(format!("the mailbox of process {peer} is full")));
            }
        }
        missed.map_or(Ok(()), Err)
    }

    /// Takes out of the mailbox what is in it, so that there is room.
    pub(super) fn look(&self) -> Result<(), Trouble> {
        self.post.lock().look()
    }

    /// Drops copies of an arena that were sent once more although the first one arrived.
    pub(super) fn forget_copies(&self, owner: Peer, number: u64) {
        self.post.lock().arrived.remove(&(owner, number));
    }

    /// Whether this is the first time that memory is not shared: what is so for one window is so for the next, and a program may
    /// make thousands.
    pub(super) fn is_first_complaint(&self) -> bool {
        !self.has_complained.swap(true, Relaxed)
    }

    /// The arena of a peer, mapped now if it was not before.
    pub(super) fn map(&self, owner: Peer, name: ArenaName) -> Result<Bytes, Trouble> {
        if let Some(bytes) = self.mapped.lock().get(&(owner, name.number)) {
            // What is checked against a length must lie within what is mapped.
            if bytes.len() != name.len {
                let known = bytes.len();
                let why = format!("process {owner} announced {} bytes that were {known} before", name.len);
                return Err(Trouble::Lasting(why));
            }
            return Ok(bytes.clone());
        }
        let descriptor = self.post.lock().take(owner, name.number)?;
        let memory = SharedMemory::received(descriptor, name.len, self.arenas.config())
            .map_err(|error| Trouble::Lasting(error.to_string()))?;
        let mapping = Mapping::aligned(&memory, huge_pages::HUGE)
            .map_err(|error| Trouble::Lasting(format!("mapping {} bytes: {error}", name.len)))?;
        let bytes = Bytes::new(Arc::new(mapping));
        if name.is_kept {
            self.mapped.lock().insert((owner, name.number), bytes.clone());
        }
        Ok(bytes)
    }
}

impl Post {
    fn mailbox(&mut self) -> Result<&mut Mailbox, Trouble> {
        self.mailbox.as_mut().ok_or_else(|| Trouble::from("this process has left the job"))
    }

    fn look(&mut self) -> Result<(), Trouble> {
        while let Some(parcel) =
            self.mailbox()?.try_receive().map_err(|error| Trouble::Lasting(error.to_string()))?
        {
            if self.arrived.len() >= ARRIVED_MAX {
                self.arrived.clear();
            }
            self.arrived.insert((parcel.from, parcel.tag), parcel.descriptor);
        }
        Ok(())
    }

    fn take(&mut self, from: Peer, number: u64) -> Result<OwnedFd, Trouble> {
        self.look()?;
        let descriptor = self.arrived.remove(&(from, number));
        descriptor.ok_or_else(|| {
            Trouble::Passing(format!("process {from} announced shared memory that did not arrive"))
        })
    }
}

impl Trouble {
    /// The reason as a clause.
    pub(super) fn text(self) -> String {
        match self {
            Self::Passing(why) | Self::Lasting(why) => why,
        }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Lasting(why)
    }
}

impl From<&str> for Trouble {
    fn from(why: &str) -> Self {
        Self::Lasting(why.to_owned())
    }
}

impl fmt::Debug for NodeMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMemory").field("arenas", &self.arenas).finish_non_exhaustive()
    }
}
