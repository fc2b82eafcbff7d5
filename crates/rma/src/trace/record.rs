//! What stands in the file of one rank: a [`line`](super::line) for each event, between a head and a tail;
//! [`super::chrome`] makes of it what others read.

use super::line::{Fields, LineWriter};
use std::borrow::Cow;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) job: String,
    pub(super) rank: u32,
    pub(super) size: u32,
    /// What tells machines apart, and starts of one machine: times with the same are of the same clock.
    pub(super) boot: String,
    pub(super) host: String,
    pub(super) pid: u32,
    /// When the process started its part, as all times: nanoseconds of the machine's monotonic clock.
    pub(super) t: u64,
}

/// Every other line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record<'a> {
    pub(super) t: u64,
    /// Number of the thread among those of the process that the recorder has met.
    pub(super) thread: u32,
    pub(super) what: What<'a>,
}

/// What has happened; as [`rma_core::trace::Event`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What<'a> {
    Begin {
        call: Cow<'a, str>,
        window: Option<u32>,
        target: Option<u32>,
    },
    Wait {
        call: Cow<'a, str>,
        waits_for: Cow<'a, str>,
    },
    /// The end of the newest `Begin` or `Wait` of the thread.
    End {},
    Direct {
        call: Cow<'a, str>,
        window: u32,
        target: u32,
        len: u64,
    },
    Open {
        id: u64,
        kind: Cow<'a, str>,
        window: u32,
        target: Option<u32>,
    },
    Close {
        id: u64,
    },
    Sent {
        channel: Cow<'a, str>,
        packet: Moved<'a>,
    },
    Received {
        packet: Moved<'a>,
    },
    Sleep {},
    Name {
        window: u32,
        name: Cow<'a, str>,
    },
    /// The last line: the rank has ended its part.
    Tail {
        /// Events that found no room.
        dropped: u64,
        /// What the engine has counted.
        counters: Vec<(Cow<'a, str>, u64)>,
    },
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moved<'a> {
    pub(super) peer: u32,
    /// 0 is the lane of requests, 1 that of responses.
    pub(super) lane: u8,
    pub(super) name: Cow<'a, str>,
    pub(super) window: Option<u32>,
    pub(super) number: u64,
    pub(super) len: u64,
}

/// A line that can be written.
pub(super) trait Line {
    /// Writes it behind what is there.
    fn write(&self, out: &mut Vec<u8>);
}

impl Line for Head {
    fn write(&self, out: &mut Vec<u8>) {
        let mut line = LineWriter::new(out);
        line.text(&self.job).number(self.rank).number(self.size).text(&self.boot).text(&self.host);
        line.number(self.pid).number(self.t).end();
    }
}

impl Head {
    /// The head that a line is, if it is one.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut fields = Fields::of(line)?;
        let head = Self {
            job: fields.text()?.into_owned(),
            rank: fields.number()?,
            size: fields.number()?,
            boot: fields.text()?.into_owned(),
            host: fields.text()?.into_owned(),
            pid: fields.number()?,
            t: fields.number()?,
        };
        fields.is_over().then_some(head)
    }
}

impl Line for Record<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut line = LineWriter::new(out);
        line.number(self.t).number(self.thread).text(self.what.word());
        match &self.what {
            What::Begin { call, window, target } => {
                line.text(call).option(*window).option(*target);
            }
            What::Wait { call, waits_for } => {
                line.text(call).text(waits_for);
            }
            What::End {} | What::Sleep {} => {}
            What::Direct { call, window, target, len } => {
                line.text(call).number(window).number(target).number(len);
            }
            What::Open { id, kind, window, target } => {
                line.number(id).text(kind).number(window).option(*target);
            }
            What::Close { id } => {
                line.number(id);
            }
            What::Sent { channel, packet } => packet.write(line.text(channel)),
            What::Received { packet } => packet.write(&mut line),
            What::Name { window, name } => {
                line.number(window).text(name);
            }
            What::Tail { dropped, counters } => {
                line.number(dropped);
                for (name, count) in counters {
                    line.text(name).number(count);
                }
            }
        }
        line.end();
    }
}

impl<'a> Record<'a> {
    /// The record that a line is, if it is one.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let mut fields = Fields::of(line)?;
        let (t, thread) = (fields.number()?, fields.number()?);
        let what = What::read(&mut fields)?;
        fields.is_over().then_some(Self { t, thread, what })
    }
}

