//! Whether tracing is on, and the points where the engine reports what happens.

use super::epochs::Epochs;
use super::event::{Event, Observer};
use crate::epoch::Call;
use crate::ids::{Rank, WindowId};
use crate::state::{Flavor, WindowState};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The observer of one engine.
pub(crate) struct Observation {
    is_on: bool,
    observer: Option<Arc<dyn Observer>>,
    /// Epochs that were reported and that have not ended. Taken inside the engine's lock.
    epochs: Mutex<Epochs>,
    names: Mutex<Names>,
}

/// How messages name the windows of one engine. An id is no part of it: users never see one.
#[derive(Default)]
struct Names {
    windows: HashMap<WindowId, Made>,
    /// Windows made so far.
    made: u64,
}

/// How a window came to be, and what the user calls it.
struct Made {
    number: u64,
    by: &'static str,
    name: Option<Box<str>>,
}

/// A call under way, or a wait: its end is reported when this is dropped.
#[must_use = "the call ends when this is dropped"]
pub(crate) struct CallSpan<'a> {
    _open: Option<OpenSpan<'a>>,
}

struct OpenSpan<'a> {
    observation: &'a Observation,
    end: Event<'static>,
    _span: tracing::span::EnteredSpan,
}

impl Observation {
    /// Asks `tracing` once whether its subscriber wants the spans of this engine.
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        let wants_spans = tracing::enabled!(target: "rma::call", tracing::Level::TRACE)
            || tracing::enabled!(target: "rma::epoch", tracing::Level::TRACE);
        let is_on = observer.is_some() || wants_spans;
        Self { is_on, observer, epochs: Mutex::default(), names: Mutex::default() }
    }

    /// Whether tracing is on. Never changes.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A call begins, which ends when the answer is dropped.
    #[inline]
    pub(crate) fn call(
        &self,
        call: &'static str,
        window: Option<WindowId>,
        target: Option<Rank>,
    ) -> CallSpan<'_> {
        self.call_if(true, call, window, target)
    }

    /// [`Observation::call`] of a call that may not be worth a span.
    #[inline]
    pub(crate) fn call_if(
        &self,
        is_wanted: bool,
        call: &'static str,
        window: Option<WindowId>,
        target: Option<Rank>,
    ) -> CallSpan<'_> {
        if self.is_on && is_wanted { self.begin_call(call, window, target) } else { CallSpan { _open: None } }
    }

    #[cold]
    fn begin_call(&self, call: &'static str, window: Option<WindowId>, target: Option<Rank>) -> CallSpan<'_> {
        self.report(&Event::CallBegin { call, window, target });
        let span = tracing::trace_span!(
            target: "rma::call",
            "call",
            call,
            window = window.map(tracing::field::display),
            target = target.map(tracing::field::display)
        );
        CallSpan { _open: Some(OpenSpan { observation: self, end: Event::CallEnd, _span: span.entered() }) }
    }

    /// A wait begins, which ends when the answer is dropped.
    #[cold]
    pub(crate) fn wait(&self, call: &'static str, waits_for: &str) -> CallSpan<'_> {
        self.report(&Event::WaitBegin { call, waits_for });
        let span = tracing::trace_span!(target: "rma::call", "wait", call, waits_for);
        CallSpan { _open: Some(OpenSpan { observation: self, end: Event::WaitEnd, _span: span.entered() }) }
    }

    /// A thread goes to sleep.
    pub(crate) fn sleep(&self) {
        if self.is_on {
            self.report(&Event::Sleep);
        }
    }

    /// An operation was carried out in mapped memory.
    #[cold]
    pub(crate) fn direct(&self, call: &'static str, window: WindowId, target: Rank, len: u64) {
        self.report(&Event::Direct { call, window, target, len });
        tracing::trace!(target: "rma::call", call, %window, %target, len, "direct");
    }

    /// A synchronization call has begun, gone on or ended: looks which epochs have.
    #[inline]
    pub(crate) fn look_at_epochs(&self, window: &WindowState, call: Call) {
        if self.is_on {
            self.report_epochs(window, call);
        }
    }

    #[cold]
    fn report_epochs(&self, window: &WindowState, call: Call) {
        self.epochs.lock().look(window, call, &mut |event| self.report_epoch(&event));
    }

    /// The window is gone, with whatever epoch was open.
    pub(crate) fn forget_window(&self, window: WindowId) {
        if self.is_on {
            self.epochs.lock().forget(window, &mut |event| self.report_epoch(&event));
        }
        self.names.lock().windows.remove(&window);
    }

    /// The process has made a window.
    pub(crate) fn on_window_made(&self, window: WindowId, flavor: Flavor) {
        let by = match flavor {
            Flavor::Create => "MPI_Win_create",
            Flavor::Allocate => "MPI_Win_allocate",
            Flavor::Shared => "MPI_Win_allocate_shared",
            Flavor::Dynamic => "MPI_Win_create_dynamic",
        };
        let mut names = self.names.lock();
        names.made += 1;
        let number = names.made;
        names.windows.insert(window, Made { number, by, name: None });
    }

    /// The user names a window.
    pub(crate) fn name_window(&self, window: WindowId, name: &str) {
        self.report(&Event::WindowName { window, name });
        if let Some(made) = self.names.lock().windows.get_mut(&window) {
            made.name = (!name.is_empty()).then(|| name.into());
        }
    }

    /// The window as messages name it: by the user's name for it, or by its number among those that this process has made
    /// and the call that made it.
    pub(crate) fn describe_window(&self, window: WindowId) -> String {
        match self.names.lock().windows.get(&window) {
            Some(Made { name: Some(name), .. }) => format!("window {name:?}"),
            Some(Made { number, by, .. }) => format!("window {number} made by {by}"),
            None => "a window that is gone".to_owned(),
        }
    }

    fn report(&self, event: &Event<'_>) {
        if let Some(observer) = &self.observer {
            observer.observe(event);
        }
    }

    fn report_epoch(&self, event: &Event<'static>) {
        self.report(event);
        tracing::trace!(target: "rma::epoch", ?event);
    }
}

impl Drop for OpenSpan<'_> {
    fn drop(&mut self) {
        self.observation.report(&self.end);
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("is_on", &self.is_on).finish_non_exhaustive()
    }
}
