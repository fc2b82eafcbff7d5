//! Memory of this process that the node's other processes can map: arenas, and blocks of them.
//!
//! Windows and `MPI_Alloc_mem` take blocks from a few large arenas whose descriptors peers of the node get once; so making a window
//! needs no system call, and a created window over such a block can be reached directly. Very long blocks get an arena of
//! their own, which goes with the block.
//!
//! Invariants: a block is zeroed when it is taken, because it is cleared when it is given back: long ones by
//! giving their pages back to the system, so that an unused page stays untouched. An arena lives as long as
//! any block of it, the kept ones as long as the process. Each process maps it at a multiple of a huge page, so what a block is
//! aligned to in the arena it is aligned to everywhere.

use super::huge_pages::{self, HUGE};
use super::memory::{self, Bytes};
use super::space::{GRAIN, Space};
use parking_lot::Mutex;
use rma_ch_shm::ShmConfig;
use rma_ch_shm::segment::{Mapping, SharedMemory};
use rma_core::fork;
use rma_core::ids::Peer;
use rma_core::mem::WriteSpan;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};

/// Bytes of an arena, or more when a block needs more: address space until it is written.
const ARENA: u64 = 64 << 20;
/// Longer blocks get an arena of their own.
const LONGEST: u64 = 4 << 30;
/// Address space of all arenas that are kept, here and in every peer; beyond it blocks get arenas of their own.
const KEPT_MAX: u64 = 16 << 30;
/// Blocks up to this are cleared by writing zeros, which is cheaper than taking the pages anew.
const CLEARED_BY_HAND: u64 = 16 << 10;
const PAGE: u64 = 4096;
const TOO_LONG: &str = "longer than any memory";
const TOO_SHORT: &str = "an arena is too short";

/// Memory that peers of the node can map.
#[derive(Debug)]
pub(super) struct Arena {
    pub(super) number: u64,
    pub(super) memory: SharedMemory,
    pub(super) bytes: Bytes,
    space: Mutex<Space>,
    /// Peers of the node that have mapped it, for an arena that they keep.
    given: Mutex<HashSet<Peer>>,
    /// Whether it lives as long as the process.
    pub(super) is_kept: bool,
}

/// A block of an arena: zeros when it is taken, given back when it is dropped.
#[derive(Debug)]
pub struct Block {
    pub(super) arena: Arc<Arena>,
    pub(super) offset: u64,
    len: u64,
}

/// The arenas of a process.
#[derive(Debug)]
pub(super) struct Arenas {
    config: ShmConfig,
    /// Whether pages are taken when they are touched; else a large arena would be a waste of memory.
    is_lazy: OnceLock<bool>,
    state: Mutex<ArenaState>,
}

#[derive(Debug, Default)]
struct ArenaState {
    /// Those that live as long as the process.
    kept: Vec<Arc<Arena>>,
    /// All arenas by their address here.
    by_address: BTreeMap<usize, Weak<Arena>>,
    next: u64,
}

impl Arenas {
    pub(super) fn new(config: ShmConfig) -> Self {
        Self { config, is_lazy: OnceLock::new(), state: Mutex::default() }
    }

    /// A block of `len` bytes at a multiple of `align`, a power of two that is a huge page at most; on huge pages if they are
    /// wanted and the system has them.
    pub(super) fn take(&self, len: u64, align: u64, is_huge: bool) -> Result<Block, String> {
        fork::check("a call that allocates shared memory");
        let is_lazy = *self.is_lazy.get_or_init(|| SharedMemory::will_be_memfd(&self.config));
        let align = align.clamp(GRAIN, HUGE);
        if !is_huge {
            return self.take_plain(len, align, is_lazy);
        }
        let cause = match self.take_huge(len, is_lazy) {
            Ok(block) => return Ok(block),
            Err(cause) => cause,
        };
        let block = self.take_plain(len, align, is_lazy)?;
        if let Err(why) = memory::advise_huge_pages(block.address(), len, true) {
            huge_pages::complain(&format!("{cause}; {why}"));
        }
        Ok(block)
    }

