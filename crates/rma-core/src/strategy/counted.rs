//! Waits by the number of looks.
//!
//! ```text
//!    Look ── looks ──▶ Spin ── spins ──▶ Yield ── yields ──▶ Sleep, from then on
//! ```

use super::{Next, rest};

/// How often a wait still looks in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    looks: u32,
    spins: u32,
    yields: u32,
}

impl Counted {
    /// Looks so often in a row, so often with the processor at rest in between, and behind so many yields.
    pub(crate) const fn new(looks: u32, spins: u32, yields: u32) -> Self {
        Self { looks, spins, yields }
    }

    /// What is waited for is not there: what comes next.
    #[inline]
    pub(crate) fn observe(&mut self) -> Next {
        let (left, next) = if self.looks > 0 {
            (&mut self.looks, Next::Look)
        } else if self.spins > 0 {
            (&mut self.spins, Next::Spin)
        } else if self.yields > 0 {
            (&mut self.yields, Next::Yield)
        } else {
            return Next::Sleep;
        };
        *left -= 1;
        next
    }

    /// Looks until `look` has a value; `None` when it is time to sleep.
    #[inline]
    pub(crate) fn look_for<T>(mut self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            match self.observe() {
                Next::Sleep => return None,
                next => rest(next),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_looks_spins_and_yields_as_often_as_it_may_and_sleeps_then() {
        let mut counted = Counted::new(2, 1, 2);
        let found = std::iter::from_fn(|| Some(counted.observe())).take(7).collect::<Vec<_>>();
        assert_eq!(
            found,
            [Next::Look, Next::Look, Next::Spin, Next::Yield, Next::Yield, Next::Sleep, Next::Sleep]
        );
        assert_eq!(Counted::default().observe(), Next::Sleep);
    }

    #[test]
    fn it_looks_once_more_than_it_waits() {
        let looks = |found_at: u32| {
            let mut looks = 0;
            let found = Counted::new(1, 2, 1).look_for(|| {
                looks += 1;
                (looks == found_at).then_some(())
            });
            (looks, found.is_some())
        };
        assert_eq!([looks(1), looks(3), looks(5), looks(6)], [(1, true), (3, true), (5, true), (5, false)]);
    }
}
