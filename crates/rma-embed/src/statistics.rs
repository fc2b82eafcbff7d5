//! What an engine and its windows have done so far.

use crate::abi::{Counter, Elements as CElements};
use crate::engine::ENGINES;
use crate::entry::entry;
use crate::errors::c_text;
use crate::pointer::{In, Out};
use crate::window::WINDOWS;
use rma_ch_c::{Versioned, bad};
use rma_core::Result;
use rma_core::stats::{Counters, ElementCounts};
use std::ffi::CString;
use std::sync::OnceLock;

// SAFETY: it begins with its size, and zero is a value of numbers.
unsafe impl Versioned for CElements {}

entry! {
    /// `rma_engine_counters`.
    fn rma_engine_counters(engine: u64, counters: Out<Counter>, room: usize, count: Out<usize>) {
        store(&ENGINES.get(engine)?.counters(), counters, room, count)
    }

    /// `rma_window_counters`.
    fn rma_window_counters(window: u64, counters: Out<Counter>, room: usize, count: Out<usize>) {
        store(&WINDOWS.get(window)?.counters(), counters, room, count)
    }

    /// `rma_engine_elements`.
    fn rma_engine_elements(engine: u64, elements: Out<CElements>) {
        elements_of(&ENGINES.get(engine)?.elements(), elements)
    }

    /// `rma_window_elements`.
    fn rma_window_elements(window: u64, elements: Out<CElements>) {
        elements_of(&WINDOWS.get(window)?.elements(), elements)
    }

    /// `rma_engine_keep_statistics`.
    fn rma_engine_keep_statistics(engine: u64) {
        ENGINES.get(engine)?.keep_statistics();
        Ok(())
    }
}

fn elements_of(elements: &ElementCounts, place: Out<CElements>) -> Result<()> {
    let size = In::from(place.address()).sized("elements")?.size;
    let ElementCounts { ops, most_ops, targets, most_targets, .. } = *elements;
    place.needed("elements")?.set_sized(CElements { size, ops, most_ops, targets, most_targets });
    Ok(())
}

fn store(counters: &Counters, to: Out<Counter>, room: usize, count: Out<usize>) -> Result<()> {
    let rows = counters.rows();
    if room > 0 && to.address().is_null() {
        return Err(bad(format!("counters is null, but there is said to be room for {room}")));
    }
    let values = rows.iter().zip(names());
    let stored: Vec<Counter> = values
        .map(|(row, (name, text))| Counter { name: name.as_ptr(), text: text.as_ptr(), value: row.2 })
        .collect();
    count.wanted().into_iter().for_each(|place| place.set(stored.len()));
    to.set_all(&stored[..stored.len().min(room)]);
    Ok(())
}

/// Names and texts of all counters, which C may keep.
fn names() -> &'static [(CString, CString)] {
    static NAMES: OnceLock<Vec<(CString, CString)>> = OnceLock::new();
    let make = || Counters::default().rows().iter().map(|row| (c_text(row.0), c_text(row.1))).collect();
    NAMES.get_or_init(make)
}
