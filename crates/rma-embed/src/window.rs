//! Windows: creation, what they tell of themselves, attached memory, and their end.

use crate::abi::{GroupSpec, WindowInfo, WindowSpec as CSpec};
use crate::engine::ENGINES;
use crate::entry::entry;
use crate::handle::{CREATION, Table, WINDOW};
use crate::path::{self, Path};
use crate::pointer::{In, Out, text};
use crate::under_way::{EngineCall, enter_started};
use parking_lot::Mutex;
use rma_ch_c::{Versioned, bad};
use rma_core::describe;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::mem::WriteSpan;
use rma_core::window::{Flavor, Hints, Window, WindowCreation, WindowSpec};
use rma_core::{Error, ErrorClass, Result};
use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::sync::Arc;

pub(crate) static WINDOWS: Table<Window> = Table::new(WINDOW, "a window");
static CREATIONS: Table<Arc<Mutex<WindowCreation>>> = Table::new(CREATION, "a creation");

// SAFETY: all three begin with their size, and zero is a value of numbers and pointers.
unsafe impl Versioned for GroupSpec {}
// SAFETY: as above.
unsafe impl Versioned for CSpec {}
// SAFETY: as above.
unsafe impl Versioned for WindowInfo {
    const LEAST: usize = offset_of!(WindowInfo, id);
}

entry! {
    /// `rma_window_begin`.
    fn rma_window_begin(engine: u64, group: In<GroupSpec>, spec: In<CSpec>, creation: Out<u64>) {
        let place = creation.needed("creation")?;
        let engine = ENGINES.get(engine)?;
        let group = self::group(&group.sized("group")?)?;
        let spec = spec.sized("spec")?;
        let hints = hints(spec.hints)?;
        let creation = engine.begin_window_with(group, self::spec(&spec, &hints)?, hints)?;
        place.set(CREATIONS.insert(Arc::new(Mutex::new(creation))));
        Ok(())
    }

    /// `rma_creation_poll`.
    fn rma_creation_poll(creation: u64, window: Out<u64>) {
        let place = window.needed("window")?;
        let under_way = CREATIONS.get(creation)?;
        let polled = under_way.lock().poll();
        if !matches!(polled, Ok(None)) {
            CREATIONS.take(creation)?;
        }
        place.set(polled?.map_or(0, |window| WINDOWS.insert(window)));
        Ok(())
    }

    /// `rma_window_free`.
    fn rma_window_free(window: u64, call: Out<u64>) {
        let place = call.needed("call")?;
        let free = WINDOWS.get(window)?.begin_free().map_err(|(_, error)| error)?;
        WINDOWS.take(window)?;
        path::forget(window);
        place.set(enter_started(EngineCall::Free(free))?);
        Ok(())
    }

    /// `rma_window_query`.
    fn rma_window_query(window: u64, info: Out<WindowInfo>) {
        let window = WINDOWS.get(window)?;
        let asked = In::from(info.address()).sized("info")?;
        let place = info.needed("info")?;
        // SAFETY: what C does with the address is the embedder's promise: nothing once the window is freed.
        let local = unsafe { window.local() };
        place.set_sized(WindowInfo {
            size: asked.size,
            rank: window.rank().0,
            ranks: window.size(),
            flavor: flavor_number(window.flavor()),
            memory: local.as_mut_ptr().cast(),
            len: local.len() as u64,
            id: window.id().to_bits().into(),
        });
        Ok(())
    }

    /// `rma_window_path`.
    fn rma_window_path(window: u64, path: Out<*const Path>) {
        let place = path.needed("path")?;
        place.set(path::of(window, || WINDOWS.get(window))?);
        Ok(())
    }

    /// `rma_window_set_name`.
    fn rma_window_set_name(window: u64, name: *const c_char) {
        WINDOWS.get(window)?.set_name(&text(name).unwrap_or_default());
        Ok(())
    }

    /// `rma_window_set_hints`.
    fn rma_window_set_hints(window: u64, hints: *const *const c_char) {
        WINDOWS.get(window)?.set_hints(&self::hints(hints)?);
        Ok(())
    }

    /// `rma_window_hint`.
    fn rma_window_hint(window: u64, key: *const c_char, value: Out<c_char>, len: usize, is_set: Out<c_int>) {
        let (window, place) = (WINDOWS.get(window)?, is_set.needed("is_set")?);
        let key = text(key).ok_or_else(|| bad("key is null"))?;
        let found = window.hints().into_iter().find(|(name, _)| *name == key);
        found.iter().for_each(|(_, known)| value.set_text(len, known));
        place.set(c_int::from(found.is_some()));
        Ok(())
    }

    /// `rma_creation_waits_for`.
    fn rma_creation_waits_for(creation: u64, text: Out<c_char>, len: usize) {
        let under_way = CREATIONS.get(creation)?;
        let awaited = describe::creation(&under_way.lock());
        text.set_text(len, &awaited.text);
        Ok(())
    }

    /// `rma_window_mapped`.
    fn rma_window_mapped(window: u64, rank: u32, memory: Out<*mut c_void>, len: Out<u64>, unit: Out<u64>) {
        let window = WINDOWS.get(window)?;
        if rank >= window.size() {
            let cause = format!("rank {rank} is not in a window of {}", window.size());
            return Err(Error::new(ErrorClass::Rank, "rma", cause));
        }
        // SAFETY: as in `rma_window_query`.
        let (span, bytes) = unsafe { window.mapped(Rank(rank)) }.unwrap_or((WriteSpan::EMPTY, 0));
        memory.needed("memory")?.set(span.as_mut_ptr().cast());
        len.wanted().into_iter().for_each(|place| place.set(span.len() as u64));
        unit.wanted().into_iter().for_each(|place| place.set(bytes));
        Ok(())
    }

    /// `rma_window_attach`.
    fn rma_window_attach(window: u64, memory: Out<u8>, len: u64) {
        let span = span(memory.address().cast_mut(), len)?;
        // SAFETY: the embedder's promise: the memory stays until it is detached.
        unsafe { WINDOWS.get(window)?.attach(span) }
    }

    /// `rma_window_detach`.
    fn rma_window_detach(window: u64, memory: In<u8>) {
        WINDOWS.get(window)?.detach(memory.address().expose_provenance())
    }

    /// `rma_window_begin_detach`.
    fn rma_window_begin_detach(window: u64, memory: In<u8>, call: Out<u64>) {
        let place = call.needed("call")?;
        let detaching = WINDOWS.get(window)?.begin_detach(memory.address().expose_provenance())?;
        place.set(enter_started(EngineCall::Detach(detaching))?);
        Ok(())
    }
}

