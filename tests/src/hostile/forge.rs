//! Packets that no process of a job sends, and some that one might: made from a sequence of choices, so that
//! a random test and a fuzzer can both make them.

use rma_core::channel::Lane;
use rma_core::datatype::{BasicType, Layout, Loop};
use rma_core::ids::{Disp, RequestId, Sequence, WindowId};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::wire::{
    Area, Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind, Store, TargetPlace,
};

/// Packets that are remembered to be sent again.
const REPLAYED: usize = 64;

/// A packet to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it travels.
    pub lane: Lane,
    /// The small packet, or the head of a bulk packet.
    pub bytes: Vec<u8>,
    /// Length of the bulk body; 0 for a small packet.
    pub body_len: usize,
}

/// Makes packets. `choose(n)` gives a number below `n`, which is not 0.
#[derive(Debug)]
pub struct Forge<C> {
    choose: C,
    /// Windows that exist.
    pub windows: Vec<WindowId>,
    sent: Vec<Packet>,
}

impl<C: FnMut(u64) -> u64> Forge<C> {
    /// A forge that knows these windows.
    pub fn new(choose: C, windows: Vec<WindowId>) -> Self {
        Self { choose, windows, sent: Vec::new() }
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.choose)(limit)
    }

    /// The next packet; `requests` are those that wait for an answer from its sender.
    pub fn packet(&mut self, requests: &[Request]) -> Packet {
        let mut packet = match self.below(16) {
            0 => self.noise(),
            1 | 2 if !self.sent.is_empty() => {
                let at = self.below(self.sent.len() as u64) as usize;
                self.sent[at].clone()
            }
            3..7 => self.response(requests),
            _ => self.request(),
        };
        for _ in 0..[0, 0, 1, 1, 1, 2, 3][self.below(7) as usize] {
            self.damage(&mut packet);
        }
        if self.below(64) == 0 {
            packet.lane = Lane::ALL[self.below(2) as usize];
        }
        if self.sent.len() < REPLAYED {
            self.sent.push(packet.clone());
        } else {
            let at = self.below(REPLAYED as u64) as usize;
            self.sent[at] = packet.clone();
        }
        packet
    }

    fn noise(&mut self) -> Packet {
        let len = 1 + self.below(80);
        let mut bytes = (0..len).map(|_| self.below(256) as u8).collect::<Vec<_>>();
        if self.below(4) > 0 {
            let header = [1, 1 + self.below(2) as u8];
            let known = bytes.len().min(2);
            bytes[..known].copy_from_slice(&header[..known]);
        }
        Packet { lane: Lane::ALL[self.below(2) as usize], bytes, body_len: 0 }
    }

    fn request(&mut self) -> Packet {
        let kind = self.kind();
        let flags = [
            RequestFlags::NONE,
            RequestFlags::NONE,
            RequestFlags::LOCK_SHARED,
            RequestFlags::LOCK_EXCLUSIVE,
            RequestFlags::ACK,
            RequestFlags::UNLOCK,
            RequestFlags::DONE,
            RequestFlags::FENCE,
            RequestFlags::MORE,
            RequestFlags::LOCK_SHARED.with(RequestFlags::HOLDS),
            RequestFlags::LOCK_EXCLUSIVE.with(RequestFlags::UNLOCK),
            RequestFlags::LOCK_SHARED.with(RequestFlags::UNLOCK).with(RequestFlags::ACK),
        ];
        let mut flags = flags[self.below(flags.len() as u64) as usize];
        if self.below(5) == 0 {
            // Counters that are in use, and others.
            flags = flags.with(RequestFlags::notice(self.small_or_any(4) as u32));
        }
        let window = self.window();
        let request = Request { window, flags, sequence: Sequence(self.number()), kind };
        let wants = match &request.kind {
            RequestKind::Put(_) => 1 + self.below(100),
            RequestKind::Accumulate { kernel, .. } | RequestKind::FetchOp { kernel, .. } => {
                kernel.ty().size() as u64
            }
            RequestKind::GetAccumulate { kernel, len, .. } if kernel.op() != ReduceOp::NoOp => *len,
            RequestKind::CompareSwap { kernel, .. } => 2 * kernel.ty().size() as u64,
            RequestKind::Pack => return self.pack(&request),
            _ => 0,
        };
        let wants = if self.below(8) == 0 { self.number() } else { wants }.min(4096) as usize;
        let (bytes, is_bulk) = (request.emit().to_vec(), self.below(6) == 0);
        let lane = if matches!(request.kind, RequestKind::WakeUp) { Lane::Response } else { Lane::Request };
        self.with_data(lane, bytes, wants, is_bulk)
    }

    /// A pack of some entries, most of them legal; now and then cut short, or sent as the head of a body.
    fn pack(&mut self, request: &Request) -> Packet {
        let mut bytes = request.emit().to_vec();
        for _ in 0..self.below(6) {
            let basic = BasicType::ALL[self.below(BasicType::ALL.len() as u64) as usize];
            let op = ReduceOp::ALL[self.below(ReduceOp::ALL.len() as u64) as usize];
            let store = Kernel::new(op, basic).map_or(Store::Put, Store::Accumulate);
            let disp = Disp(if self.below(4) == 0 { self.number() } else { self.below(40) });
            let len = if self.below(16) == 0 { self.below(20) } else { basic.size() as u64 * self.below(4) };
            bytes.extend_from_slice(&store.entry_head(disp, len as u16));
            bytes.resize(bytes.len() + len as usize, self.below(256) as u8);
        }
        if self.below(8) == 0 {
            bytes.truncate(bytes.len() - self.below(4) as usize);
        }
        // The shortest longest packet of the scenes is 192 bytes.
        bytes.truncate(192);
        let body_len = if self.below(16) == 0 { self.below(100) as usize } else { 0 };
        Packet { lane: Lane::Request, bytes, body_len }
    }

    fn with_data(&mut self, lane: Lane, mut bytes: Vec<u8>, len: usize, is_bulk: bool) -> Packet {
        if is_bulk {
            return Packet { lane, bytes, body_len: len };
        }
        let value = self.below(256) as u8;
        bytes.resize(bytes.len() + len, value);
        Packet { lane, bytes, body_len: 0 }
    }

    fn kind(&mut self) -> RequestKind {
        let place = self.place();
        let op = ReduceOp::ALL[self.below(ReduceOp::ALL.len() as u64) as usize];
        let basic = BasicType::ALL[self.below(BasicType::ALL.len() as u64) as usize];
        let sum = || Kernel::new(ReduceOp::Sum, BasicType::U64).expect("defined on integers");
        let kernel = Kernel::new(op, basic).unwrap_or_else(sum);
        let reply_to = self.request_id();
        let units = self.below(20) * kernel.ty().size() as u64;
        let len = if self.below(8) == 0 { self.number() } else { units };
        match self.below(11) {
            0 => RequestKind::Sync,
            1 => RequestKind::Get { place, len, reply_to },
            2 => RequestKind::Accumulate { place, kernel },
            3 => RequestKind::FetchOp { place, kernel, reply_to },
            4 => RequestKind::GetAccumulate { place, kernel, len, reply_to },
            5 => {
                let kernel = CompareAndSwap::new(basic)
                    .or_else(|| CompareAndSwap::new(BasicType::U32))
                    .expect("defined on integers");
                RequestKind::CompareSwap { place, kernel, reply_to }
            }
            6 => RequestKind::Post,
            7 => RequestKind::WakeUp,
            8 => RequestKind::Pack,
            9 => RequestKind::Unfinished { acknowledged: self.small_or_any(4), reply_to },
            _ => RequestKind::Put(place),
        }
    }

    fn place(&mut self) -> TargetPlace {
        let disp = Disp(if self.below(4) == 0 { self.number() } else { self.below(40) });
        if self.below(3) > 0 {
            let offset = if self.below(4) == 0 { self.number() } else { self.below(16) };
            return TargetPlace::run(disp, offset);
        }
        let loops = (0..self.below(4))
            .map(|_| Loop {
                count: self.small_or_any(4).wrapping_add(1),
                stride: (self.small_or_any(64) as i64).wrapping_sub(8),
            })
            .collect::<Vec<_>>();
        let layout = if self.below(2) == 0 {
            let (first, block) = (self.small_or_any(32) as i64, 1 + self.below(16));
            Layout::nest(first, block, &loops)
        } else {
            let runs = (0..1 + self.below(5)).map(|_| (self.small_or_any(64) as i64, 1 + self.below(9)));
            Layout::blocks(runs.collect::<Vec<_>>())
        };
        match layout {
            Some(layout) if layout.size() > 0 => {
                let from = self.below(layout.size());
                TargetPlace { disp, area: Area::Shape { layout: Box::new(layout), from } }
            }
            _ => TargetPlace::run(disp, 0),
        }
    }

    fn response(&mut self, requests: &[Request]) -> Packet {
        let is_answer = !requests.is_empty() && self.below(4) > 0;
        let asked = is_answer.then(|| &requests[self.below(requests.len() as u64) as usize]);
        let (window, sequence) = match asked {
            Some(request) => (request.window, request.sequence),
            None => (self.window(), Sequence(self.number())),
        };
        let flags = [ResponseFlags::NONE, ResponseFlags::NONE, ResponseFlags::GRANT];
        let rare = [ResponseFlags::REFUSED, ResponseFlags::NOTE];
        let flags = match self.below(6) {
            0 => rare[self.below(2) as usize],
            _ => flags[self.below(3) as usize],
        };
        let to = match asked.and_then(|request| request.kind.reply_to()) {
            Some(to) if self.below(8) > 0 => to,
            _ => self.request_id(),
        };
        let kind = match self.below(4) {
            0 => ResponseKind::Ack,
            1 => ResponseKind::Error {
                to: (self.below(2) == 0).then_some(to),
                start: self.number(),
                len: self.number(),
                size: self.number(),
            },
            _ => ResponseKind::Data { to },
        };
        let len = match (&kind, asked.map(|request| &request.kind)) {
            (ResponseKind::Data { .. }, Some(RequestKind::Get { len, .. })) if self.below(8) > 0 => *len,
            (ResponseKind::Data { .. }, _) => 8 * self.below(20),
            _ => 0,
        };
        let response = Response { window, flags, sequence, kind };
        let is_bulk = self.below(3) == 0;
        self.with_data(Lane::Response, response.emit().to_vec(), len.min(4096) as usize, is_bulk)
    }

    fn window(&mut self) -> WindowId {
        match self.below(12) {
            0 => WindowId::from_bits(self.number() as u32),
            1..4 => {
                let at = self.below(self.windows.len() as u64) as usize;
                self.windows[at]
            }
            _ => self.windows[0],
        }
    }

    fn request_id(&mut self) -> RequestId {
        RequestId { index: self.below(4) as u32, generation: self.below(6) as u32 }
    }

    fn small_or_any(&mut self, small: u64) -> u64 {
        if self.below(12) == 0 { self.number() } else { self.below(small) }
    }

    /// A number at one of the edges that matter, or small.
    fn number(&mut self) -> u64 {
        let edge = match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << 63,
            3 => i64::MAX as u64,
            4 => 1 << self.below(64),
            5 => u64::from(u32::MAX),
            _ => return self.below(70),
        };
        edge.wrapping_add(self.below(3)).wrapping_sub(1)
    }

    fn damage(&mut self, packet: &mut Packet) {
        let len = packet.bytes.len() as u64;
        match self.below(8) {
            0 => packet.bytes.truncate(1 + self.below(len) as usize),
            1 => {
                let more = self.below(64) as usize;
                let value = self.below(256) as u8;
                packet.bytes.resize(packet.bytes.len() + more, value);
            }
            2 => {
                let (at, value) = (self.below(len) as usize, self.below(256) as u8);
                packet.bytes[at] = value;
            }
            3 => {
                let (at, value) = (self.below(len) as usize, self.number().to_le_bytes());
                let room = (packet.bytes.len() - at).min(8);
                packet.bytes[at..at + room].copy_from_slice(&value[..room]);
            }
            4 => packet.body_len = if packet.body_len > 0 { 0 } else { self.number().min(4096) as usize },
            _ => {
                let (at, bit) = (self.below(len) as usize, self.below(8));
                packet.bytes[at] ^= 1 << bit;
            }
        }
    }
}
