//! Memory and addresses: `MPI_Alloc_mem`, `MPI_Get_address` and what goes with them (MPI 5.0 §4.1.5, §9.2).
//!
//! Allocated memory is known by its address until it is freed, so that a wrong address is an error and not a crash.

use crate::abi::*;
use crate::arguments::{Memory, Out, size};
use crate::entry::{entry, plain};
use crate::errors::Raiser;
use crate::info;
use crate::process::Process;
use parking_lot::Mutex;
use rma::host::Block;
use rma::{Error, ErrorClass, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::ffi::c_void;

/// What a block has at least: no two share a cache line.
const ALIGNMENT: usize = 64;

/// The blocks that the program has, by address.
static BLOCKS: Mutex<BTreeMap<usize, Memories>> = Mutex::new(BTreeMap::new());

/// Where a block came from.
enum Memories {
    /// The heap: what it has given, in which the block lies.
    Own { start: usize, layout: Layout },
    /// Memory that others of the node can map; given back when it is dropped.
    Shared { _block: Block },
}

entry! {
    /// `MPI_Alloc_mem` (§9.2).
    fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: Out<*mut c_void>)
    raises Raiser::None; |process| {
        baseptr.check("baseptr")?;
        baseptr.set("baseptr", allocate(process, self::size("size", size)?, alignment(info)?)?)
    }

    /// `MPI_Free_mem` (§9.2).
    fn MPI_Free_mem(base: Memory) raises Raiser::None; |_| {
        let memory = BLOCKS.lock().remove(&base.address()).ok_or_else(|| {
            let cause = format!("base {:#x} is no memory of MPI_Alloc_mem, or was freed", base.address());
            Error::new(ErrorClass::Base, "", cause)
        })?;
        match memory {
            // SAFETY: `allocate` has got it with this layout, and its block was in the table until now.
            Memories::Own { start, layout } => unsafe { System.dealloc(start as *mut u8, layout) },
            Memories::Shared { .. } => {}
        }
        Ok(())
    }

    /// `MPI_Get_address` (§5.1.5).
    fn MPI_Get_address(location: Memory, address: Out<MPI_Aint>) raises Raiser::None; |_| {
        address.set("address", location.address() as MPI_Aint)
    }
}

plain! {
    /// `MPI_Aint_add` (§5.1.5).
    fn MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
        base.wrapping_add(disp)
    }

    /// `MPI_Aint_diff` (§5.1.5).
    fn MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
        addr1.wrapping_sub(addr2)
    }
}

/// A block of its own for every request, also for none of its bytes: one that the node's other processes can map, if there
/// are any, so that windows over it are reached by loads and stores.
fn allocate(process: &Process, len: u64, align: usize) -> Result<*mut c_void> {
    let shared = process.world.inner.runtime().allocate(len, align as u64);
    if let Some(block) = shared.filter(|block| block.address().is_multiple_of(align)) {
        let address = block.address();
        BLOCKS.lock().insert(address, Memories::Shared { _block: block });
        return Ok(std::ptr::with_exposed_provenance_mut(address));
    }
    let refuse = || Error::new(ErrorClass::NoMem, "", format!("the system has no {len} bytes of memory"));
    // Aligned here: the system's zeros are not touched, but the standard library writes them where it is asked for an alignment.
    let layout = usize::try_from(len.max(1)).ok().and_then(|len| len.checked_add(align - 1));
    let layout = layout.and_then(|len| Layout::from_size_align(len, 1).ok()).ok_or_else(refuse)?;
    // SAFETY: the layout has at least one byte.
    let start = unsafe { System.alloc_zeroed(layout) };
    if start.is_null() {
        return Err(refuse());
    }
    let block = start.map_addr(|start| start.next_multiple_of(align));
    rma::host::ask_for_huge_pages(block as usize, len, align as u64);
    BLOCKS.lock().insert(block as usize, Memories::Own { start: start as usize, layout });
    Ok(block.cast())
}

/// The alignment that an info object asks for, if it is one.
fn alignment(info: MPI_Info) -> Result<usize> {
    let asked = info::get_optional(info)?.and_then(|info| info.text("mpi_minimum_memory_alignment"));
    let asked = asked.and_then(|text| text.trim().parse::<usize>().ok());
    Ok(asked.filter(|asked| asked.is_power_of_two()).map_or(ALIGNMENT, |asked| asked.max(ALIGNMENT)))
}
