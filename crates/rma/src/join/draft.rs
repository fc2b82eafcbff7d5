//! What a rank has put and no fence has handed on yet, as one text: a line for each value.

use rma_core::{Error, ErrorClass, Result};

/// Values that wait for a fence.
#[derive(Debug, Default)]
pub(super) struct Draft(String);

impl Draft {
    /// Adds a value.
    ///
    /// # Errors
    /// When it is no word.
    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<()> {
        if [key, value]
            .iter()
            .any(|word| word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let cause = format!("{key:?} and {value:?} have to be printable, without spaces");
            return Err(Error::new(ErrorClass::Other, "init", cause));
        }
        self.0 += &format!("{key} {value}\n");
        Ok(())
    }

    /// The text, for the fence that begins.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

/// Keys and values of a text that some rank has drafted.
pub(super) fn values(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_and_nothing_else_is_taken() {
        let mut draft = Draft::default();
        draft.put("a", "1=2").unwrap();
        draft.put("b", "[::1]:80").unwrap();
        for (key, value) in [("a key", "1"), ("key", "1\n2"), ("", "1"), ("key", ""), ("key", "\u{e9}")] {
            assert!(draft.put(key, value).is_err(), "{key:?} {value:?}");
        }
        let text = draft.take();
        assert_eq!(values(&text).collect::<Vec<_>>(), [("a", "1=2"), ("b", "[::1]:80")]);
        assert_eq!(draft.take(), "");
        assert_eq!(values("\n nonsense\nx").collect::<Vec<_>>(), [("", "nonsense")]);
    }
}
