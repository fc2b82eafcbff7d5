//! The performance variables: what is counted, and where it is read.
//!
//! Counters are non-continuous: they count for a handle while it is started, from zero. Levels and high-water marks are what
//! they are: always running, and not to be written.

use super::answer::{Answer, Fault};
use crate::abi::*;
use crate::{process, window};
use rma::config::Configuration;
use rma_core::Engine;
use rma_core::channel::Usage;
use rma_core::stats::{Counters, ElementCounts};
use std::ffi::c_int;
use std::sync::OnceLock;

/// One performance variable.
pub(crate) struct PerformanceVariable {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) class: c_int,
    pub(crate) is_of_window: bool,
    /// The category that it belongs to.
    pub(crate) category: &'static str,
    source: Source,
}

/// Where a number of elements is read.
type OfElements = fn(&ElementCounts) -> u32;
/// Where a number of what the channels hold is read.
type OfUsage = fn(&Usage) -> usize;

/// Where a value is read.
enum Source {
    /// This row of the counters.
    Counter(usize),
    Elements(OfElements),
    /// One-sided packets of the channel with this name.
    PacketsBy(&'static str),
    Windows,
    Channel(OfUsage),
}

/// All performance variables; an index is a place in this list.
pub(crate) fn variables() -> &'static [PerformanceVariable] {
    static VARIABLES: OnceLock<Vec<PerformanceVariable>> = OnceLock::new();
    VARIABLES.get_or_init(|| {
        let mut all = Vec::new();
        for is_of_window in [false, true] {
            counters(is_of_window, &mut all);
            elements(is_of_window, &mut all);
        }
        channels(&mut all);
        all
    })
}

fn counters(is_of_window: bool, all: &mut Vec<PerformanceVariable>) {
    for (row, (name, text, _)) in Counters::default().rows().into_iter().enumerate() {
        if !is_of_window || row < Counters::OF_WINDOWS {
            let class = MPI_T_PVAR_CLASS_COUNTER;
            all.push(variable(is_of_window, name, text, class, Source::Counter(row)));
        }
    }
}

fn elements(is_of_window: bool, all: &mut Vec<PerformanceVariable>) {
    let (level, mark) = (MPI_T_PVAR_CLASS_LEVEL, MPI_T_PVAR_CLASS_HIGHWATERMARK);
    let rows: [(&str, c_int, &str, OfElements); 4] = [
        ("ops_in_use", level, "Operation elements in use.", |e| e.ops),
        ("ops_in_use_most", mark, "Most operation elements in use at once.", |e| e.most_ops),
        ("targets_in_use", level, "Target elements in use.", |e| e.targets),
        ("targets_in_use_most", mark, "Most target elements in use at once.", |e| e.most_targets),
    ];
    for (name, class, text, read) in rows {
        all.push(variable(is_of_window, name, text, class, Source::Elements(read)));
    }
}

fn channels(all: &mut Vec<PerformanceVariable>) {
    let level = MPI_T_PVAR_CLASS_LEVEL;
    all.push(variable(false, "windows", "Windows that have not been freed.", level, Source::Windows));
    let usage: [(&str, &str, OfUsage); 2] = [
        ("channel_peers", "Processes that the channels hold state for.", |usage| usage.peers),
        ("channel_bytes", "Bytes of buffers, queues and rings that the channels hold.", |usage| usage.bytes),
    ];
    for (name, text, read) in usage {
        let source = Source::Channel(read);
        all.push(PerformanceVariable { category: "channels", ..variable(false, name, text, level, source) });
    }
    let tables = Configuration::default().tables().map(|table| table.name);
    for channel in rma::channels::names() {
        let (name, text) =
            (format!("packets_sent_{channel}"), format!("One-sided packets sent over {channel}."));
        let source = Source::PacketsBy(channel);
        let row = variable(false, &name, &text, MPI_T_PVAR_CLASS_COUNTER, source);
        // A program's own has no table of variables, and so no category.
        let category = if tables.contains(&channel) { channel } else { "channels" };
        all.push(PerformanceVariable { category, ..row });
    }
}

fn variable(is_of_window: bool, name: &str, text: &str, class: c_int, source: Source) -> PerformanceVariable {
    let (prefix, category, of) = match is_of_window {
        false => ("rma_", "engine", ""),
        true => ("rma_win_", "window", " Of one window."),
    };
    PerformanceVariable {
        name: format!("{prefix}{name}"),
        text: format!("{text}{of}"),
        class,
        is_of_window,
        category,
        source,
    }
}

impl PerformanceVariable {
    /// Whether it always runs and cannot be written.
    pub(crate) fn is_continuous(&self) -> bool {
        self.class != MPI_T_PVAR_CLASS_COUNTER
    }

    pub(crate) fn verbosity(&self) -> c_int {
        match self.category {
            "window" | "engine" => MPI_T_VERBOSITY_USER_DETAIL,
            _ => MPI_T_VERBOSITY_TUNER_DETAIL,
        }
    }

    /// What it is now, of the window if it is bound to one. Zero before MPI is initialized; what it was at the end
    /// afterwards.
    pub(crate) fn sample(&self, window: MPI_Win) -> Answer<u64> {
        match self.is_of_window {
            true => self.sample_of_window(window),
            false => Ok(process::of_life().map_or(0, |process| self.sample_of(process.world.inner.engine()))),
        }
    }

    fn sample_of_window(&self, window: MPI_Win) -> Answer<u64> {
        let window = &window::find(window).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))?.inner;
        match self.source {
            Source::Counter(row) => Ok(counter(&window.counters(), row)),
            Source::Elements(read) => Ok(read(&window.elements()).into()),
            Source::PacketsBy(_) | Source::Windows | Source::Channel(_) => Err(Fault(MPI_ERR_INTERN)),
        }
    }

    fn sample_of(&self, engine: &Engine) -> u64 {
        match self.source {
            Source::Counter(row) => counter(&engine.counters(), row),
            Source::Elements(read) => read(&engine.elements()).into(),
            Source::PacketsBy(name) => {
                let all = engine.packets_by_channel();
                all.iter().filter(|(channel, _)| *channel == name).map(|(_, count)| count).sum()
            }
            Source::Windows => engine.live_windows() as u64,
            Source::Channel(read) => read(&engine.channel_usage()) as u64,
        }
    }
}

fn counter(counters: &Counters, row: usize) -> u64 {
    counters.rows().get(row).map_or(0, |(_, _, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_those_of_windows_are_all_there() {
        let mut names: Vec<_> = variables().iter().map(|variable| variable.name.as_str()).collect();
        for name in ["mapped_puts", "ops_queued", "channel_full", "transfers", "transferred_bytes"] {
            assert!(names.contains(&format!("rma_win_{name}").as_str()), "{name}");
        }
        assert!(!names.contains(&"rma_win_progress_steps"), "it is of no window");
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
