//! Hints: what a program says of its use of a window, and what it gets back (MPI 4.1 §12.2.1, §12.2.7).
//!
//! One table has for each key how its value is read, what holds without it, and which windows report it. A
//! hint is never needed for correctness and may change while the window is used; unknown keys and values that
//! cannot be read are ignored, as the standard has it. Four are used: `alloc_shared_noncontig` and
//! `mpi_minimum_memory_alignment` say how memory is laid out, the two of notification for how many counters there is room and what
//! a notice covers. The engine does not depend on the others: a
//! window with `no_locks` can be locked, accumulates keep their order and may mix operations at no cost, and
//! equal sizes and units are found out.

use super::Flavor;
use crate::host::SegmentRequest;
use crate::notification::{MOST_COUNTERS, USUAL_COUNTERS};
use std::collections::BTreeMap;

/// Hints by key: those given and, for the others, the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// By the table's keys: most windows are given none.
    given: BTreeMap<&'static str, Box<str>>,
}

struct Hint {
    key: &'static str,
    /// The value in its plain form, if it can be read.
    read: fn(&str) -> Option<String>,
    /// What holds when nothing is given; `None`: the key is not reported then.
    default: Option<&'static str>,
    /// The windows that it concerns.
    concerns: fn(Flavor) -> bool,
    /// Whether it cannot change once the window is made.
    is_fixed: bool,
}

static TABLE: [Hint; 11] = [
    Hint { key: "no_locks", read: boolean, default: Some("false"), concerns: all, is_fixed: false },
    Hint {
        key: "accumulate_ordering",
        read: ordering,
        default: Some("rar,raw,war,waw"),
        concerns: all,
        is_fixed: false,
    },
    Hint {
        key: "accumulate_ops",
        read: operations,
        default: Some("same_op_no_op"),
        concerns: all,
        is_fixed: false,
    },
    Hint {
        key: "mpi_accumulate_granularity",
        read: number,
        default: Some("0"),
        concerns: all,
        is_fixed: false,
    },
    Hint { key: "same_size", read: boolean, default: Some("false"), concerns: all, is_fixed: false },
    Hint { key: "same_disp_unit", read: boolean, default: Some("false"), concerns: all, is_fixed: false },
    Hint {
        key: "alloc_shared_noncontig",
        read: boolean,
        default: Some("false"),
        concerns: |flavor| matches!(flavor, Flavor::Allocate | Flavor::Shared),
        is_fixed: true,
    },
    Hint {
        key: "mpi_minimum_memory_alignment",
        read: alignment,
        default: Some("4096"),
        concerns: |flavor| matches!(flavor, Flavor::Allocate | Flavor::Shared),
        is_fixed: true,
    },
    Hint {
        key: "mpi_assert_max_num_notify",
        read: number,
        default: Some("0"),
        concerns: all,
        is_fixed: true,
    },
    Hint {
        key: "mpix_notify_ordered",
        read: boolean,
        default: Some("false"),
        concerns: all,
        is_fixed: false,
    },
    Hint { key: "mpi_assert_memory_alloc_kinds", read: kinds, default: None, concerns: all, is_fixed: false },
];

impl Hints {
    /// Every key that windows know.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|hint| hint.key)
    }

    /// Takes a value for a key; answers whether both were understood.
    pub fn set(&mut self, key: &str, value: &str) -> bool {
        let read = of(key).and_then(|hint| Some((hint.key, (hint.read)(value.trim())?)));
        read.map(|(key, value)| self.given.insert(key, value.into())).is_some()
    }

    /// Takes over all that is given in `other`.
    pub fn extend(&mut self, other: Self) {
        self.given.extend(other.given);
    }

    /// Takes over what is given in `other` and may change after creation.
    pub(crate) fn update(&mut self, other: &Self) {
        let may_change = |key| of(key).is_some_and(|hint| !hint.is_fixed);
        let given = other.given.iter().filter(|(key, _)| may_change(key));
        self.given.extend(given.map(|(key, value)| (*key, value.clone())));
    }

    /// The value in force for a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.given.get(key).map(|value| &**value).or_else(|| of(key)?.default)
    }

    /// What is in force for a window: keys with values, those that do not concern it left out.
    pub fn report(&self, flavor: Flavor) -> Vec<(&'static str, String)> {
        let hints = TABLE.iter().filter(|hint| (hint.concerns)(flavor));
        hints.filter_map(|hint| Some((hint.key, self.get(hint.key)?.to_owned()))).collect()
    }

    /// Whether the program never locks the window.
    pub fn no_locks(&self) -> bool {
        self.get("no_locks") == Some("true")
    }

    /// How many counters of notification a rank has room for: as many as the program says, if it says so.
    pub(crate) fn counters(&self) -> u32 {
        let asked = self.get("mpi_assert_max_num_notify").and_then(|value| value.parse().ok());
        match asked.unwrap_or(0u64) {
            0 => USUAL_COUNTERS,
            asked => asked.min(MOST_COUNTERS.into()) as u32,
        }
    }

    /// Whether a notice says of all earlier operations of its origin on the target that their data are where they belong.
    pub(crate) fn are_notices_ordered(&self) -> bool {
        self.get("mpix_notify_ordered") == Some("true")
    }

    /// What the window's memory is aligned to: pages at least.
    pub(crate) fn alignment(&self) -> u64 {
        let asked: Option<u64> =
            self.get("mpi_minimum_memory_alignment").and_then(|value| value.parse().ok());
        asked.unwrap_or_default().max(SegmentRequest::PAGE)
    }

    /// Whether the parts of a shared window may lie apart.
    pub fn is_noncontiguous(&self) -> bool {
        self.get("alloc_shared_noncontig") == Some("true")
    }
}

