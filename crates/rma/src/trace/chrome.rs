//! The timeline in a form that other tools read: Chrome's trace-event format, which Perfetto opens. A process is a rank, a thread one of
//! its threads; times are in microseconds.
//!
//! | what | phase |
//! | --- | --- |
//! | calls, and the waits inside them | `B` … `E`, which nest in a thread |
//! | operations in mapped memory, threads that fall asleep | `i` |
//! | epochs | `b` … `e` with an id, on tracks of their own, since they begin and end in different calls |
//! | packets | `X` of no length, bound by an id to the one at the other end, so that arrows lead from rank to rank |

use super::json::{Json, Object, object};
use super::record::{Moved, TraceEvent, TraceHead, TraceRecord};
use rma_core::ids::WindowId;
use std::borrow::Cow;
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
    pub(super) fn rank(&mut self, head: &TraceHead, offset: i128) -> io::Result<RankTimeline<'_, W>> {
        let name = format!("rank {} of {} ({}, pid {})", head.rank, head.size, head.host, head.pid);
        for (what, arguments) in [
            ("process_name", object([("name", name.into())])),
            ("process_sort_index", object([("sort_index", head.rank.into())])),
        ] {
            let event = object([("ph", "M".into()), ("name", what.into()), ("args", arguments.into())]);
            self.put(&event.with("pid", head.rank).with("tid", 0u32))?;
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

    fn put(&mut self, event: &Object) -> io::Result<()> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.write_all(b",\n")?;
        }
        write!(self.out, "{event}")
    }
}