    /// A block on huge pages that the system has set aside: an arena of its own.
    fn take_huge(&self, len: u64, is_lazy: bool) -> Result<Block, String> {
        if !is_lazy {
            return Err("shared memory is files".to_owned());
        }
        let whole = len.checked_next_multiple_of(HUGE).ok_or(TOO_LONG)?;
        let memory =
            SharedMemory::create_huge(whole).map_err(|error| format!("{whole} bytes set aside: {error}"))?;
        let arena = Self::enter(&mut self.state.lock(), memory, false)?;
        Block::of(&arena, len, HUGE).ok_or_else(|| TOO_SHORT.to_owned())
    }

    fn take_plain(&self, len: u64, align: u64, is_lazy: bool) -> Result<Block, String> {
        if len > LONGEST || !is_lazy {
            return self.take_apart(&mut self.state.lock(), len, align);
        }
        let mut state = self.state.lock();
        if let Some(block) = state.kept.iter().find_map(|arena| Block::of(arena, len, align)) {
            return Ok(block);
        }
        let arena_len = len.next_power_of_two().max(ARENA);
        let is_kept = state.kept.iter().map(|arena| arena.memory.len()).sum::<u64>() + arena_len <= KEPT_MAX;
        if !is_kept {
            return self.take_apart(&mut state, len, align);
        }
        let arena = self.make(&mut state, arena_len, true)?;
        state.kept.push(Arc::clone(&arena));
        Block::of(&arena, len, align).ok_or_else(|| TOO_SHORT.to_owned())
    }

    /// A block with an arena of its own.
    fn take_apart(&self, state: &mut ArenaState, len: u64, align: u64) -> Result<Block, String> {
        let whole = len.max(1).checked_next_multiple_of(PAGE).ok_or(TOO_LONG)?;
        let arena = self.make(state, whole, false)?;
        Block::of(&arena, len, align).ok_or_else(|| TOO_SHORT.to_owned())
    }

    /// Lets go of the arenas that live as long as the process: those that have no block go.
    pub(super) fn forget(&self) {
        let kept = std::mem::take(&mut self.state.lock().kept);
        drop(kept);
    }

    /// How shared memory is made and checked.
    pub(super) fn config(&self) -> &ShmConfig {
        &self.config
    }

    /// The arena that memory of this process lies in, and where.
    pub(super) fn find(&self, memory: WriteSpan) -> Option<(Arc<Arena>, u64)> {
        let start = memory.as_mut_ptr() as usize;
        let (first, arena) = {
            let state = self.state.lock();
            let (first, arena) = state.by_address.range(..=start).next_back()?;
            (*first, arena.upgrade()?)
        };
        let offset = (start - first) as u64;
        let end = offset.checked_add(memory.len() as u64)?;
        (end <= arena.memory.len()).then_some((arena, offset))
    }

    fn make(&self, state: &mut ArenaState, len: u64, is_kept: bool) -> Result<Arc<Arena>, String> {
        let memory = SharedMemory::create(len, len, &self.config).map_err(|error| error.to_string())?;
        memory.reserve().map_err(|error| format!("{len} bytes of shared memory: {error}"))?;
        Self::enter(state, memory, is_kept)
    }

    fn enter(state: &mut ArenaState, memory: SharedMemory, is_kept: bool) -> Result<Arc<Arena>, String> {
        let len = memory.len();
        let mapping =
            Mapping::aligned(&memory, HUGE).map_err(|error| format!("mapping {len} bytes: {error}"))?;
        let bytes = Bytes::new(Arc::new(mapping));
        let number = state.next;
        state.next += 1;
        state.by_address.retain(|_, arena| arena.strong_count() > 0);
        let address = bytes.address();
        let (space, given) = (Mutex::new(Space::new(len)), Mutex::default());
        let arena = Arc::new(Arena { number, memory, bytes, space, given, is_kept });
        state.by_address.insert(address, Arc::downgrade(&arena));
        Ok(arena)
    }
}

impl Arena {
    /// Whether one of the processes has not mapped it.
    pub(super) fn is_news_to(&self, peers: &[Peer]) -> bool {
        let given = self.given.lock();
        peers.iter().any(|peer| !given.contains(peer))
    }

    /// Whether the process has to be handed it.
    pub(super) fn is_news_to_one(&self, peer: Peer) -> bool {
        !self.given.lock().contains(&peer)
    }

    /// The processes have mapped it. What they do not keep is handed to them each time.
    pub(super) fn on_given(&self, peers: &[Peer]) {
        if self.is_kept {
            self.given.lock().extend(peers);
        }
    }
}

