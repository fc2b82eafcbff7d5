//! Lines of the PMI-1 wire protocol: `cmd=name key=value …`, ended by a newline.
//!
//! One [`Line`] holds only what the protocol can carry, so what is sent needs no further check; [`LineReader`] cuts a
//! byte stream into lines of bounded length. Both are total: any bytes give a line or a [`LineError`]. Neither knows what
//! a command means.

use std::fmt;

/// One request or answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    fields: Vec<(String, String)>,
}

/// Why bytes are not a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError(String);

/// Cuts a byte stream into lines.
#[derive(Debug)]
pub struct LineReader {
    held: Vec<u8>,
    scanned: usize,
    limit: usize,
}

impl Line {
    /// A line that holds only its command.
    pub fn new(command: &str) -> Self {
        Self { fields: vec![("cmd".to_owned(), legal(command))] }
    }

    /// The line with one more field. Characters that a line cannot carry become underscores.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.fields.push((legal(key).replace('=', "_"), legal(&value.to_string())));
        self
    }

    /// Reads the bytes of one line, without its newline.
    ///
    /// # Errors
    /// When a field has no `=` or no key, a key comes twice, `cmd` is missing, or a byte is not printable ASCII.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        let refuse = |why: String| Err(LineError(format!("{why} in {}", shown(bytes))));
        if let Some(byte) = bytes.iter().find(|b| !(b' '..=b'~').contains(*b)) {
            return refuse(format!("byte {byte:#04x}"));
        }
        let mut fields: Vec<(String, String)> = Vec::new();
        let text = String::from_utf8_lossy(bytes);
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let Some((key, value)) = word.split_once('=') else {
                return refuse(format!("field {word:?} without '='"));
            };
            if key.is_empty() {
                return refuse("a field without a key".to_owned());
            }
            if fields.iter().any(|(known, _)| known == key) {
                return refuse(format!("key {key:?} twice"));
            }
            fields.push((key.to_owned(), value.to_owned()));
        }
        if !fields.iter().any(|(key, _)| key == "cmd") {
            return refuse("no command".to_owned());
        }
        Ok(Self { fields })
    }

    /// The command.
    pub fn command(&self) -> &str {
        self.get("cmd").unwrap_or_default()
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The value of a field that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub fn require(&self, key: &str) -> Result<&str, LineError> {
        self.get(key)
            .ok_or_else(|| LineError(format!("no {key:?} in {}", shown(self.to_string().as_bytes()))))
    }

    /// The number in a field that must be there.
    ///
    /// # Errors
    /// When it is not, or is no number of this type.
    pub fn number<N: std::str::FromStr>(&self, key: &str) -> Result<N, LineError> {
        let text = self.require(key)?;
        text.parse().map_err(|_| LineError(format!("{key}={text:?} is not a number that fits")))
    }

    /// The line's bytes with the newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{self}\n").into_bytes()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.fields.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl LineReader {
    /// A reader for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { held: Vec::new(), scanned: 0, limit }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line, without its newline; `None` when more bytes are needed.
    ///
    /// # Errors
    /// When a line is longer than the limit; the stream cannot be read any further then.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let end = self.held[self.scanned..].iter().position(|b| *b == b'\n').map(|i| i + self.scanned);
        self.scanned = self.held.len();
        if end.unwrap_or(self.held.len()) > self.limit {
            return Err(LineError(format!(
                "a line of more than {} bytes: {}",
                self.limit,
                shown(&self.held)
            )));
        }
        let Some(end) = end else { return Ok(None) };
        self.scanned = 0;
        let mut line: Vec<u8> = self.held.drain(..=end).collect();
        line.pop();
        Ok(Some(line))
    }
}

impl LineError {
    /// An error that says `why`.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LineError {}

/// Whether a text can be the value of a field.
pub(super) fn is_legal(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_graphic())
}

fn legal(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect()
}

/// The start of a line for an error message.
fn shown(bytes: &[u8]) -> String {
    const SHOWN: usize = 80;
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    format!("{start:?}{}", if bytes.len() > SHOWN { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_their_bytes() {
        let line = Line::new("put").with("kvsname", "k0").with("key", "a").with("value", "x=y,(1)");
        assert_eq!(line.to_string(), "cmd=put kvsname=k0 key=a value=x=y,(1)");
        let bytes = line.to_bytes();
        assert_eq!(Line::parse(&bytes[..bytes.len() - 1]), Ok(line.clone()));
        assert_eq!(line.command(), "put");
        assert_eq!(line.get("value"), Some("x=y,(1)"));
        assert_eq!(line.get("nothing"), None);
        assert_eq!(Line::parse(b"  rc=-1   cmd=x ").unwrap().number::<i32>("rc"), Ok(-1));
    }

    #[test]
    fn what_a_line_cannot_carry_becomes_an_underscore() {
        let line = Line::new("x y").with("a b=", "c\nd é");
        assert_eq!(line.to_string(), "cmd=x_y a_b_=c_d__");
        assert!(Line::parse(line.to_string().as_bytes()).is_ok());
    }

    #[test]
    fn hostile_lines_are_refused_with_a_reason() {
        for (bytes, why) in [
            (&b""[..], "no command"),
            (b"rc=0", "no command"),
            (b"cmd", "without '='"),
            (b"cmd=a =b", "without a key"),
            (b"cmd=a cmd=b", "twice"),
            (b"cmd=a\0", "byte 0x00"),
            (b"cmd=\xff", "byte 0xff"),
            (b"cmd=a\tb=1", "byte 0x09"),
        ] {
            let error = Line::parse(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let error = Line::parse(b"cmd=a n=99999999999").unwrap().number::<u32>("n").unwrap_err();
        assert!(error.to_string().contains("not a number"), "{error}");
        assert!(Line::parse(b"cmd=a").unwrap().number::<u32>("n").is_err());
    }

    #[test]
    fn a_stream_is_cut_at_any_byte() {
        let stream = b"cmd=a\n\ncmd=b x=1\nrest";
        for step in 1..stream.len() {
            let mut reader = LineReader::new(16);
            let mut lines = Vec::new();
            for piece in stream.chunks(step) {
                reader.push(piece);
                while let Some(line) = reader.next_line().unwrap() {
                    lines.push(line);
                }
            }
            assert_eq!(lines, [&b"cmd=a"[..], b"", b"cmd=b x=1"], "step {step}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut reader = LineReader::new(8);
        reader.push(b"12345678");
        assert_eq!(reader.next_line(), Ok(None));
        reader.push(b"9");
        assert!(reader.next_line().is_err());
        let mut reader = LineReader::new(1);
        reader.push(b"a\nbc\n");
        assert_eq!(reader.next_line(), Ok(Some(b"a".to_vec())));
        assert!(reader.next_line().is_err());
    }
}