impl<W: Write> RankTimeline<'_, W> {
    /// One line of the rank's file.
    pub(super) fn add(&mut self, record: TraceRecord<'_>) -> io::Result<()> {
        let TraceRecord { t, thread, what } = record;
        self.last = t;
        match what {
            TraceEvent::Begin { call, window, target } => {
                let args = self.on(window, target);
                self.begin(t, thread, "call", text(call), args)
            }
            TraceEvent::Wait { call, waits_for } => {
                let args = object([("call", text(call)), ("for", text(waits_for))]);
                self.begin(t, thread, "wait", "wait".into(), args)
            }
            TraceEvent::End {} => match self.open.get_mut(&thread) {
                Some(open @ 1..) => {
                    *open -= 1;
                    self.put(t, thread, object([("ph", "E".into())]))
                }
                _ => Ok(()),
            },
            TraceEvent::Direct { call, window, target, len } => {
                let args = self.on(Some(window), Some(target)).with("bytes", len);
                let event = mark("t", "direct", text(call));
                self.put(t, thread, event.with("args", args))
            }
            TraceEvent::Sleep {} => self.put(t, thread, mark("t", "wait", "sleep".into())),
            TraceEvent::Open { id, kind, window, target } => {
                let name = match target {
                    Some(target) => format!("{kind} epoch to {target}, {}", self.window(window)),
                    None => format!("{kind} epoch, {}", self.window(window)),
                };
                let args = self.on(Some(window), target);
                self.epochs.insert(id, name.clone());
                let event = self.epoch("b", id, name);
                self.put(t, thread, event.with("args", args))
            }
            TraceEvent::Close { id } => match self.epochs.remove(&id) {
                Some(name) => {
                    let event = self.epoch("e", id, name);
                    self.put(t, thread, event)
                }
                None => Ok(()),
            },
            TraceEvent::Sent { channel, packet } => self.packet(t, thread, &packet, Some(&channel)),
            TraceEvent::Received { packet } => self.packet(t, thread, &packet, None),
            TraceEvent::Name { window, name } => {
                self.names.insert(window, name.into_owned());
                Ok(())
            }
            TraceEvent::Tail { dropped, counters } => {
                let args = object([("events left out", dropped.into())]);
                let add =
                    |args: Object, (name, value): (Cow<'_, str>, u64)| args.with(name.into_owned(), value);
                let args = counters.into_iter().fold(args, add);
                self.put(t, thread, mark("p", "end", "end".into()).with("args", args))
            }
        }
    }

    /// One end of a packet: the one that sent it names the channel.
    fn packet(&mut self, t: u64, thread: u32, packet: &Moved<'_>, channel: Option<&str>) -> io::Result<()> {
        let (verb, category, side, peer, (from, to)) = match channel {
            Some(_) => ("send", "sent", "flow_out", "to", (self.rank, packet.peer)),
            None => ("receive", "received", "flow_in", "from", (packet.peer, self.rank)),
        };
        let mut args = self.on(packet.window, None).with(peer, packet.peer).with("bytes", packet.len);
        args = args.with("lane", if packet.lane == 0 { "request" } else { "response" });
        args = args.with("number", packet.number);
        if let Some(channel) = channel {
            args = args.with("channel", channel.to_owned());
        }
        let event = object([("ph", "X".into()), ("dur", 0u32.into()), ("cat", category.into())]);
        let event = event.with("name", format!("{verb} {}", packet.name)).with("args", args);
        self.put(t, thread, event.with("bind_id", self.packet_id(from, to, packet)).with(side, true))
    }

    /// Ends what the rank has not ended, because it was killed, or its file has no more room.
    pub(super) fn end(mut self) -> io::Result<()> {
        let last = self.last;
        for (thread, open) in std::mem::take(&mut self.open) {
            for _ in 0..open {
                let event = object([("ph", "E".into()), ("args", unfinished())]);
                self.put(last, thread, event)?;
            }
        }
        for (id, name) in std::mem::take(&mut self.epochs) {
            let event = self.epoch("e", id, name);
            self.put(last, 0, event.with("args", unfinished()))?;
        }
        Ok(())
    }

    fn begin(
        &mut self,
        t: u64,
        thread: u32,
        category: &'static str,
        name: Json,
        args: Object,
    ) -> io::Result<()> {
        *self.open.entry(thread).or_default() += 1;
        let event = object([("ph", "B".into()), ("cat", category.into()), ("name", name)]);
        self.put(t, thread, event.with("args", args))
    }

    fn put(&mut self, t: u64, thread: u32, event: Object) -> io::Result<()> {
        let ns = i128::from(t) + self.offset - self.timeline.zero;
        let event = event.with("pid", self.rank).with("tid", thread);
        self.timeline.put(&event.with("ts", ns as f64 / 1000.0))
    }

    fn on(&self, window: Option<u32>, target: Option<u32>) -> Object {
        let mut args = Object::default();
        if let Some(window) = window {
            args = args.with("window", WindowId::from_bits(window).to_string());
            if let Some(name) = self.names.get(&window) {
                args = args.with("window name", name.clone());
            }
        }
        if let Some(target) = target {
            args = args.with("target", target);
        }
        args
    }

    fn window(&self, window: u32) -> String {
        match self.names.get(&window) {
            Some(name) => format!("window {name}"),
            None => format!("window {}", WindowId::from_bits(window)),
        }
    }

    /// An end of an epoch, under an id that no epoch of another rank has.
    fn epoch(&self, phase: &'static str, id: u64, name: String) -> Object {
        let id = format!("{:#x}", u64::from(self.rank) << 40 | id);
        object([("ph", phase.into()), ("cat", "epoch".into()), ("id", id.into()), ("name", name.into())])
    }

    /// The same at both ends of a packet.
    fn packet_id(&self, from: u32, to: u32, packet: &Moved<'_>) -> String {
        let pair = u64::from(from) * u64::from(self.size) + u64::from(to);
        format!("{:#x}", (pair * 2 + u64::from(packet.lane)) << 32 | packet.number & 0xffff_ffff)
    }
}

/// What happened in a moment, in the whole process (`p`) or a thread of it (`t`).
fn mark(scope: &'static str, category: &'static str, name: Json) -> Object {
    object([("ph", "i".into()), ("s", scope.into()), ("cat", category.into()), ("name", name)])
}

fn unfinished() -> Json {
    object([("unfinished", true.into())]).into()
}

fn text(text: Cow<'_, str>) -> Json {
    text.into_owned().into()
}
