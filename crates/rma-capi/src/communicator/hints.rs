//! Hints on communicators (MPI 5.0 §7.4.4).
//!
//! The library needs none of them. It keeps those that the standard names, so that a program can see what it has promised,
//! and relies on none.

use parking_lot::Mutex;

const NAMES: [&str; 4] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
];

/// What a program has promised: true or not, in the order of [`NAMES`].
#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<[Option<bool>; NAMES.len()]>);

impl Hints {
    /// Takes over what `text` says of each hint.
    pub(crate) fn update(&self, text: impl Fn(&str) -> Option<String>) {
        let mut hints = self.0.lock();
        for (hint, name) in hints.iter_mut().zip(NAMES) {
            // Other values are no hints, and ignored as the standard has it.
            match text(name).as_deref() {
                Some("true") => *hint = Some(true),
                Some("false") => *hint = Some(false),
                _ => {}
            }
        }
    }

    /// What is promised or taken back, with the names.
    pub(crate) fn known(&self) -> Vec<(&'static str, String)> {
        let hints = *self.0.lock();
        let known = hints.iter().zip(NAMES).filter_map(|(hint, name)| Some((name, (*hint)?.to_string())));
        known.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hints_are_kept_and_others_ignored() {
        let saying = |value: &'static str| {
            move |name: &str| (name == "mpi_assert_no_any_tag").then(|| value.to_owned())
        };
        let hints = Hints::default();
        hints.update(saying("yes"));
        assert_eq!(hints.known(), []);
        hints.update(saying("true"));
        hints.update(saying("false"));
        assert_eq!(hints.known(), [("mpi_assert_no_any_tag", "false".to_owned())]);
    }
}
