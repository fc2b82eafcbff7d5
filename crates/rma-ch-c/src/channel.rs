//! A channel in C as the engine's `Channel`.
//!
//! Checks what can be seen of the answers: a number that means nothing, or room without memory, loses the peer instead of
//! being believed.

use crate::abi::{Area, ChannelTable, Usage as CUsage, Waker};
use crate::area::Loan;
use crate::foreign::{bad, outside, text};
use crate::sink::{Books, Poll, failure_kind};
use parking_lot::Mutex;
use rma_core::Result as CoreResult;
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Lane, MIN_PACKET, Polled, Room, Sink,
    Source, Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::mem::WriteSpan;
use rma_core::poller::{Registrar, WakeHandle};
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A transport behind a table of functions.
pub struct ForeignChannel {
    table: Required,
    context: *mut c_void,
    capabilities: Capabilities,
    books: Books,
    reserved: Option<Reserved>,
    /// Peers that the channel has answered an error for, and not reported yet.
    doomed: Vec<(Peer, Failure)>,
    waker: Option<Box<Bell>>,
    /// Whether the channel is this value's to destroy.
    is_owner: Arc<AtomicBool>,
    /// Dropped behind the channel's end.
    _kept: Option<Box<dyn Any + Send>>,
}

/// The table, with the functions that cannot be missing.
struct Required {
    all: ChannelTable,
    reserve: unsafe extern "C" fn(*mut c_void, u32, c_int, usize, *mut *mut c_void) -> c_int,
    commit: unsafe extern "C" fn(*mut c_void),
    send_bulk: unsafe extern "C" fn(*mut c_void, u32, c_int, *const c_void, usize, *mut Area, u64) -> c_int,
    poll: unsafe extern "C" fn(*mut c_void, *mut crate::abi::Sink) -> c_int,
    arm: unsafe extern "C" fn(*mut c_void) -> c_int,
    close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

struct Reserved {
    memory: WriteSpan,
    filled: usize,
}

/// What C rings. C sees its first field.
#[repr(C)]
struct Bell {
    head: Waker,
    handle: WakeHandle,
}

// SAFETY: the embedder's promise: the functions may be called from any thread, one at a time. The loans and the bell are this
// value's own.
unsafe impl Send for ForeignChannel {}

impl ForeignChannel {
    /// The channel of this table and context. It is destroyed at the end once [`ForeignChannel::owner`] says so.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a table that lacks a function or has sizes that cannot be.
    ///
    /// # Safety
    /// The functions keep the contract of channels as `rma.h` puts it, with this context; above all clause C4.
    pub unsafe fn new(table: &ChannelTable, context: *mut c_void) -> CoreResult<Self> {
        Ok(Self {
            capabilities: capabilities(table)?,
            table: Required::of(table)?,
            context,
            books: Books::default(),
            reserved: None,
            doomed: Vec::new(),
            waker: None,
            is_owner: Arc::default(),
            _kept: None,
        })
    }

    /// Whether [`ForeignChannel::new`] takes this table; its name and sizes.
    ///
    /// # Errors
    /// As [`ForeignChannel::new`].
    pub fn inspect(table: &ChannelTable) -> CoreResult<Capabilities> {
        Required::of(table)?;
        capabilities(table)
    }

    /// Keeps what the functions use until the channel is destroyed.
    #[must_use]
    pub(crate) fn keeping(mut self, kept: Box<dyn Any + Send>) -> Self {
        self._kept = Some(kept);
        self
    }

    /// Whether the channel is to be destroyed at the end: not before this is set.
    pub fn owner(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_owner)
    }

    /// What a function answered to a question for room.
    fn room(&mut self, function: &str, peer: Peer, answer: c_int) -> Result<Room, Failure> {
        match answer {
            0 => return Ok(Room::Granted),
            1 => return Ok(Room::Full),
            _ => {}
        }
        let detail = format!("process {peer} cannot be reached: the channel's {function} answered {answer}");
        Err(self.doom(peer, Failure { kind: failure_kind(answer), detail }))
    }

