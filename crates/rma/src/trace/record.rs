//! What stands in the file of one rank: a [`line`](super::line) for each event, between a head and a tail;
//! [`super::chrome`] makes of it what others read.

use super::line::{LineFields, LineWriter};
use std::borrow::Cow;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceHead {
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
pub(super) struct TraceRecord<'a> {
    pub(super) t: u64,
    /// Number of the thread among those of the process that the recorder has met.
    pub(super) thread: u32,
    pub(super) what: TraceEvent<'a>,
}

/// What has happened; as [`rma_core::trace::Event`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TraceEvent<'a> {
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
pub(super) trait TraceLine {
    /// Writes it behind what is there.
    fn write(&self, out: &mut Vec<u8>);
}

impl TraceLine for TraceHead {
    fn write(&self, out: &mut Vec<u8>) {
        let mut line = LineWriter::new(out);
        line.text(&self.job).number(self.rank).number(self.size).text(&self.boot).text(&self.host);
        line.number(self.pid).number(self.t).end();
    }
}

impl TraceHead {
    /// The head that a line is, if it is one.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut fields = LineFields::of(line)?;
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

impl TraceLine for TraceRecord<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut line = LineWriter::new(out);
        line.number(self.t).number(self.thread).text(self.what.word());
        match &self.what {
            TraceEvent::Begin { call, window, target } => {
                line.text(call).option(*window).option(*target);
            }
            TraceEvent::Wait { call, waits_for } => {
                line.text(call).text(waits_for);
            }
            TraceEvent::End {} | TraceEvent::Sleep {} => {}
            TraceEvent::Direct { call, window, target, len } => {
                line.text(call).number(window).number(target).number(len);
            }
            TraceEvent::Open { id, kind, window, target } => {
                line.number(id).text(kind).number(window).option(*target);
            }
            TraceEvent::Close { id } => {
                line.number(id);
            }
            TraceEvent::Sent { channel, packet } => packet.write(line.text(channel)),
            TraceEvent::Received { packet } => packet.write(&mut line),
            TraceEvent::Name { window, name } => {
                line.number(window).text(name);
            }
            TraceEvent::Tail { dropped, counters } => {
                line.number(dropped);
                for (name, count) in counters {
                    line.text(name).number(count);
                }
            }
        }
        line.end();
    }
}

impl<'a> TraceRecord<'a> {
    /// The record that a line is, if it is one.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let mut fields = LineFields::of(line)?;
        let (t, thread) = (fields.number()?, fields.number()?);
        let what = TraceEvent::read(&mut fields)?;
        fields.is_over().then_some(Self { t, thread, what })
    }
}

impl<'a> TraceEvent<'a> {
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

    fn read(fields: &mut LineFields<'a>) -> Option<Self> {
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

    fn read(fields: &mut LineFields<'a>) -> Option<Self> {
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
    fn written(line: &impl TraceLine, is_read: impl Fn(&str) -> bool) -> String {
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
            TraceEvent::Begin { call: "fence".into(), window: Some(1), target: None },
            TraceEvent::Wait {
                call: "fence".into(),
                waits_for: "rank 1 (\"a\\b\").\tand\nrank\r2\t.".into(),
            },
            TraceEvent::End {},
            TraceEvent::Direct { call: "put".into(), window: 1, target: 2, len: 1 << 40 },
            TraceEvent::Open { id: 1, kind: "lock".into(), window: 4, target: Some(2) },
            TraceEvent::Close { id: 1 },
            TraceEvent::Sent { channel: "tcp".into(), packet: packet.clone() },
            TraceEvent::Received { packet },
            TraceEvent::Sleep {},
            TraceEvent::Name { window: 1, name: "ηλιος".into() },
            TraceEvent::Name { window: 1, name: "".into() },
            TraceEvent::Tail { dropped: 2, counters: vec![("sleeps".into(), 3), ("a".into(), u64::MAX)] },
            TraceEvent::Tail { dropped: 2, counters: Vec::new() },
        ] {
            let record = TraceRecord { t: u64::MAX, thread: 1, what };
            let line = written(&record, |line| TraceRecord::read(line).is_some());
            assert_eq!(TraceRecord::read(&line), Some(record), "{line}");
        }
        let head = TraceHead {
            job: "job 1".into(),
            rank: 1,
            size: 2,
            boot: "a\tb".into(),
            host: "h".into(),
            pid: 7,
            t: u64::MAX,
        };
        let line = written(&head, |line| TraceHead::read(line).is_some());
        assert_eq!(TraceHead::read(&line), Some(head));
    }
}