impl<'a> What<'a> {
    /// Whether an `End` follows.
    pub(super) fn begins(&self) -> bool {
        matches!(self, Self::Begin { .. } | Self::Wait { .. })
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Wait { .. } => "wait",
            Self::End {} => "end",
            Self::Direct { .. } => "direct",
            Self::Open { .. } => "open",
            Self::Close { .. } => "close",
            Self::Sent { .. } => "sent",
            Self::Received { .. } => "received",
            Self::Sleep {} => "sleep",
            Self::Name { .. } => "name",
            Self::Tail { .. } => "tail",
        }
    }

    fn read(fields: &mut Fields<'a>) -> Option<Self> {
        Some(match &*fields.text()? {
            "begin" => {
                Self::Begin { call: fields.text()?, window: fields.option()?, target: fields.option()? }
            }
            "wait" => Self::Wait { call: fields.text()?, waits_for: fields.text()? },
            "end" => Self::End {},
            "direct" => Self::Direct {
                call: fields.text()?,
                window: fields.number()?,
                target: fields.number()?,
                len: fields.number()?,
            },
            "open" => Self::Open {
                id: fields.number()?,
                kind: fields.text()?,
                window: fields.number()?,
                target: fields.option()?,
            },
            "close" => Self::Close { id: fields.number()? },
            "sent" => Self::Sent { channel: fields.text()?, packet: Moved::read(fields)? },
            "received" => Self::Received { packet: Moved::read(fields)? },
            "sleep" => Self::Sleep {},
            "name" => Self::Name { window: fields.number()?, name: fields.text()? },
            "tail" => {
                let dropped = fields.number()?;
                let mut counters = Vec::new();
                while !fields.is_over() {
                    counters.push((fields.text()?, fields.number()?));
                }
                Self::Tail { dropped, counters }
            }
            _ => return None,
        })
    }
}

impl<'a> Moved<'a> {
    fn write(&self, line: &mut LineWriter<'_>) {
        line.number(self.peer).number(self.lane).text(&self.name);
        line.option(self.window).number(self.number).number(self.len);
    }

    fn read(fields: &mut Fields<'a>) -> Option<Self> {
        Some(Self {
            peer: fields.number()?,
            lane: fields.number()?,
            name: fields.text()?,
            window: fields.option()?,
            number: fields.number()?,
            len: fields.number()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line that is written, without its end of line; no beginning of it is read as anything.
    fn written(line: &impl Line, is_read: impl Fn(&str) -> bool) -> String {
        let mut bytes = Vec::new();
        line.write(&mut bytes);
        assert_eq!(bytes.pop(), Some(b'\n'));
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(['\n', '\r']));
        for (len, _) in text.char_indices() {
            assert!(!is_read(&text[..len]), "{text:?}, cut off after {len} bytes");
            assert!(!is_read(&format!("{}\0\0", &text[..len])));
        }
        text
    }

    #[test]
    fn lines_survive_and_what_was_cut_off_is_none() {
        let packet = Moved { peer: 3, lane: 1, name: "put".into(), window: Some(7), number: 8, len: 9 };
        for what in [
            What::Begin { call: "fence".into(), window: Some(1), target: None },
            What::Wait { call: "fence".into(), waits_for: "rank 1 (\"a\\b\").\tand\nrank\r2\t.".into() },
            What::End {},
            What::Direct { call: "put".into(), window: 1, target: 2, len: 1 << 40 },
            What::Open { id: 1, kind: "lock".into(), window: 4, target: Some(2) },
            What::Close { id: 1 },
            What::Sent { channel: "tcp".into(), packet: packet.clone() },
            What::Received { packet },
            What::Sleep {},
            What::Name { window: 1, name: "ηλιος".into() },
            What::Name { window: 1, name: "".into() },
            What::Tail { dropped: 2, counters: vec![("sleeps".into(), 3), ("a".into(), u64::MAX)] },
            What::Tail { dropped: 2, counters: Vec::new() },
        ] {
            let record = Record { t: u64::MAX, thread: 1, what };
            let line = written(&record, |line| Record::read(line).is_some());
            assert_eq!(Record::read(&line), Some(record), "{line}");
        }
        let head = Head {
            job: "job 1".into(),
            rank: 1,
            size: 2,
            boot: "a\tb".into(),
            host: "h".into(),
            pid: 7,
            t: u64::MAX,
        };
        let line = written(&head, |line| Head::read(line).is_some());
        assert_eq!(Head::read(&line), Some(head));
    }
}
