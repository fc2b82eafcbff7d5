//! What `RMA_CHANNEL` says: names of channels in order of preference.

use super::registry::{AUTO, is_legal, names};
use rma_core::config::Value;

/// Channels in order of preference; each pair of processes uses the first that reaches it.
///
/// One name alone forces that channel on every pair that it can reach at all, and packets with it: no window is direct then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference(Vec<String>);

impl Preference {
    /// The names, in order; `auto` stands for all, the cheapest first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The channel that is forced on all pairs.
    pub fn forced(&self) -> Option<&str> {
        match &self.0[..] {
            [only] if only != AUTO => Some(only),
            _ => None,
        }
    }
}

impl From<&str> for Preference {
    /// The names of a text, known or not.
    fn from(text: &str) -> Self {
        Self(text.split(',').map(|name| name.trim().to_owned()).collect())
    }
}

impl Value for Preference {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        let read = Self::from(text);
        if let Some(unknown) = read.0.iter().find(|name| !is_legal(name)) {
            let what = if unknown.is_empty() {
                "a name is missing".to_owned()
            } else {
                format!("{unknown} is none")
            };
            return Err(format!("{what}; {} is needed", Self::show_range(&())));
        }
        match (1..read.0.len()).find(|at| read.0[..*at].contains(&read.0[*at])) {
            Some(again) => Err(format!("{} stands there twice", read.0[again])),
            None => Ok(read),
        }
    }

    fn show(&self) -> String {
        self.0.join(",")
    }

    fn show_range((): &()) -> String {
        let names = names().join(", ");
        format!("one of {AUTO}, {names}, or several of them with commas between")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_of_known_names_once_each() {
        for (text, forced) in [
            ("auto", None),
            ("tcp", Some("tcp")),
            (" shm , tcp ", None),
            ("x_own,tcp", None),
            ("tcp,auto", None),
            ("shm", Some("shm")),
        ] {
            let read = Preference::parse(text, &()).unwrap();
            assert_eq!(read.forced(), forced, "{text}");
            assert_eq!(Preference::parse(&read.show(), &()), Ok(read));
        }
        for (wrong, why) in [
            ("", "a name is missing"),
            ("smoke", "smoke is none"),
            ("tcp,", "a name is missing"),
            ("tcp,smoke", "smoke is none"),
            ("auto;tcp", "auto;tcp is none"),
        ] {
            let error = Preference::parse(wrong, &()).unwrap_err();
            assert!(error.starts_with(why), "{wrong}: {error}");
            assert!(error.contains("auto, shm, tcp") && error.contains("commas"), "{wrong}: {error}");
        }
        assert_eq!(Preference::parse("shm,tcp, shm", &()).unwrap_err(), "shm stands there twice");
    }
}