    fn doom(&mut self, peer: Peer, failure: Failure) -> Failure {
        self.doomed.push((peer, failure.clone()));
        failure
    }

    fn check(&self, peer: Peer) -> Result<(), Failure> {
        let doomed = self.doomed.iter().find(|(doomed, _)| *doomed == peer).map(|(_, failure)| failure);
        doomed.or(self.books.lost.get(&peer)).map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn check_len(&self, what: &str, len: usize) {
        let max = self.capabilities.max_packet;
        assert!((1..=max).contains(&len), "a {what} of {len} bytes; 1 to {max} are possible");
    }
}

// SAFETY: promised by the maker of the channel.
unsafe impl Channel for ForeignChannel {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        let bell = Box::new(Bell { head: Waker { wake: ring }, handle: registrar.wake_handle() });
        if let Some(registered) = self.table.all.registered {
            let waker = std::ptr::from_ref::<Bell>(&bell).cast();
            // SAFETY: a function of the table with its context; the bell lives as long as the channel.
            outside(|| unsafe { registered(self.context, waker) });
        }
        self.waker = Some(bell);
        let Some(descriptor) = self.table.all.descriptor else { return Ok(()) };
        // SAFETY: a function of the table with its context.
        let descriptor = outside(|| unsafe { descriptor(self.context) });
        if descriptor < 0 {
            return Ok(());
        }
        // SAFETY: the channel's own descriptor, open as long as the channel.
        registrar.add_readable(unsafe { BorrowedFd::borrow_raw(descriptor) })
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.reserved = None;
        self.check(peer)?;
        let Some(connect) = self.table.all.connect else { return Ok(()) };
        // SAFETY: a function of the table with its context.
        let answer = outside(|| unsafe { connect(self.context, peer.0) });
        self.room("connect", peer, answer).map(drop)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.check_len("packet", len);
        self.reserved = None;
        self.check(peer)?;
        let mut memory = std::ptr::null_mut();
        // SAFETY: a function of the table with its context, and a place for an address.
        let answer = outside(|| unsafe {
            (self.table.reserve)(self.context, peer.0, lane as c_int, len, &mut memory)
        });
        let room = self.room("reserve", peer, answer)?;
        if room == Room::Granted {
            if memory.is_null() {
                let detail =
                    format!("process {peer} cannot be reached: the channel granted room without memory");
                return Err(self.doom(peer, Failure { kind: failure_kind(0), detail }));
            }
            // SAFETY: the channel's promise: so many bytes, its own until the next call.
            let memory = unsafe { WriteSpan::new(memory.cast(), len) };
            self.reserved = Some(Reserved { memory, filled: 0 });
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        let Reserved { memory, filled } = self.reserved.as_mut().expect("fill needs a reservation");
        let (at, len) = (*filled, source.len());
        assert!(len <= memory.len() - at, "{len} bytes more than were reserved");
        match source {
            Source::Bytes(bytes) => memory.part(at, len).write(bytes),
            Source::Memory(gather) => {
                gather.copy_to(memory.part(at, len));
            }
        }
        *filled += len;
    }

    fn commit(&mut self) {
        let Reserved { memory, filled } = self.reserved.take().expect("commit needs a reservation");
        assert_eq!(filled, memory.len(), "a packet is committed when it is filled to its length");
        // SAFETY: a function of the table with its context.
        outside(|| unsafe { (self.table.commit)(self.context) });
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.check_len("head", head.len());
        self.reserved = None;
        self.check(peer)?;
        let loan = Loan::new(body);
        let (start, area) = (head.as_ptr().cast(), loan.as_ptr());
        // SAFETY: a function of the table with its context; the area lives until the books drop it.
        let answer = outside(|| unsafe {
            (self.table.send_bulk)(self.context, peer.0, lane as c_int, start, head.len(), area, token.0)
        });
        let room = self.room("send_bulk", peer, answer)?;
        if room == Room::Granted {
            self.books.bodies.insert(token.0, (peer, loan));
        }
        Ok(room)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        const MOVED: c_int = 1;
        const MORE: c_int = 2;
        self.reserved = None;
        let mut poll = Poll::new(sink, &mut self.books, budget);
        // SAFETY: a function of the table with its context, and a sink that lives until it returns.
        let answer = outside(|| unsafe { (self.table.poll)(self.context, poll.as_ptr()) });
        for (peer, failure) in std::mem::take(&mut self.doomed) {
            poll.lose(peer, failure.kind, failure.detail);
        }
        let (packets, moved) = (poll.packets, poll.moved || answer & MOVED != 0);
        if let Some(panic) = poll.panic {
            resume_unwind(panic);
        }
        Polled { packets, moved, more: answer & MORE != 0 }
    }

