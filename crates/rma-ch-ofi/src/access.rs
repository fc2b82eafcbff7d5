//! Reads from the memory of peers, and their end. One of the few files with `unsafe`.

use crate::block::SlotName;
use crate::fabric::{Fabric, Handed};
use crate::object::call;
use rma_core::mem::WriteSpan;
use std::ffi::c_void;
use std::ptr::null_mut;

impl Fabric {
    /// Whether peers may access memory of this process.
    pub(crate) fn exposes(&self) -> bool {
        self.registrations.are_used()
    }

    /// Whether [`Fabric::forget`] ends all access to memory of this process by a peer, and for reads from it.
    pub(crate) fn forgets(&self) -> bool {
        self.library.closes_removed
    }

    /// Whether bodies may be read to where they belong: without a registration, and so that their reads end with a peer.
    pub(crate) fn reads_in_place(&self) -> bool {
        self.forgets() && !self.registers()
    }

    /// Closes the connection to a peer that nothing is sent to any more. What was under way to it comes back with an error.
    pub(crate) fn forget(&mut self, peer: u64) {
        let mut name = peer;
        if self.forgets() {
            // A peer that was never connected to has nothing to close.
            let _ = call!(self.av, ops.remove(&raw mut name, 1, 0));
        }
    }

    /// Fills the first bytes of a slot from a peer's memory.
    pub(crate) fn read_remote(&mut self, place: SlotName, len: usize, from: (u64, u64, u64)) -> Handed {
        let block = &self.blocks[place.block as usize];
        assert!(len <= block.slot_len(), "{len} bytes of a slot of {}", block.slot_len());
        // SAFETY: a slot that is this crate's now.
        let memory = unsafe { WriteSpan::new(block.slot(place.slot), len) };
        let descriptor = block.descriptor();
        // SAFETY: the block lives as long as the endpoint.
        unsafe { self.read_into(place, (memory, descriptor), from) }
    }

    /// The same into memory that is not the slot's, where the provider wants no registration.
    ///
    /// # Safety
    /// The memory stays until the slot came back, the peer was forgotten, or this value is dropped.
    pub(crate) unsafe fn read_remote_into(
        &mut self,
        place: SlotName,
        memory: WriteSpan,
        from: (u64, u64, u64),
    ) -> Handed {
        // SAFETY: as the caller promises.
        unsafe { self.read_into(place, (memory, null_mut()), from) }
    }

    /// # Safety
    /// As for [`Fabric::read_remote_into`].
    unsafe fn read_into(
        &mut self,
        place: SlotName,
        (memory, descriptor): (WriteSpan, *mut c_void),
        (peer, address, key): (u64, u64, u64),
    ) -> Handed {
        let (memory, len) = (memory.as_mut_ptr().cast::<c_void>(), memory.len());
        let context = self.blocks[place.block as usize].context(place.slot);
        self.handed(
            self.on_ep(|ep| call!(ep, rma.read(memory, len, descriptor, peer, address, key, context))),
            Handed::Over,
        )
    }
}