fn of(key: &str) -> Option<&'static Hint> {
    TABLE.iter().find(|hint| hint.key == key)
}

fn all(_: Flavor) -> bool {
    true
}

fn boolean(value: &str) -> Option<String> {
    matches!(value, "true" | "false").then(|| value.to_owned())
}

fn number(value: &str) -> Option<String> {
    value.parse::<u64>().ok().map(|number| number.to_string())
}

/// What is beyond a huge page is not to be had: the huge page is reported then.
fn alignment(value: &str) -> Option<String> {
    let asked = value.parse::<u64>().ok().filter(|asked| asked.is_power_of_two())?;
    Some(asked.min(SegmentRequest::HUGE_PAGE).to_string())
}

fn ordering(value: &str) -> Option<String> {
    if value == "none" {
        return Some(value.to_owned());
    }
    let mut pairs: Vec<_> = value.split(',').map(str::trim).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.iter().all(|pair| matches!(*pair, "rar" | "raw" | "war" | "waw")).then(|| pairs.join(","))
}

fn operations(value: &str) -> Option<String> {
    matches!(value, "same_op" | "same_op_no_op").then(|| value.to_owned())
}

/// Kinds of memory with their restrictors (MPI 4.1 §11.4.3), as far as this library has them.
fn kinds(value: &str) -> Option<String> {
    let known = |kind: &str| match kind.trim().split_once(':') {
        None => matches!(kind.trim(), "system" | "mpi"),
        Some((name, restrictor)) => {
            name == "mpi" && matches!(restrictor, "alloc_mem" | "win_allocate" | "win_allocate_shared")
        }
    };
    value.split(',').all(known).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_standard() {
        let report = Hints::default().report(Flavor::Shared);
        let expected = [
            ("no_locks", "false"),
            ("accumulate_ordering", "rar,raw,war,waw"),
            ("accumulate_ops", "same_op_no_op"),
            ("mpi_accumulate_granularity", "0"),
            ("same_size", "false"),
            ("same_disp_unit", "false"),
            ("alloc_shared_noncontig", "false"),
            ("mpi_minimum_memory_alignment", "4096"),
            ("mpi_assert_max_num_notify", "0"),
            ("mpix_notify_ordered", "false"),
        ];
        assert_eq!(report, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(Hints::default().report(Flavor::Dynamic).len(), 8);
    }

    #[test]
    fn what_is_given_is_reported_in_plain_form_and_the_rest_is_ignored() {
        let mut hints = Hints::default();
        for (key, value, reported) in [
            ("no_locks", " true ", "true"),
            ("accumulate_ordering", "waw, rar", "rar,waw"),
            ("accumulate_ordering", "none", "none"),
            ("accumulate_ops", "same_op", "same_op"),
            ("mpi_accumulate_granularity", "0064", "64"),
            ("mpi_minimum_memory_alignment", "256", "256"),
            ("mpi_minimum_memory_alignment", "2097152", "2097152"),
            ("mpi_minimum_memory_alignment", "1073741824", "2097152"),
            ("mpi_assert_memory_alloc_kinds", "system,mpi:alloc_mem", "system,mpi:alloc_mem"),
        ] {
            assert!(hints.set(key, value), "{key}={value}");
            assert_eq!(hints.get(key), Some(reported), "{key}={value}");
        }
        let before = hints.clone();
        for (key, value) in [
            ("no_locks", "yes"),
            ("accumulate_ordering", "rar,xyz"),
            ("accumulate_ops", "any"),
            ("mpi_accumulate_granularity", "-1"),
            ("mpi_minimum_memory_alignment", "48"),
            ("mpi_assert_memory_alloc_kinds", "cuda"),
            ("no_such_key", "true"),
        ] {
            assert!(!hints.set(key, value), "{key}={value}");
        }
        assert_eq!(hints, before);
    }

    #[test]
    fn memory_is_aligned_to_pages_at_least() {
        let mut hints = Hints::default();
        assert_eq!(hints.alignment(), 4096);
        for (asked, alignment) in [("64", 4096), ("16384", 16_384), ("1073741824", 2 << 20)] {
            assert!(hints.set("mpi_minimum_memory_alignment", asked));
            assert_eq!(hints.alignment(), alignment);
        }
    }

    #[test]
    fn layout_is_fixed_at_creation() {
        let (mut hints, mut later) = (Hints::default(), Hints::default());
        assert!(later.set("alloc_shared_noncontig", "true") && later.set("no_locks", "true"));
        hints.update(&later);
        assert!(hints.no_locks() && !hints.is_noncontiguous());
    }
}