    fn arm(&mut self) -> Armed {
        const SLEEP: c_int = 1;
        self.reserved = None;
        // SAFETY: a function of the table with its context.
        let answer = outside(|| unsafe { (self.table.arm)(self.context) });
        if answer == SLEEP && self.doomed.is_empty() { Armed::Sleep } else { Armed::Busy }
    }

    fn close(&mut self) -> Closing {
        const DONE: c_int = 1;
        self.reserved = None;
        // SAFETY: a function of the table with its context.
        let answer = outside(|| unsafe { (self.table.close)(self.context) });
        if answer == DONE && self.books.bodies.is_empty() { Closing::Closed } else { Closing::Pending }
    }

    fn usage(&self) -> Usage {
        let mut usage = CUsage::default();
        if let Some(function) = self.table.all.usage {
            // SAFETY: a function of the table with its context, and a place for the answer.
            outside(|| unsafe { function(self.context, &mut usage) });
        }
        let CUsage { peers, bytes, limit_bytes } = usage;
        Usage { peers, bytes, limit_bytes }
    }
}

impl Required {
    fn of(table: &ChannelTable) -> CoreResult<Self> {
        let missing = |name: &str| bad(format!("the channel's table has no function {name}"));
        Ok(Self {
            all: *table,
            reserve: table.reserve.ok_or_else(|| missing("reserve"))?,
            commit: table.commit.ok_or_else(|| missing("commit"))?,
            send_bulk: table.send_bulk.ok_or_else(|| missing("send_bulk"))?,
            poll: table.poll.ok_or_else(|| missing("poll"))?,
            arm: table.arm.ok_or_else(|| missing("arm"))?,
            close: table.close.ok_or_else(|| missing("close"))?,
        })
    }
}

unsafe extern "C" fn ring(waker: *const Waker) {
    // SAFETY: C gives back the address that it got, of the first field of a bell that lives until the channel is destroyed.
    unsafe { &*waker.cast::<Bell>() }.handle.wake();
}

fn capabilities(table: &ChannelTable) -> CoreResult<Capabilities> {
    let name = text(table.name).filter(|name| !name.is_empty());
    let name = interned(&name.ok_or_else(|| bad("the channel's name is null or empty"))?);
    let ChannelTable { max_packet, bulk_from, .. } = *table;
    if !(MIN_PACKET..=1 << 30).contains(&max_packet) {
        return Err(bad(format!(
            "the channel's max_packet is {max_packet}, but {MIN_PACKET} to 2^30 are possible"
        )));
    }
    if bulk_from > max_packet {
        return Err(bad(format!("the channel's bulk_from is {bulk_from}, over max_packet, {max_packet}")));
    }
    Ok(Capabilities { name, max_packet, bulk_from })
}

/// The name as long as the process lives; each name once.
pub(crate) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.iter().find(|known| **known == name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.push(name);
    name
}

impl Drop for ForeignChannel {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.all.destroy.filter(|_| self.is_owner.load(Relaxed)) {
            // SAFETY: a function of the table with its context, for the last time. Loans and the bell live until it returns.
            outside(|| unsafe { destroy(self.context) });
        }
    }
}

impl fmt::Debug for ForeignChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignChannel").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}
