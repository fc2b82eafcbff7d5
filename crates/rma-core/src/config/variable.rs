//! One variable: name, default, unit, range, text and the reason for the default; and the macro that makes tables.

use crate::error::{Error, ErrorClass, Result};
use std::fmt;
use std::ops::RangeInclusive;

/// One row of a configuration table.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Name in the environment.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// What the variable does.
    pub text: &'static str,
    /// Why the default is what it is.
    pub reason: &'static str,
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Unit {
    Count,
    Bytes,
    Microseconds,
    Seconds,
    Switch,
    Choice,
}

impl Unit {
    /// A time without the unit that lists show behind it.
    fn strip(self, text: &str) -> &str {
        let text = text.trim();
        let bare = match self {
            Self::Microseconds => text.strip_suffix("\u{b5}s").or_else(|| text.strip_suffix("us")),
            Self::Seconds => text.strip_suffix('s'),
            Self::Count | Self::Bytes | Self::Switch | Self::Choice => None,
        };
        bare.unwrap_or(text)
    }

    /// What a number counts, for an error about another unit.
    fn of_what(self) -> &'static str {
        match self {
            Self::Microseconds => ", of microseconds",
            Self::Seconds => ", of seconds",
            Self::Bytes => ", of bytes",
            Self::Count | Self::Switch | Self::Choice => "",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Microseconds => "µs",
            Self::Seconds => "s",
            Self::Switch => "0 or 1",
            Self::Choice => "word",
        })
    }
}

/// A variable with the value in force, as text, for listings.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The row of the table.
    pub variable: Variable,
    /// The default.
    pub default: String,
    /// The legal values.
    pub range: String,
    /// The legal words, of a variable that has no other values.
    pub words: &'static [&'static str],
    /// The value in force.
    pub value: String,
}

/// A type that a variable can have.
pub trait Value: Sized + Clone {
    /// What limits the legal values.
    type Range;

    /// Reads a value; the error says what is legal.
    ///
    /// # Errors
    /// A lower-case clause that fits behind "but".
    fn parse(text: &str, range: &Self::Range) -> Result<Self, String>;

    /// The value as [`Value::parse`] reads it.
    fn show(&self) -> String;

    /// The legal values, for listings.
    fn show_range(range: &Self::Range) -> String;

    /// The legal values of a type that has only some words.
    fn words(_: &Self::Range) -> &'static [&'static str] {
        &[]
    }
}

impl Value for u64 {
    type Range = RangeInclusive<u64>;

    /// Accepts decimal digits with an optional suffix `K`, `M` or `G` (powers of 1,024).
    fn parse(text: &str, range: &Self::Range) -> Result<Self, String> {
        let legal =
            || format!("a number {} is needed (K, M, G mean powers of 1024)", Self::show_range(range));
        let (digits, shift) = match text.trim().to_ascii_uppercase() {
            t if t.ends_with('K') => (t[..t.len() - 1].to_owned(), 10),
            t if t.ends_with('M') => (t[..t.len() - 1].to_owned(), 20),
            t if t.ends_with('G') => (t[..t.len() - 1].to_owned(), 30),
            t => (t, 0),
        };
        let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).ok_or_else(legal)?;
        if range.contains(&number) { Ok(number) } else { Err(legal()) }
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn show_range(range: &Self::Range) -> String {
        match *range.end() {
            u64::MAX => format!("from {}", range.start()),
            end => format!("from {} to {end}", range.start()),
        }
    }
}

impl Value for bool {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        match text.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("0 or 1 is needed".to_owned()),
        }
    }

    fn show(&self) -> String {
        u8::from(*self).to_string()
    }

    fn show_range((): &()) -> String {
        "0 or 1".to_owned()
    }
}

impl Value for String {
    type Range = &'static [&'static str];

    /// Accepts one of the words.
    fn parse(text: &str, words: &Self::Range) -> Result<Self, String> {
        match words.iter().find(|word| **word == text.trim()) {
            Some(word) => Ok((*word).to_owned()),
            None => Err(format!("one of {} is needed", words.join(", "))),
        }
    }

    fn show(&self) -> String {
        self.clone()
    }

    fn show_range(words: &Self::Range) -> String {
        words.join(", ")
    }

    fn words(words: &Self::Range) -> &'static [&'static str] {
        words
    }
}

