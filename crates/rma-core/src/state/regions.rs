//! The attached memory of a dynamic window at its owner (MPI 4.1 §12.2.4): disjoint regions, found by address.
//!
//! Invariants: no two regions have a byte in common; a span is given out only for bytes that are attached, and neighbours
//! may lie on both sides of the boundary of two regions that touch. A look-up takes logarithmic time.
//!
//! A span that is kept beyond the engine's lock (by a channel that receives or sends a body, by a direct
//! access of the owner) has a [`Use`] with it. Detaching changes the guard under which new uses begin and
//! waits until those of the old one are gone: then no access to the region is left, and accesses to the rest
//! of the window are not waited for.

use super::OutOfRange;
use crate::datatype::{Layout, Scatter};
use crate::error::{Error, ErrorClass, Result};
use crate::mem::WriteSpan;
use crate::poller::WakeHandle;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst, fence};
use std::sync::{Arc, OnceLock};

/// The size of a window that has none, in [`OutOfRange`].
pub(crate) const NO_SIZE: u64 = u64::MAX;

/// The attached regions.
#[derive(Debug, Default)]
pub(crate) struct Regions(RwLock<Attached>);

#[derive(Debug, Default)]
struct Attached {
    /// Region by first byte.
    regions: BTreeMap<usize, WriteSpan>,
    /// How many regions without bytes are attached at an address.
    empty: BTreeMap<usize, usize>,
    guard: Arc<Guard>,
    /// Guards of uses that earlier calls of detach wait for: those may touch regions that are detached later, too.
    earlier: Vec<Arc<Guard>>,
}

/// Counts the uses that began between two calls of detach.
#[derive(Debug, Default)]
struct Guard {
    uses: AtomicUsize,
    /// The thread that waits for the last one to end.
    waits: OnceLock<WakeHandle>,
}

/// Keeps regions attached that are being accessed.
#[derive(Debug)]
pub(crate) struct Use(Arc<Guard>);

/// Uses that began before a region was detached.
#[derive(Debug)]
pub(crate) struct EarlierUses(Vec<Arc<Guard>>);

impl Use {
    fn begin(guard: &Arc<Guard>) -> Self {
        guard.uses.fetch_add(1, SeqCst);
        Self(Arc::clone(guard))
    }
}

impl Clone for Use {
    fn clone(&self) -> Self {
        Self::begin(&self.0)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // SYNC POINT detach: what was done with the memory is seen by the thread that finds no use; and of
        // this and `EarlierUses::wake` one sees the other.
        self.0.uses.fetch_sub(1, SeqCst);
        fence(SeqCst);
        if let Some(waits) = self.0.waits.get() {
            waits.wake();
        }
    }
}

impl EarlierUses {
    /// Makes the end of each use wake the engine's sleepers. Called once, before the first look.
    pub(crate) fn wake(&self, sleeper: WakeHandle) {
        for guard in &self.0 {
            // Another handle of the engine wakes the same sleepers.
            let _ = guard.waits.set(sleeper.clone());
        }
        // SYNC POINT detach
        fence(SeqCst);
    }

    /// Whether all of them are over.
    pub(crate) fn are_over(&self) -> bool {
        !self.0.iter().any(|guard| guard.is_used())
    }
}

impl Guard {
    fn is_used(&self) -> bool {
        self.uses.load(SeqCst) > 0
    }
}

impl Attached {
    /// The attached memory around `len` bytes from `start`, at least one, if all of them are attached. Takes
    /// a step for each region, and `steps` is how many are left.
    fn around(&self, start: u64, len: u64, steps: &mut u64) -> Option<WriteSpan> {
        let end = start.checked_add(len).and_then(|end| usize::try_from(end).ok())?;
        let start = start as usize;
        let (first, region) = self.regions.range(..=start).next_back()?;
        let mut run = *region;
        *steps = steps.checked_sub(1)?;
        // Byte `start` is in the region or behind it; further regions must join without a gap.
        if first + run.len() <= start {
            return None;
        }
        while first + run.len() < end {
            *steps = steps.checked_sub(1)?;
            run = run.join(*self.regions.get(&(first + run.len()))?)?;
        }
        Some(run)
    }
}

impl Regions {
    /// Most runs of a request for scattered bytes of a dynamic window; origins cut what has more.
    pub(crate) const MOST_RUNS: u64 = 1 << 14;
    /// Steps of a look-up of such a request: runs may lie across regions, and a part may begin and end within a body.
    pub(crate) const MOST_STEPS: u64 = 4 * Self::MOST_RUNS;