impl Block {
    fn of(arena: &Arc<Arena>, len: u64, align: u64) -> Option<Self> {
        let offset = arena.space.lock().take(len, align)?;
        Some(Self { arena: Arc::clone(arena), offset, len })
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.arena.bytes.address() + self.offset as usize
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Self { arena, offset, len } = self;
        // An arena that is not kept goes with its only block. A forked child drops its view of the parent's memory, not that.
        if arena.is_kept && !fork::is_child() {
            let end = *offset + *len;
            let (first, last) = (offset.next_multiple_of(PAGE), end / PAGE * PAGE);
            let is_long = *len > CLEARED_BY_HAND && first < last;
            if is_long && arena.memory.discard(first, last - first).is_ok() {
                arena.bytes.clear(*offset, first - *offset);
                arena.bytes.clear(last, end - last);
            } else {
                arena.bytes.clear(*offset, *len);
            }
            arena.space.lock().give_back(*offset, *len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zeroed_whatever_was_in_the_memory_before() {
        let arenas = Arenas::new(ShmConfig::default());
        for len in [0, 1, 64, 5000, 16 << 10, 100_000, 3 << 20] {
            for round in 0..2 {
                let block = arenas.take(len, 64, false).unwrap();
                let span = block.arena.bytes.part(block.offset, len);
                let mut bytes = vec![1; len as usize];
                span.as_read().read(&mut bytes);
                assert!(bytes.iter().all(|byte| *byte == 0), "{len} bytes, round {round}");
                span.write(&vec![0xff; len as usize]);
            }
        }
        assert_eq!(arenas.state.lock().kept.len(), 1, "all blocks came from one arena");
    }

    #[test]
    fn memory_is_found_by_address_while_its_arena_lives() {
        let arenas = Arenas::new(ShmConfig::default());
        let (small, long) =
            (arenas.take(100, 4096, false).unwrap(), arenas.take(LONGEST + 1, 64, false).unwrap());
        assert!(small.arena.is_kept && !long.arena.is_kept);
        for block in [&small, &long] {
            let (arena, offset) = arenas.find(block.arena.bytes.part(block.offset + 5, 10)).unwrap();
            assert_eq!((arena.number, offset), (block.arena.number, block.offset + 5));
        }
        assert!(small.address().is_multiple_of(4096));
        let span = long.arena.bytes.part(long.offset, 1);
        drop(long);
        assert!(arenas.find(span).is_none());
    }

    #[test]
    fn long_blocks_come_from_kept_arenas_too_until_these_are_too_many() {
        let arenas = Arenas::new(ShmConfig::default());
        for _ in 0..3 {
            let block = arenas.take((64 << 20) + 1, 64, false).unwrap();
            assert_eq!((block.arena.memory.len(), block.arena.number), (128 << 20, 0), "it was given back");
        }
        let held: Vec<_> = (0..5).map(|_| arenas.take(LONGEST, 64, false).unwrap()).collect();
        assert_eq!(
            held.iter().map(|block| block.arena.is_kept).collect::<Vec<_>>(),
            [true, true, true, false, false]
        );
    }

    #[test]
    fn blocks_are_aligned_up_to_huge_pages_wherever_their_memory_comes_from() {
        for backing in ["memfd", "devshm"] {
            let arenas = Arenas::new(ShmConfig { backing: backing.to_owned(), ..ShmConfig::default() });
            let blocks =
                [(100, 1 << 20), (100, 2 << 20), (3 << 20, 2 << 20), (5000, 16 << 10), (64, 1 << 30)].map(
                    |(len, align)| {
                        (arenas.take(len, align, huge_pages::are_asked(len, align)).unwrap(), align)
                    },
                );
            for (block, align) in &blocks {
                assert!((block.address() as u64).is_multiple_of(*align.min(&HUGE)), "{align} of {backing}");
                let span = block.arena.bytes.part(block.offset, block.len);
                let mut bytes = vec![1; block.len as usize];
                span.as_read().read(&mut bytes);
                assert!(bytes.iter().all(|byte| *byte == 0));
                span.write(&vec![7; block.len as usize]);
            }
        }
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let arenas = Arenas::new(ShmConfig::default());
        for len in [u64::MAX, 1 << 62, 1 << 50] {
            assert!(arenas.take(len, 64, false).is_err(), "{len}");
        }
    }
}
