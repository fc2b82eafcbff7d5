//! A line of text as fields: what ranks' files are made of. The format is this library's own, read by the version that has
//! written it.
//!
//! Invariants: fields are separated by tabs, and a text has none, nor an end of line: both are escaped. The last field is a full
//! stop, so a line that was cut off, because its process was killed, is none.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write;
use std::str::{FromStr, Split};

/// The end of a line.
const END: &str = ".";
/// In the place of a number that is none.
const NONE: &str = "-";

/// Writes a line.
#[derive(Debug)]
pub(super) struct LineWriter<'v>(&'v mut Vec<u8>);

/// Reads a line.
#[derive(Debug)]
pub(super) struct LineFields<'a>(Split<'a, char>);

impl<'v> LineWriter<'v> {
    /// Writes behind what is there.
    pub(super) fn new(out: &'v mut Vec<u8>) -> Self {
        Self(out)
    }

    pub(super) fn number(&mut self, value: impl Display) -> &mut Self {
        // A vector takes every byte.
        let _ = write!(self.0, "{value}\t");
        self
    }

    pub(super) fn option(&mut self, value: Option<u32>) -> &mut Self {
        match value {
            Some(value) => self.number(value),
            None => self.number(NONE),
        }
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for byte in text.bytes() {
            match byte {
                b'\t' => self.0.extend_from_slice(b"\\t"),
                b'\n' => self.0.extend_from_slice(b"\\n"),
                b'\r' => self.0.extend_from_slice(b"\\r"),
                b'\\' => self.0.extend_from_slice(b"\\\\"),
                _ => self.0.push(byte),
            }
        }
        self.0.push(b'\t');
        self
    }

    pub(super) fn end(&mut self) {
        self.0.extend_from_slice(END.as_bytes());
        self.0.push(b'\n');
    }
}

impl<'a> LineFields<'a> {
    /// The fields of a line without its end of line; `None` when it is not whole.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        Some(Self(line.strip_suffix(END)?.strip_suffix('\t')?.split('\t')))
    }

    pub(super) fn number<N: FromStr>(&mut self) -> Option<N> {
        self.0.next()?.parse().ok()
    }

    pub(super) fn option(&mut self) -> Option<Option<u32>> {
        match self.0.next()? {
            NONE => Some(None),
            number => number.parse().ok().map(Some),
        }
    }

    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        let field = self.0.next()?;
        if !field.contains('\\') {
            return Some(field.into());
        }
        let (mut text, mut rest) = (String::new(), field.chars());
        while let Some(letter) = rest.next() {
            text.push(match letter {
                '\\' => match rest.next()? {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                },
                letter => letter,
            });
        }
        Some(text.into())
    }

    /// Whether nothing is left.
    pub(super) fn is_over(&self) -> bool {
        self.0.clone().next().is_none()
    }
}
