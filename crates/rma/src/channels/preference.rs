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
        let is_new = |(at, name): (usize, &String)| is_legal(name) && !read.0[..at].contains(name);
        match read.0.iter().enumerate().all(is_new) {
            true => Ok(read),
            false => Err(format!("{} is needed", Self::show_range(&()))),
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
        for wrong in ["", "smoke", "tcp,", "tcp,smoke", "tcp,tcp", "auto;tcp"] {
            let error = Preference::parse(wrong, &()).unwrap_err();
            assert!(error.contains("auto, shm, tcp") && error.contains("commas"), "{wrong}: {error}");
        }
    }
}