    /// Attaches memory. The span's maker has promised that it lives until it is detached or the window is
    /// freed.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_ATTACH` when it overlaps a region or runs past the last address.
    pub(crate) fn attach(&self, memory: WriteSpan, call: &'static str) -> Result<()> {
        let (start, len) = (memory.as_mut_ptr() as usize, memory.len());
        let refuse = |cause| Err(Error::new(ErrorClass::RmaAttach, call, cause));
        let Some(end) = start.checked_add(len) else {
            return refuse(format!("{len} bytes from {start:#x} run past the last address"));
        };
        let mut attached = self.0.write();
        if len == 0 {
            *attached.empty.entry(start).or_default() += 1;
            return Ok(());
        }
        // Regions are disjoint, so the last one that begins before the end is the only one that can overlap.
        if let Some((other, span)) = attached.regions.range(..end).next_back()
            && other + span.len() > start
        {
            let other_len = span.len();
            return refuse(format!(
                "{len} bytes from {start:#x} overlap the {other_len} bytes from {other:#x}, which are attached"
            ));
        }
        attached.regions.insert(start, memory);
        Ok(())
    }

    /// Detaches the region that begins at `base`; answers whose end must be waited for.
    ///
    /// # Errors
    /// `MPI_ERR_BASE` when none begins there.
    pub(crate) fn detach(&self, base: usize, call: &'static str) -> Result<EarlierUses> {
        let mut attached = self.0.write();
        if attached.regions.remove(&base).is_none() {
            let Some(count) = attached.empty.get_mut(&base) else {
                let cause = format!("no attached memory begins at base {base:#x}");
                return Err(Error::new(ErrorClass::Base, call, cause));
            };
            *count -= 1;
            if *count == 0 {
                attached.empty.remove(&base);
            }
        }
        let guard = std::mem::take(&mut attached.guard);
        attached.earlier.retain(|guard| guard.is_used());
        attached.earlier.push(guard);
        Ok(EarlierUses(attached.earlier.clone()))
    }

    /// The `len` bytes from address `start`, if all of them are attached.
    #[cold]
    pub(crate) fn locate(&self, start: u64, len: u64) -> Result<WriteSpan, OutOfRange> {
        if len == 0 {
            return Ok(WriteSpan::EMPTY);
        }
        let mut steps = u64::MAX;
        let around = self.0.read().around(start, len, &mut steps);
        let around = around.ok_or(OutOfRange { start, len, size: NO_SIZE })?;
        Ok(around.part(start as usize - around.as_mut_ptr() as usize, len as usize))
    }

    /// The base of the bytes of `layout` counted from address `start`, if all of them are attached; those between its runs need
    /// not be.
    pub(crate) fn base_of_layout(&self, start: Option<u64>, layout: &Layout) -> Result<*mut u8, OutOfRange> {
        self.locate_part(start, layout, 0..layout.size(), u64::MAX).map(|place| place.base())
    }

