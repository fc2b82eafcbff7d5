//! JSON to write: the few kinds of values that a timeline has.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

/// A value. Prints itself as JSON.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Text(Cow<'static, str>),
    Number(u64),
    Real(f64),
    Bool(bool),
    Object(Object),
}

/// An object, whose members are in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Object(Vec<(Cow<'static, str>, Json)>);

impl Object {
    /// With another member, of a name that none has.
    pub(super) fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Json>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }
}

/// An object of these members.
pub(super) fn object<const N: usize>(members: [(&'static str, Json); N]) -> Object {
    Object(members.map(|(name, value)| (name.into(), value)).into())
}

impl Display for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => quoted(text, f),
            Self::Number(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Object(object) => object.fmt(f),
        }
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_char(',')?;
            }
            quoted(name, f)?;
            write!(f, ":{value}")?;
        }
        f.write_char('}')
    }
}

fn quoted(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            '\0'..' ' => write!(f, "\\u{:04x}", u32::from(letter))?,
            _ => f.write_char(letter)?,
        }
    }
    f.write_char('"')
}

impl From<&'static str> for Json {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Json {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_others_read() {
        let text: String = (0..0x300).filter_map(char::from_u32).collect();
        let args = object([("real", (-0.125).into()), ("whole", 3.0.into()), ("is", true.into())]);
        let json = object([("text", text.clone().into()), ("number", u64::MAX.into())]);
        let json = json.with("args \"", args).with("none".to_owned(), Object::default());
        let expected = serde_json::json!({
            "text": text,
            "number": u64::MAX,
            "args \"": { "real": -0.125, "whole": 3, "is": true },
            "none": {},
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json.to_string()).unwrap(), expected);
    }
}
