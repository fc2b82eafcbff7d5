//! Sessions, the handles of performance variables in them, and what these have counted (MPI 5.0 §15.3.7).

use super::answer::{Answer, Fault};
use super::performance::PerformanceVariable;
use super::state::Tool;
use crate::abi::*;
use std::collections::BTreeMap;
use std::ffi::c_int;

/// The handles of one user of the interface.
#[derive(Default)]
pub(crate) struct PerformanceSession(BTreeMap<usize, PerformanceHandle>);

/// One performance variable, of one object, for one user.
pub(crate) struct PerformanceHandle {
    variable: &'static PerformanceVariable,
    /// The window that it is bound to, if the variable is of windows.
    window: MPI_Win,
    meter: Meter,
}

/// What a variable that can be stopped has counted for a handle.
///
/// Invariant: the value is `total`, and while it runs, what came on top since the sample `since`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    total: u64,
    since: Option<u64>,
}

impl Meter {
    pub(crate) fn value(self, sample: u64) -> u64 {
        self.total.wrapping_add(self.since.map_or(0, |since| sample.wrapping_sub(since)))
    }

    pub(crate) fn start(&mut self, sample: u64) {
        self.since.get_or_insert(sample);
    }

    pub(crate) fn stop(&mut self, sample: u64) {
        *self = Self { total: self.value(sample), since: None };
    }

    pub(crate) fn set(&mut self, value: u64, sample: u64) {
        *self = Self { total: value, since: self.since.map(|_| sample) };
    }
}

impl PerformanceHandle {
    pub(crate) fn value(&self) -> Answer<u64> {
        let sample = self.variable.sample(self.window)?;
        Ok(if self.variable.is_continuous() { sample } else { self.meter.value(sample) })
    }

    /// Changes the meter of a variable that is not always running; `otherwise` is the code for those that are.
    pub(crate) fn change(&mut self, otherwise: c_int, change: impl FnOnce(&mut Meter, u64)) -> Answer {
        if self.variable.is_continuous() {
            return Err(Fault(otherwise));
        }
        change(&mut self.meter, self.variable.sample(self.window)?);
        Ok(())
    }
}

/// The session of a handle.
pub(crate) fn session(tool: &mut Tool, session: MPI_T_pvar_session) -> Answer<&mut PerformanceSession> {
    tool.sessions.get(session.0).ok_or(Fault(MPI_T_ERR_INVALID_SESSION))
}

impl PerformanceSession {
    /// Gives a variable the handle of this number.
    pub(crate) fn bind(&mut self, number: usize, variable: &'static PerformanceVariable, window: MPI_Win) {
        self.0.insert(number, PerformanceHandle { variable, window, meter: Meter::default() });
    }

    pub(crate) fn free(&mut self, handle: MPI_T_pvar_handle) -> Answer {
        self.0.remove(&handle.0).map(drop).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))
    }

    pub(crate) fn find(&mut self, handle: MPI_T_pvar_handle) -> Answer<&mut PerformanceHandle> {
        self.0.get_mut(&handle.0).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))
    }

    /// Changes one meter, or with `MPI_T_PVAR_ALL_HANDLES` all that can be changed; the first failure is
    /// returned when all were tried.
    pub(crate) fn change(
        &mut self,
        handle: MPI_T_pvar_handle,
        otherwise: c_int,
        change: impl Fn(&mut Meter, u64),
    ) -> Answer {
        if handle.0 != MPI_T_PVAR_ALL_HANDLES {
            return self.find(handle)?.change(otherwise, change);
        }
        let all = self.0.values_mut().filter(|handle| !handle.variable.is_continuous());
        let results: Vec<Answer> = all.map(|handle| handle.change(otherwise, &change)).collect();
        results.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn a_meter_counts_while_it_runs() {
        let mut meter = Meter::default();
        assert_eq!(meter.value(10), 0);
        meter.start(10);
        meter.start(15);
        assert_eq!(meter.value(17), 7, "a second start changes nothing");
        meter.stop(20);
        assert_eq!(meter.value(99), 10);
        meter.start(30);
        assert_eq!(meter.value(33), 13);
        meter.set(0, 34);
        assert_eq!(meter.value(36), 2, "it goes on running");
        meter.stop(36);
        meter.set(5, 40);
        assert_eq!(meter.value(50), 5);
    }
}
