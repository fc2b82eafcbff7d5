//! Events of the library on standard error (`RMA_LOG`): for a C program, and for a program in Rust that has
//! no subscriber of its own if it asks for that.
//!
//! Channels and engine tell through `tracing`, whose registry of subscribers is the process's, so this is set up once. A
//! subscriber that writes lines needs no spans, no filters by module and no colours; that is what the packages which have all
//! that are for. An event that is not wanted costs what it costs without a subscriber: a comparison.

use crate::config::RuntimeConfig;
use rma_core::Result;
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// No rank, before the launcher has said it.
const UNKNOWN: u32 = u32::MAX;

static RANK: AtomicU32 = AtomicU32::new(UNKNOWN);

struct LogLines(LevelFilter);

/// Writes the library's events to standard error from now on, down to the level that `RMA_LOG` says. `false` when the process
/// has a subscriber already, which is left alone.
///
/// # Errors
/// `MPI_ERR_ARG` when a variable has a wrong value.
pub fn log_to_stderr(look_up: &dyn Fn(&str) -> Option<String>) -> Result<bool> {
    let level = match RuntimeConfig::read(look_up)?.log.as_str() {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => LevelFilter::WARN,
    };
    Ok(tracing::subscriber::set_global_default(LogLines(level)).is_ok())
}

/// Says which rank this process is.
pub(crate) fn set_rank(rank: u32) {
    RANK.store(rank, Relaxed);
}

impl Subscriber for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.0
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let text = line(RANK.load(Relaxed), event);
        // In one piece, so that lines of several threads stay whole. A failure cannot be reported anywhere.
        let _ = rustix::io::write(std::io::stderr(), text.as_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn line(rank: u32, event: &Event<'_>) -> String {
    let level = match *event.metadata().level() {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    };
    let mut words = EventText::default();
    event.record(&mut words);
    let rank = if rank == UNKNOWN { String::new() } else { format!(" rank {rank}:") };
    format!("rma:{rank} {level}: {}{}\n", words.message, words.fields)
}

/// An event's message, and its other fields behind it.
#[derive(Default)]
struct EventText {
    message: String,
    fields: String,
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, ", {name}: {value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps the lines.
    struct Kept(LogLines, Arc<Mutex<Vec<String>>>);

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0.enabled(metadata)
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            self.0.new_span(span)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.1.lock().unwrap().push(line(3, event));
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn events_down_to_the_level_are_lines_with_their_fields() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        tracing::subscriber::with_default(Kept(LogLines(LevelFilter::WARN), Arc::clone(&lines)), || {
            tracing::info!("not this");
            tracing::warn!(cause = "a word", count = 7, peer = %2, "what {} is", "wrong");
            tracing::error!("and this");
        });
        let expected = [
            "rma: rank 3: warning: what wrong is, cause: a word, count: 7, peer: 2\n",
            "rma: rank 3: error: and this\n",
        ];
        assert_eq!(*lines.lock().unwrap(), expected);
    }
}
