//! A timeline as it was written: an event a line, a process of which is a rank.

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};

/// What a line of the page shows: a thread of a rank.
pub(super) type Row = (u32, u32);

#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// By rank.
    pub(super) names: BTreeMap<u32, String>,
    /// In the order in which they ended.
    pub(super) items: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Call,
    Wait,
    /// An operation in mapped memory, of this many bytes.
    Direct(u64),
    /// Anything else that has a time.
    Mark,
}

/// A call, a wait, or a mark without length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) row: Row,
    /// How many calls it is in.
    pub(super) depth: usize,
    pub(super) name: String,
    /// For a wait, what it waits for; else the arguments.
    pub(super) about: String,
    pub(super) begin_us: f64,
    pub(super) len_us: f64,
}

impl Timeline {
    /// Reads a file of `RMA_TRACE`.
    pub(super) fn read(lines: impl BufRead) -> io::Result<Self> {
        let mut timeline = Self::default();
        let mut open = HashMap::<Row, Vec<Item>>::new();
        for (number, line) in (1..).zip(lines.lines()) {
            let line = line?;
            let event = line.trim().trim_end_matches(',');
            // The first and the last line are the file's, not an event's.
            if event.is_empty() || event == "]}" || (number == 1 && event.ends_with('[')) {
                continue;
            }
            let taken = serde_json::from_str(event).ok().and_then(|event| timeline.take(&event, &mut open));
            taken.ok_or_else(|| {
                let why = format!("line {number} is no event of a timeline of RMA_TRACE");
                io::Error::new(io::ErrorKind::InvalidData, why)
            })?;
        }
        Ok(timeline)
    }

    /// One event; nothing when it is none.
    fn take(&mut self, event: &Value, open: &mut HashMap<Row, Vec<Item>>) -> Option<()> {
        let number = |name: &str| u32::try_from(event[name].as_u64()?).ok();
        let (phase, row) = (event["ph"].as_str()?, (number("pid")?, number("tid")?));
        if phase == "M" {
            if event["name"] == "process_name" {
                self.names.insert(row.0, event["args"]["name"].as_str()?.to_owned());
            }
            return Some(());
        }
        let at = event["ts"].as_f64()?;
        let open = open.entry(row).or_default();
        match phase {
            "B" => open.push(item(event, row, open.len(), at)?),
            "E" => {
                let mut item = open.pop()?;
                item.len_us = at - item.begin_us;
                if event["args"]["unfinished"] == true {
                    item.about += " unfinished";
                }
                self.items.push(item);
            }
            "i" | "X" => self.items.push(item(event, row, open.len(), at)?),
            // Epochs lie across calls, and have no place in a row of them.
            _ => {}
        }
        Some(())
    }
}

fn item(event: &Value, row: Row, depth: usize, begin_us: f64) -> Option<Item> {
    let args = &event["args"];
    let kind = match (event["cat"].as_str()?, event["ph"].as_str()?) {
        ("call", "B") => Kind::Call,
        ("wait", "B") => Kind::Wait,
        ("direct", _) => Kind::Direct(args["bytes"].as_u64()?),
        _ => Kind::Mark,
    };
    let about = match args {
        Value::Object(args) if kind == Kind::Wait => args.get("for")?.as_str()?.to_owned(),
        Value::Object(args) => {
            let words = args.iter().map(|(name, value)| match value {
                Value::String(text) => format!("{name} {text}"),
                value => format!("{name} {value}"),
            });
            words.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    };
    let name = event["name"].as_str()?.to_owned();
    Some(Item { kind, row, depth, name, about, begin_us, len_us: 0.0 })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// As it is written.
    pub(in crate::timeline) const SAMPLE: &str = r#"{"displayTimeUnit":"ns","traceEvents":[
{"args":{"name":"rank 0 of 2 (a, pid 7)"},"name":"process_name","ph":"M","pid":0,"tid":0},
{"args":{"sort_index":0},"name":"process_sort_index","ph":"M","pid":0,"tid":0},
{"args":{"target":1,"window":"0.1"},"cat":"call","name":"put","ph":"B","pid":0,"tid":1,"ts":1.0},
{"args":{"bytes":8,"target":1,"window":"0.1"},"cat":"direct","name":"put","ph":"i","pid":0,"s":"t","tid":1,"ts":1.25},
{"ph":"E","pid":0,"tid":1,"ts":1.5},
{"args":{"window":"0.1"},"cat":"call","name":"fence","ph":"B","pid":0,"tid":1,"ts":2.0},
{"args":{"call":"fence","for":"rank 1 to enter </script>"},"cat":"wait","name":"wait","ph":"B","pid":0,"tid":1,"ts":2.5},
{"args":{},"cat":"epoch","id":"0x1","name":"fence epoch","ph":"b","pid":0,"tid":1,"ts":2.5},
{"ph":"E","pid":0,"tid":1,"ts":1002.5},
{"args":{"unfinished":true},"ph":"E","pid":0,"tid":1,"ts":1003.0}
]}
"#;

    #[test]
    fn calls_hold_their_waits_and_marks() {
        let timeline = Timeline::read(SAMPLE.as_bytes()).unwrap();
        assert_eq!(timeline.names[&0], "rank 0 of 2 (a, pid 7)");
        let seen = timeline.items.iter().map(|item| (item.kind, item.depth, item.len_us));
        let expected = [
            (Kind::Direct(8), 1, 0.0),
            (Kind::Call, 0, 0.5),
            (Kind::Wait, 1, 1000.0),
            (Kind::Call, 0, 1001.0),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert_eq!(timeline.items[2].about, "rank 1 to enter </script>");
        assert!(timeline.items[3].about.ends_with("unfinished"));
        let cut = SAMPLE.replace("{\"ph\":\"E\",\"pid\":0,\"tid\":1,\"ts\":1.5}", "{\"ph\":\"E\"}");
        assert!(Timeline::read(cut.as_bytes()).unwrap_err().to_string().contains("line 6"));
    }
}
