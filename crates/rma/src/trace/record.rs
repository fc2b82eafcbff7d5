//! What stands in the file of one rank: a line of JSON for each event, between a head and a tail. The format is this
//! library's own, read by the version that has written it; [`super::chrome`] makes of it what others read.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record<'a> {
    pub(super) t: u64,
    /// Number of the thread among those of the process that the recorder has met.
    pub(super) thread: u32,
    #[serde(borrow, flatten)]
    pub(super) what: What<'a>,
}

/// What has happened; as [`rma_core::trace::Event`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum What<'a> {
    Begin {
        #[serde(borrow)]
        call: Cow<'a, str>,
        window: Option<u32>,
        target: Option<u32>,
    },
    Wait {
        #[serde(borrow)]
        call: Cow<'a, str>,
        #[serde(borrow)]
        waits_for: Cow<'a, str>,
    },
    /// The end of the newest `Begin` or `Wait` of the thread.
    End {},
    Direct {
        #[serde(borrow)]
        call: Cow<'a, str>,
        window: u32,
        target: u32,
        len: u64,
    },
    Open {
        id: u64,
        #[serde(borrow)]
        kind: Cow<'a, str>,
        window: u32,
        target: Option<u32>,
    },
    Close {
        id: u64,
    },
    Sent {
        #[serde(borrow)]
        channel: Cow<'a, str>,
        #[serde(borrow, flatten)]
        packet: Moved<'a>,
    },
    Received {
        #[serde(borrow, flatten)]
        packet: Moved<'a>,
    },
    Sleep {},
    Name {
        window: u32,
        #[serde(borrow)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Moved<'a> {
    pub(super) peer: u32,
    /// 0 is the lane of requests, 1 that of responses.
    pub(super) lane: u8,
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    pub(super) window: Option<u32>,
    pub(super) number: u64,
    pub(super) len: u64,
}

impl What<'_> {
    /// Whether an `End` follows.
    pub(super) fn begins(&self) -> bool {
        matches!(self, Self::Begin { .. } | Self::Wait { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive() {
        let packet = Moved { peer: 3, lane: 1, name: "put".into(), window: Some(7), number: 8, len: 9 };
        for what in [
            What::Begin { call: "fence".into(), window: Some(1), target: None },
            What::Wait { call: "fence".into(), waits_for: "rank 1 (\"a\\b\")".into() },
            What::End {},
            What::Direct { call: "put".into(), window: 1, target: 2, len: 1 << 40 },
            What::Open { id: 1, kind: "lock".into(), window: 4, target: Some(2) },
            What::Close { id: 1 },
            What::Sent { channel: "tcp".into(), packet: packet.clone() },
            What::Received { packet },
            What::Sleep {},
            What::Name { window: 1, name: "ηλιος".into() },
            What::Tail { dropped: 2, counters: vec![("sleeps".into(), 3)] },
        ] {
            let record = Record { t: u64::MAX, thread: 1, what };
            let line = serde_json::to_string(&record).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Record<'_>>(&line).unwrap(), record, "{line}");
        }
    }
}
