//! Words of a command line: a verb, then names with a value each.

/// The words behind a program's name.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(pub &'a [String]);

impl<'a> Options<'a> {
    /// The first word, which is no option.
    pub fn verb(self) -> &'a str {
        self.0.first().map_or("", String::as_str)
    }

    /// What stands behind a name.
    pub fn word(self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    /// The number behind a name, or a default where the name is not there.
    ///
    /// # Errors
    /// When it is no number.
    pub fn number(self, name: &str, default: u64) -> Result<u64, String> {
        let Some(word) = self.word(name) else { return Ok(default) };
        word.parse().map_err(|_| format!("{name} takes a number, not {word:?}"))
    }
}