    /// The bytes of a part of `layout`, in a bounded number of steps, since an untrusted process may ask for
    /// it and the engine's lock is held meanwhile (see [`Regions::MOST_RUNS`]).
    #[cold]
    pub(crate) fn locate_part<'l>(
        &self,
        start: Option<u64>,
        layout: &'l Layout,
        part: Range<u64>,
        mut steps: u64,
    ) -> Result<Scatter<&'l Layout>, OutOfRange> {
        let Some(start) = start else { return Err(OutOfRange::of_layout(start, layout, NO_SIZE)) };
        let (low, high) = layout.bounds();
        // Most often the layout lies in one piece of memory, and its runs need not be looked at.
        let first = start.checked_add_signed(low);
        if let Some(span) = first.and_then(|first| self.locate(first, (high - low) as u64).ok())
            && let Some(mut scatter) =
                low.checked_neg().and_then(|start| Scatter::within(span, start, layout))
        {
            let _before = scatter.split_to(part.start);
            return Ok(scatter.split_to(part.end - part.start));
        }
        let attached = self.0.read();
        Scatter::found(start, layout, part, |address, len| attached.around(address, len, &mut steps))
            .map_err(|(start, len)| OutOfRange { start, len, size: NO_SIZE })
    }

    /// Begins a use of what [`Regions::locate`] gives out: before that is called, or under the same hold of the engine's lock.
    pub(crate) fn begin_use(&self) -> Use {
        Use::begin(&self.0.read().guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Loop;

    fn span(start: usize, len: usize) -> WriteSpan {
        // SAFETY: the tests look at addresses only and touch no byte.
        unsafe { WriteSpan::new(std::ptr::without_provenance_mut(start), len) }
    }

    fn place(regions: &Regions, start: u64, len: u64) -> Option<(usize, usize)> {
        regions.locate(start, len).ok().map(|span| (span.as_mut_ptr() as usize, span.len()))
    }

    #[test]
    fn bytes_are_found_in_one_region_or_across_neighbours_and_nowhere_else() {
        let regions = Regions::default();
        for (start, len) in [(1000, 100), (1100, 50), (1200, 10), (500, 1)] {
            regions.attach(span(start, len), "attach").unwrap();
        }
        for (start, len) in [(1000, 1), (1000, 100), (1099, 2), (1000, 150), (1149, 1), (1200, 10), (500, 1)]
        {
            assert_eq!(place(&regions, start, len), Some((start as usize, len as usize)), "{start}+{len}");
        }
        for (start, len) in
            [(999, 1), (1000, 151), (1149, 2), (1150, 1), (1150, 51), (1199, 2), (1209, 2), (499, 2), (0, 1)]
        {
            assert_eq!(place(&regions, start, len), None, "{start}+{len}");
        }
        assert_eq!(place(&regions, u64::MAX, 2), None);
        assert_eq!(place(&regions, 7, 0), Some((0, 0)), "no bytes are nowhere");
    }

    #[test]
    fn overlapping_memory_is_refused_and_touching_memory_is_not() {
        let regions = Regions::default();
        regions.attach(span(1000, 100), "attach").unwrap();
        for (start, len) in [(1000, 100), (999, 2), (1099, 1), (900, 300), (1050, 1), (usize::MAX, 2)] {
            let error = regions.attach(span(start, len), "attach").unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaAttach, "{start}+{len}");
        }
        let error = regions.attach(span(999, 2), "attach").unwrap_err();
        assert_eq!(error.cause(), "2 bytes from 0x3e7 overlap the 100 bytes from 0x3e8, which are attached");
        for (start, len) in [(999, 1), (1100, 1), (1050, 0), (1000, 0)] {
            regions.attach(span(start, len), "attach").unwrap();
        }
    }

    #[test]
    fn detaching_needs_the_base_and_waits_for_the_uses_before_it() {
        let regions = Regions::default();
        regions.attach(span(1000, 100), "attach").unwrap();
        regions.attach(span(2000, 100), "attach").unwrap();
        let before = regions.begin_use();
        let uses = regions.detach(1000, "detach").unwrap();
        assert_eq!(place(&regions, 1000, 1), None);
        let after = regions.begin_use();
        assert!(!uses.are_over());
        drop(before);
        assert!(uses.are_over(), "a use that began later is not waited for");
        drop(after);
        for base in [1000, 2001, 0] {
            assert_eq!(regions.detach(base, "detach").unwrap_err().class(), ErrorClass::Base);
        }
        regions.attach(span(3000, 0), "attach").unwrap();
        regions.attach(span(3000, 0), "attach").unwrap();
        assert!(regions.detach(3000, "detach").is_ok() && regions.detach(3000, "detach").is_ok());
        assert!(regions.detach(3000, "detach").is_err());
    }

    #[test]
    fn a_second_detach_waits_for_the_uses_that_the_first_waits_for() {
        let regions = Regions::default();
        regions.attach(span(1000, 100), "attach").unwrap();
        regions.attach(span(2000, 100), "attach").unwrap();
        let of_either = regions.begin_use();
        let first = regions.detach(1000, "detach").unwrap();
        let second = regions.detach(2000, "detach").unwrap();
        assert!(!first.are_over() && !second.are_over());
        drop(of_either);
        assert!(first.are_over() && second.are_over());
    }

    #[test]
    fn look_ups_of_hostile_shapes_are_bounded_and_those_of_long_ones_are_short() {
        let regions = Regions::default();
        for at in [1000, 5000, 9000] {
            regions.attach(span(at, 1000), "attach").unwrap();
        }
        let part = |layout: &Layout, part: Range<u64>, steps| {
            regions.locate_part(Some(0), layout, part, steps).map(|_| ())
        };
        let nest = |first, loops: &[Loop]| Layout::nest(first, 8, loops).unwrap();
        let twice = |stride| Loop { count: 2, stride };
        // The same bytes again and again, which is one look-up for a loop; and a nest of such loops, which is too many.
        let again = nest(1000, &[twice(4000), Loop { count: 1 << 55, stride: 0 }]);
        assert!(part(&again, 0..again.size(), 2).is_ok() && part(&again, 0..again.size(), 1).is_err());
        let mut loops = vec![twice(4000)];
        loops.extend((0..50).map(|i| twice(i % 7 * 9 - 20)));
        let nested = nest(1500, &loops);
        assert!(part(&nested, 0..nested.size(), Regions::MOST_STEPS).is_err());
        assert!(part(&nested, 0..8 * 1000, Regions::MOST_STEPS).is_ok(), "a part of it is few");
        // Down and up, each region once.
        for (first, stride) in [(1000, 16), (1984, -16)] {
            let rows = nest(first, &[Loop { count: 3, stride: 4000 }, Loop { count: 62, stride }]);
            assert!(part(&rows, 0..rows.size(), 3).is_ok() && part(&rows, 0..rows.size(), 2).is_err());
            let longer = nest(first, &[Loop { count: 3, stride: 4000 }, Loop { count: 64, stride }]);
            assert!(part(&longer, 0..longer.size(), u64::MAX).is_err(), "the last one is outside");
        }
    }

    #[test]
    fn a_hundred_thousand_regions() {
        let regions = Regions::default();
        for i in 0..100_000 {
            regions.attach(span(4096 + i * 16, 8), "attach").unwrap();
        }
        for i in (0..100_000).step_by(7) {
            let at = 4096 + i * 16;
            assert_eq!(place(&regions, at as u64, 8), Some((at, 8)));
            assert_eq!(place(&regions, at as u64, 9), None);
        }
    }
}