/// Memory of the embedder.
fn span(start: *mut u8, len: u64) -> Result<WriteSpan> {
    let Some(len) = usize::try_from(len).ok().filter(|len| *len <= isize::MAX as usize) else {
        return Err(Error::new(ErrorClass::Size, "rma", format!("{len} bytes are more than there can be")));
    };
    if start.is_null() && len > 0 {
        return Err(bad(format!("memory is null, but has {len} bytes")));
    }
    // SAFETY: the embedder's promise: memory that stays as long as `rma.h` says for the call.
    Ok(unsafe { WriteSpan::new(start, len) })
}

fn group(spec: &GroupSpec) -> Result<Group> {
    let GroupSpec { context, me, count, first, stride, .. } = *spec;
    if me >= count {
        return Err(Error::new(ErrorClass::Group, "rma", format!("rank {me} is not in a group of {count}")));
    }
    if !spec.peers.is_null() {
        let peers = In::from(spec.peers).list(count as usize, "peers")?;
        let mut seen = HashSet::new();
        if let Some(twice) = peers.iter().find(|peer| !seen.insert(**peer)) {
            return Err(Error::new(
                ErrorClass::Group,
                "rma",
                format!("process {twice} is in the group twice"),
            ));
        }
        let peers: Vec<_> = peers.into_iter().map(Peer).collect();
        return Ok(Group::of(context, Rank(me), &peers));
    }
    let last = u64::from(first) + u64::from(stride) * u64::from(count - 1);
    if (stride == 0 && count > 1) || last >= u64::from(u32::MAX) {
        let cause = format!("{count} processes from {first}, {stride} apart, are no group");
        return Err(Error::new(ErrorClass::Group, "rma", cause));
    }
    Ok(Group::strided(context, Rank(me), Peer(first), stride.max(1), count))
}

fn spec(spec: &CSpec, hints: &Hints) -> Result<WindowSpec> {
    let CSpec { len, unit, .. } = *spec;
    match spec.flavor {
        0 => Ok(WindowSpec::Allocate { len, unit }),
        1 => Ok(WindowSpec::AllocateShared { len, unit, is_contiguous: !hints.is_noncontiguous() }),
        2 => Ok(WindowSpec::Create { memory: span(spec.memory.cast(), len)?, unit }),
        3 => Ok(WindowSpec::Dynamic),
        flavor => Err(bad(format!("{flavor} is no flavor of windows"))),
    }
}

/// `RMA_WINDOW_…`.
fn flavor_number(flavor: Flavor) -> c_int {
    match flavor {
        Flavor::Allocate => 0,
        Flavor::Shared => 1,
        Flavor::Create => 2,
        Flavor::Dynamic => 3,
    }
}

/// Keys and values in turn, up to a null.
fn hints(pairs: *const *const c_char) -> Result<Hints> {
    const MOST: usize = 1000;
    let mut hints = Hints::default();
    if pairs.is_null() {
        return Ok(hints);
    }
    for at in (0..MOST).step_by(2) {
        let word = |at: usize| In::from(pairs.wrapping_add(at)).get("hints").map(text);
        let Some(key) = word(at)? else { return Ok(hints) };
        let value = word(at + 1)?.ok_or_else(|| bad(format!("the hint {key} has no value")))?;
        hints.set(&key, &value);
    }
    Err(bad(format!("the hints do not end within {MOST} words")))
}