/// Reads one variable through `look_up`. Used by the macro.
#[doc(hidden)]
pub fn read<V: Value>(
    variable: &Variable,
    default: V,
    range: &V::Range,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<V> {
    let Some(text) = look_up(variable.name) else { return Ok(default) };
    V::parse(variable.unit.strip(&text), range).map_err(|legal| {
        let (name, of_what) = (variable.name, variable.unit.of_what());
        Error::new(ErrorClass::Arg, "init", format!("{name} is set to {text:?}, but {legal}{of_what}"))
    })
}

/// Makes a configuration struct and its table from one definition.
///
/// ```
/// rma_core::variables! {
///     /// How the kettle works.
///     pub struct KettleConfig {
///         /// Water per boil.
///         water_bytes: u64 = 1024u64, "KETTLE_WATER", Bytes, 1..=4096,
///             "water taken per boil", "one pot";
///     }
/// }
/// let config = KettleConfig::read(&|name| (name == "KETTLE_WATER").then(|| "2K".to_owned())).unwrap();
/// assert_eq!(config.water_bytes, 2048);
/// let error = KettleConfig::read(&|_| Some("5000".to_owned())).unwrap_err();
/// assert!(error.to_string().contains("from 1 to 4096"));
/// ```
#[macro_export]
macro_rules! variables {
    (
        $(#[$struct_doc:meta])*
        pub struct $config:ident {
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty = $default:expr, $name:literal, $unit:ident, $range:expr,
                    $text:literal, $reason:literal;
            )*
        }
    ) => {
        $(#[$struct_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $config {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for $config {
            fn default() -> Self {
                Self { $($field: $default.into(),)* }
            }
        }

        impl $config {
            /// Reads every variable through `look_up`, which answers the text of a variable that is set.
            ///
            /// # Errors
            /// `MPI_ERR_ARG` for the first value that is not legal, with its name, value and range.
            pub fn read(look_up: &dyn Fn(&str) -> Option<String>) -> $crate::error::Result<Self> {
                let default = Self::default();
                Ok(Self {
                    $($field: $crate::config::read::<$type>(
                        &$crate::config::Variable {
                            name: $name,
                            unit: $crate::config::Unit::$unit,
                            text: $text,
                            reason: $reason,
                        },
                        default.$field,
                        &$range,
                        look_up,
                    )?,)*
                })
            }

            /// Every variable with its default, range and the value in force.
            pub fn settings(&self) -> Vec<$crate::config::Setting> {
                let default = Self::default();
                vec![$($crate::config::Setting {
                    variable: $crate::config::Variable {
                        name: $name,
                        unit: $crate::config::Unit::$unit,
                        text: $text,
                        reason: $reason,
                    },
                    default: $crate::config::Value::show(&default.$field),
                    range: <$type as $crate::config::Value>::show_range(&$range),
                    words: <$type as $crate::config::Value>::words(&$range),
                    value: $crate::config::Value::show(&self.$field),
                },)*]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_suffixes_and_refuse_what_is_out_of_range() {
        assert_eq!(u64::parse(" 16K ", &(1..=1 << 20)), Ok(16384));
        for bad in ["", "x", "-1", "0", "2M", "99999999999999999999", "9999999999G"] {
            let error = u64::parse(bad, &(1..=1 << 20)).unwrap_err();
            assert!(error.contains("from 1 to 1048576"), "{bad}: {error}");
        }
    }

    #[test]
    fn times_may_have_the_unit_of_the_lists_and_no_other() {
        let variable = |unit| Variable { name: "RMA_TIME", unit, text: "", reason: "" };
        let set = |unit, text: &str| {
            read::<u64>(&variable(unit), 7, &(0..=100), &|_| Some(text.to_owned())).map_err(|e| e.to_string())
        };
        for text in ["5", "5s", " 5 s "] {
            assert_eq!(set(Unit::Seconds, text), Ok(5), "{text:?}");
        }
        assert_eq!(set(Unit::Microseconds, "5us"), Ok(5));
        assert_eq!(set(Unit::Microseconds, "5 \u{b5}s"), Ok(5));
        for (unit, text, words) in [
            (Unit::Seconds, "5ms", "of seconds"),
            (Unit::Microseconds, "5s", "of microseconds"),
            (Unit::Bytes, "5s", "of bytes"),
        ] {
            let error = set(unit, text).unwrap_err();
            assert!(error.contains(words) && error.contains("RMA_TIME") && error.contains(text), "{error}");
        }
        assert!(set(Unit::Count, "5s").is_err());
    }

    #[test]
    fn words_and_switches_name_what_is_legal() {
        let words: &'static [&'static str] = &["auto", "one"];
        assert_eq!(String::parse("one", &words), Ok("one".to_owned()));
        assert_eq!(String::parse("two", &words).unwrap_err(), "one of auto, one is needed");
        assert_eq!(bool::parse("1", &()), Ok(true));
        assert!(bool::parse("yes", &()).is_err());
    }
}
