//! The timeline in a form that other tools read: Chrome's trace-event format, which Perfetto opens. A process is a rank, a thread one of
//! its threads; times are in microseconds.
//!
//! | what | phase |
//! | --- | --- |
//! | calls, and the waits inside them | `B` … `E`, which nest in a thread |
//! | operations in mapped memory, threads that fall asleep | `i` |
//! | epochs | `b` … `e` with an id, on tracks of their own, since they begin and end in different calls |
//! | packets | `X` of no length, bound by an id to the one at the other end, so that arrows lead from rank to rank |

use super::record::{Head, Moved, Record, What};
use rma_core::ids::WindowId;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes the events of ranks, one rank after the other.
#[derive(Debug)]
pub(super) struct Timeline<W: Write> {
    out: W,
    is_empty: bool,
    /// What is subtracted from every time.
    zero: i128,
}

/// Writes the events of one rank.
#[derive(Debug)]
pub(super) struct RankTimeline<'t, W: Write> {
    timeline: &'t mut Timeline<W>,
    rank: u32,
    size: u32,
    /// What is added to the rank's times.
    offset: i128,
    /// Calls and waits that have not ended, by thread: how many.
    open: HashMap<u32, u32>,
    epochs: HashMap<u64, String>,
    names: HashMap<u32, String>,
    last: u64,
}

impl<W: Write> Timeline<W> {
    /// Begins a timeline whose time 0 is `zero`.
    pub(super) fn begin(mut out: W, zero: i128) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        Ok(Self { out, is_empty: true, zero })
    }

    /// A rank's part.
    pub(super) fn rank(&mut self, head: &Head, offset: i128) -> io::Result<RankTimeline<'_, W>> {
        let name = format!("rank {} of {} ({}, pid {})", head.rank, head.size, head.host, head.pid);
        for (what, arguments) in [
            ("process_name", json!({ "name": name })),
            ("process_sort_index", json!({ "sort_index": head.rank })),
        ] {
            self.put(&json!({ "ph": "M", "pid": head.rank, "tid": 0, "name": what, "args": arguments }))?;
        }
        Ok(RankTimeline {
            timeline: self,
            rank: head.rank,
            size: head.size,
            offset,
            open: HashMap::new(),
            epochs: HashMap::new(),
            names: HashMap::new(),
            last: head.t,
        })
    }

    /// Ends the timeline.
    pub(super) fn end(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, event: &Value) -> io::Result<()> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }
}

impl<W: Write> RankTimeline<'_, W> {
    /// One line of the rank's file.
    pub(super) fn add(&mut self, record: Record<'_>) -> io::Result<()> {
        let Record { t, thread, what } = record;
        self.last = t;
        match what {
            What::Begin { call, window, target } => {
                let args = self.on(window, target);
                self.begin(t, thread, "call", &call, args)
            }
            What::Wait { call, waits_for } => {
                let args = json!({ "call": call, "for": waits_for });
                self.begin(t, thread, "wait", "wait", args)
            }
            What::End {} => match self.open.get_mut(&thread) {
                Some(open @ 1..) => {
                    *open -= 1;
                    self.put(t, thread, json!({ "ph": "E" }))
                }
                _ => Ok(()),
            },
            What::Direct { call, window, target, len } => {
                let mut args = self.on(Some(window), Some(target));
                args["bytes"] = len.into();
                self.put(
                    t,
                    thread,
                    json!({ "ph": "i", "s": "t", "cat": "direct", "name": call, "args": args }),
                )
            }
            What::Sleep {} => {
                self.put(t, thread, json!({ "ph": "i", "s": "t", "cat": "wait", "name": "sleep" }))
            }
            What::Open { id, kind, window, target } => {
                let name = match target {
                    Some(target) => format!("{kind} epoch to {target}, {}", self.window(window)),
                    None => format!("{kind} epoch, {}", self.window(window)),
                };
                let args = self.on(Some(window), target);
                self.epochs.insert(id, name.clone());
                let id = self.epoch_id(id);
                self.put(
                    t,
                    thread,
                    json!({ "ph": "b", "cat": "epoch", "id": id, "name": name, "args": args }),
                )
            }
            What::Close { id } => match self.epochs.remove(&id) {
                Some(name) => {
                    let id = self.epoch_id(id);
                    self.put(t, thread, json!({ "ph": "e", "cat": "epoch", "id": id, "name": name }))
                }
                None => Ok(()),
            },
            What::Sent { channel, packet } => self.packet(t, thread, &packet, Some(&channel)),
            What::Received { packet } => self.packet(t, thread, &packet, None),
            What::Name { window, name } => {
                self.names.insert(window, name.into_owned());
                Ok(())
            }
            What::Tail { dropped, counters } => {
                let mut args: Map<_, _> =
                    counters.into_iter().map(|(name, value)| (name.into_owned(), value.into())).collect();
                args.insert("events left out".to_owned(), dropped.into());
                self.put(t, thread, json!({ "ph": "i", "s": "p", "cat": "end", "name": "end", "args": args }))
            }
        }
    }

    /// One end of a packet: the one that sent it names the channel.
    fn packet(&mut self, t: u64, thread: u32, packet: &Moved<'_>, channel: Option<&str>) -> io::Result<()> {
        let mut args = self.on(packet.window, None);
        let (verb, category, side, peer, (from, to)) = match channel {
            Some(_) => ("send", "sent", "flow_out", "to", (self.rank, packet.peer)),
            None => ("receive", "received", "flow_in", "from", (packet.peer, self.rank)),
        };
        args[peer] = packet.peer.into();
        args["bytes"] = packet.len.into();
        args["lane"] = if packet.lane == 0 { "request" } else { "response" }.into();
        args["number"] = packet.number.into();
        if let Some(channel) = channel {
            args["channel"] = channel.into();
        }
        let mut event = json!({ "ph": "X", "dur": 0, "cat": category, "args": args });
        event["name"] = format!("{verb} {}", packet.name).into();
        event["bind_id"] = self.packet_id(from, to, packet).into();
        event[side] = true.into();
        self.put(t, thread, event)
    }

    /// Ends what the rank has not ended, because it was killed, or its file has no more room.
    pub(super) fn end(mut self) -> io::Result<()> {
        let last = self.last;
        for (thread, open) in std::mem::take(&mut self.open) {
            for _ in 0..open {
                self.put(last, thread, json!({ "ph": "E", "args": { "unfinished": true } }))?;
            }
        }
        for (id, name) in std::mem::take(&mut self.epochs) {
            let id = self.epoch_id(id);
            let args = json!({ "unfinished": true });
            self.put(last, 0, json!({ "ph": "e", "cat": "epoch", "id": id, "name": name, "args": args }))?;
        }
        Ok(())
    }

    fn begin(&mut self, t: u64, thread: u32, category: &str, name: &str, args: Value) -> io::Result<()> {
        *self.open.entry(thread).or_default() += 1;
        self.put(t, thread, json!({ "ph": "B", "cat": category, "name": name, "args": args }))
    }

    fn put(&mut self, t: u64, thread: u32, mut event: Value) -> io::Result<()> {
        let ns = i128::from(t) + self.offset - self.timeline.zero;
        event["pid"] = self.rank.into();
        event["tid"] = thread.into();
        event["ts"] = (ns as f64 / 1000.0).into();
        self.timeline.put(&event)
    }

    fn on(&self, window: Option<u32>, target: Option<u32>) -> Value {
        let mut args = Map::new();
        if let Some(window) = window {
            args.insert("window".to_owned(), WindowId::from_bits(window).to_string().into());
            if let Some(name) = self.names.get(&window) {
                args.insert("window name".to_owned(), name.as_str().into());
            }
        }
        if let Some(target) = target {
            args.insert("target".to_owned(), target.into());
        }
        args.into()
    }

    fn window(&self, window: u32) -> String {
        match self.names.get(&window) {
            Some(name) => format!("window {name}"),
            None => format!("window {}", WindowId::from_bits(window)),
        }
    }

    /// An id that no epoch of another rank has.
    fn epoch_id(&self, id: u64) -> String {
        format!("{:#x}", u64::from(self.rank) << 40 | id)
    }

    /// The same at both ends of a packet.
    fn packet_id(&self, from: u32, to: u32, packet: &Moved<'_>) -> String {
        let pair = u64::from(from) * u64::from(self.size) + u64::from(to);
        format!("{:#x}", (pair * 2 + u64::from(packet.lane)) << 32 | packet.number & 0xffff_ffff)
    }
}
