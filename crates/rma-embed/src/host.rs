//! A host in C as the engine's `Host`: one reduction is all that it must have.
//!
//! A barrier is a reduction of nothing; collectives get their names here; without segments all memory is private.

use crate::abi::{Collective, HostTable, LongWait as CLongWait, SegmentRequest as CRequest};
use crate::errors::{c_text, of_host};
use crate::segment::Making;
use parking_lot::Mutex;
use rma_ch_c::{bad, outside, text_of};
use rma_core::host::{
    Barriers, Combine, Group, Host, HostRequest, Locality, LongWait, Outcome, SegmentKind, SegmentRequest,
    SegmentSet, Vitals, barrier, clock, vitals,
};
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

type BeginReduce =
    unsafe extern "C" fn(*mut c_void, *const Collective, c_int, *const u64, usize, *mut u64) -> c_int;
type PollReduce = unsafe extern "C" fn(*mut c_void, u64, *mut u64, usize, *mut c_int) -> c_int;

/// The library around the engine, behind a table of functions.
pub struct ForeignHost {
    table: HostTable,
    begin_reduce: BeginReduce,
    poll_reduce: PollReduce,
    context: *mut c_void,
    me: Peer,
    barriers: Barriers,
    calls: Mutex<Calls>,
    is_owner: Arc<AtomicBool>,
}

#[derive(Default)]
struct Calls {
    /// Number of the next collective on a group, by its context.
    next: HashMap<u64, u64>,
    open: HashMap<u64, CollectiveCall>,
    started: u64,
}

/// A collective under way: the host's name for it, and what the answer must look like.
enum CollectiveCall {
    Barrier(u64),
    Reduce(u64, usize),
    Segment(u64, Rank, SegmentRequest),
    /// Private memory, which needs no other process.
    Ready(SegmentSet),
}

/// What of the system's a host leaves to the library: `RMA_SYSTEM_…`.
const PROCESSOR_TIME: c_int = 1;
const BARRIERS: c_int = 2;
const LIFE: c_int = 4;

/// A collective as C sees it, and the group behind it.
#[repr(C)]
struct Named<'a> {
    head: Collective,
    group: &'a Group,
}

// SAFETY: the embedder's promise: the functions may be called from any thread, also at the same time.
unsafe impl Send for ForeignHost {}
// SAFETY: as above.
unsafe impl Sync for ForeignHost {}

impl ForeignHost {
    /// The host of this table and context, in process `me`. It is destroyed at the end once [`ForeignHost::owner`] says so.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a table that lacks a function.
    ///
    /// # Safety
    /// The functions do what `rma.h` says, with this context.
    pub unsafe fn new(table: &HostTable, context: *mut c_void, me: Peer) -> Result<Self> {
        let missing = |name: &str| bad(format!("the host's table has no function {name}"));
        if table.begin_segment.is_some() != table.poll_segment.is_some() {
            return Err(bad(
                "the host's table has one of begin_segment and poll_segment; give both or neither",
            ));
        }
        if table.system & !(PROCESSOR_TIME | BARRIERS | LIFE) != 0 {
            return Err(bad(format!(
                "the host's table has system {:#x}, which is no RMA_SYSTEM_...",
                table.system
            )));
        }
        let barriers = if table.system & BARRIERS != 0 { barrier::register() } else { Barriers::Even };
        Ok(Self {
            table: *table,
            barriers,
            begin_reduce: table.begin_reduce.ok_or_else(|| missing("begin_reduce"))?,
            poll_reduce: table.poll_reduce.ok_or_else(|| missing("poll_reduce"))?,
            context,
            me,
            calls: Mutex::default(),
            is_owner: Arc::default(),
        })
    }

    /// Whether the host is to be destroyed at the end: not before this is set.
    pub fn owner(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_owner)
    }

    fn name<'a>(&self, group: &'a Group) -> Named<'a> {
        let (part, number) = match group.next_call_of_part() {
            Some((part, number)) => (u64::from(part), number),
            None => {
                let mut calls = self.calls.lock();
                let next = calls.next.entry(group.context()).or_default();
                (u64::MAX, std::mem::replace(next, *next + 1))
            }
        };
        let (context, me, members) = (group.context(), group.me().0, group.size());
        let head = Collective { size: size_of::<Collective>(), context, part, number, me, members, peer };
        Named { head, group }
    }

    fn begin(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<u64> {
        let (name, mut request) = (self.name(group), 0);
        let (pointer, combine) = (std::ptr::from_ref(&name).cast(), combine_number(combine));
        let (start, count) = (values.as_ptr(), values.len());
        // SAFETY: a function of the table with its context; the other pointers are to values that live until it returns.
        let answer = outside(|| unsafe {
            (self.begin_reduce)(self.context, pointer, combine, start, count, &mut request)
        });
        if answer == 0 { Ok(request) } else { Err(of_host("begin_reduce", answer)) }
    }

    fn open(&self, call: CollectiveCall) -> HostRequest {
        let mut calls = self.calls.lock();
        calls.started += 1;
        let request = calls.started;
        calls.open.insert(request, call);
        HostRequest(request)
    }

    /// The reduced values, when they are there.
    fn values(&self, request: u64, count: usize) -> Result<Option<Vec<u64>>> {
        let (mut values, mut done) = (vec![0; count], 0);
        let start = values.as_mut_ptr();
        // SAFETY: a function of the table with its context, room for as many values, and a place for the answer.
        let answer =
            outside(|| unsafe { (self.poll_reduce)(self.context, request, start, count, &mut done) });
        if answer != 0 {
            return Err(of_host("poll_reduce", answer));
        }
        Ok((done != 0).then_some(values))
    }

    fn segment(&self, request: u64, me: Rank, asked: &SegmentRequest) -> Result<Option<SegmentSet>> {
        let Some(poll) = self.table.poll_segment else { return Err(of_host("poll_segment", -1)) };
        let (mut making, mut done) = (Making::new(), 0);
        let pointer = making.as_ptr();
        // SAFETY: a function of the table with its context, a segment that lives until it returns, and a place for the answer.
        let answer = outside(|| unsafe { poll(self.context, request, pointer, &mut done) });
        if answer != 0 {
            return Err(of_host("poll_segment", answer));
        }
        if done == 0 { Ok(None) } else { making.finish(me, asked).map(Some) }
    }
}

impl Host for ForeignHost {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        let request = self.begin(group, Combine::Sum, &[])?;
        Ok(self.open(CollectiveCall::Barrier(request)))
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        let request = self.begin(group, combine, values)?;
        Ok(self.open(CollectiveCall::Reduce(request, values.len())))
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        let Some(call) = self.calls.lock().open.remove(&request.0) else {
            return Err(Error::new(ErrorClass::Request, "host", format!("{request:?} is not under way")));
        };
        let outcome = match &call {
            CollectiveCall::Barrier(name) => self.values(*name, 0)?.map(|_| Outcome::Met),
            CollectiveCall::Reduce(name, count) => {
                self.values(*name, *count)?.map(|values| Outcome::Values(values.into_iter().collect()))
            }
            CollectiveCall::Segment(name, me, asked) => {
                self.segment(*name, *me, asked)?.map(Outcome::Segment)
            }
            CollectiveCall::Ready(_) => {
                let CollectiveCall::Ready(segment) = call else { unreachable!("it is ready") };
                return Ok(Some(Outcome::Segment(segment)));
            }
        };
        if outcome.is_none() {
            self.calls.lock().open.insert(request.0, call);
        }
        Ok(outcome)
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        let Some(begin) = self.table.begin_segment else {
            if request.kind.must_be_shared() && group.size() > 1 {
                let cause = "this library's processes share no memory";
                return Err(Error::new(ErrorClass::RmaShared, "host", cause));
            }
            let segment = SegmentSet::private(group.me(), &request);
            let refused =
                || Error::new(ErrorClass::NoMem, "host", format!("no memory for {} bytes", request.data_len));
            return Ok(self.open(CollectiveCall::Ready(segment.ok_or_else(refused)?)));
        };
        let kind = match request.kind {
            SegmentKind::Control if self.table.takes_control == 0 => SegmentKind::Private,
            kind => kind,
        };
        let asked = CRequest {
            size: size_of::<CRequest>(),
            kind: kind as c_int,
            control_len: request.control_len,
            data_len: request.data_len,
            data_align: request.data_align,
            given: request.given.as_mut_ptr().cast(),
        };
        let (name, mut number) = (self.name(group), 0);
        let pointer = std::ptr::from_ref(&name).cast();
        // SAFETY: a function of the table with its context; the other pointers are to values that live until it returns.
        let answer = outside(|| unsafe { begin(self.context, pointer, &asked, &mut number) });
        if answer != 0 {
            return Err(of_host("begin_segment", answer));
        }
        Ok(self.open(CollectiveCall::Segment(number, group.me(), request)))
    }

    fn locality(&self, peer: Peer) -> Locality {
        if peer == self.me {
            return Locality::Own;
        }
        const NODE: c_int = 1;
        // SAFETY: a function of the table with its context.
        let answer =
            self.table.locality.map(|function| outside(|| unsafe { function(self.context, peer.0) }));
        if answer == Some(NODE) { Locality::Node } else { Locality::Remote }
    }

    fn now(&self) -> Duration {
        match self.table.now_ns {
            // SAFETY: a function of the table with its context.
            Some(function) => Duration::from_nanos(outside(|| unsafe { function(self.context) })),
            None => clock::machine_time(),
        }
    }

    fn abandon(&self, request: HostRequest) {
        let (function, number) = match self.calls.lock().open.remove(&request.0) {
            Some(CollectiveCall::Barrier(number) | CollectiveCall::Reduce(number, _)) => {
                (self.table.abandon_reduce, number)
            }
            Some(CollectiveCall::Segment(number, ..)) => (self.table.abandon_segment, number),
            Some(CollectiveCall::Ready(_)) | None => return,
        };
        if let Some(function) = function {
            // SAFETY: a function of the table with its context.
            outside(|| unsafe { function(self.context, number) });
        }
    }

    fn processor_time(&self) -> Option<Duration> {
        (self.table.system & PROCESSOR_TIME != 0).then(clock::processor_time).flatten()
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }

    fn vitals(&self) -> Vitals {
        if self.table.system & LIFE != 0 { vitals::vitals() } else { Vitals::default() }
    }

    fn waits_for(&self) -> Option<String> {
        let (function, mut text) = (self.table.waits_for?, [0; MOST_TEXT]);
        // SAFETY: a function of the table with its context, and room for as many bytes as it is told, zeroed.
        let answer = outside(|| unsafe { function(self.context, text.as_mut_ptr(), MOST_TEXT) });
        text[MOST_TEXT - 1] = 0;
        // SAFETY: it ends in a zero, at the latest at the end of the room.
        (answer != 0).then(|| unsafe { text_of(text.as_ptr()) }).flatten()
    }

    fn report(&self, wait: &LongWait<'_>) {
        let Some(function) = self.table.report else {
            wait.print();
            return;
        };
        let (call, waits_for) = (c_text(wait.call), c_text(wait.waits_for));
        let told = CLongWait {
            size: size_of::<CLongWait>(),
            call: call.as_ptr(),
            waited_ns: u64::try_from(wait.waited.as_nanos()).unwrap_or(u64::MAX),
            waits_for: waits_for.as_ptr(),
        };
        // SAFETY: a function of the table with its context, and texts that live until it returns.
        outside(|| unsafe { function(self.context, &told) });
    }
}

/// Room for a clause of the host.
const MOST_TEXT: usize = 256;

unsafe extern "C" fn peer(collective: *const Collective, rank: u32) -> u32 {
    // SAFETY: C gives back the address that it got, of the first field of a `Named` that lives until the host's function returns.
    let group = unsafe { &*collective.cast::<Named<'_>>() }.group;
    if rank < group.size() { group.peer(Rank(rank)).0 } else { u32::MAX }
}

/// `RMA_COMBINE_…`.
fn combine_number(combine: Combine) -> c_int {
    match combine {
        Combine::Min => 0,
        Combine::Max => 1,
        Combine::Sum => 2,
        Combine::BitAnd => 3,
        Combine::BitOr => 4,
    }
}

impl Drop for ForeignHost {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy.filter(|_| self.is_owner.load(Relaxed)) {
            // SAFETY: a function of the table with its context, for the last time.
            outside(|| unsafe { destroy(self.context) });
        }
    }
}

impl fmt::Debug for ForeignHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignHost").field("me", &self.me).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_char;
    use std::sync::atomic::AtomicU64;

    static REPORTED_MS: AtomicU64 = AtomicU64::new(0);
    static ABANDONED: AtomicU64 = AtomicU64::new(0);

    unsafe extern "C" fn begin_reduce(
        _: *mut c_void,
        _: *const Collective,
        _: c_int,
        _: *const u64,
        _: usize,
        request: *mut u64,
    ) -> c_int {
        // SAFETY: a place for the answer.
        unsafe { request.write(17) };
        0
    }

    unsafe extern "C" fn poll_reduce(
        _: *mut c_void,
        _: u64,
        _: *mut u64,
        _: usize,
        done: *mut c_int,
    ) -> c_int {
        // SAFETY: a place for the answer.
        unsafe { done.write(0) };
        0
    }

    unsafe extern "C" fn abandon(_: *mut c_void, request: u64) {
        ABANDONED.store(request, Relaxed);
    }

    unsafe extern "C" fn waits_for(_: *mut c_void, text: *mut c_char, len: usize) -> c_int {
        // SAFETY: as much room. There is no zero at the end.
        unsafe { text.cast::<u8>().write_bytes(b'x', len) };
        1
    }

    unsafe extern "C" fn report(_: *mut c_void, wait: *const CLongWait) {
        // SAFETY: a report, with texts.
        let (wait, [call, clause]) =
            unsafe { (*wait, [text_of((*wait).call), text_of((*wait).waits_for)].map(Option::unwrap)) };
        assert_eq!((call.as_str(), clause.as_str()), ("win_detach", "transfers"));
        REPORTED_MS.store(wait.waited_ns / 1_000_000, Relaxed);
    }

    fn table() -> HostTable {
        HostTable {
            size: size_of::<HostTable>(),
            begin_reduce: Some(begin_reduce),
            poll_reduce: Some(poll_reduce),
            begin_segment: None,
            poll_segment: None,
            locality: None,
            now_ns: None,
            destroy: None,
            abandon_reduce: Some(abandon),
            abandon_segment: None,
            waits_for: Some(waits_for),
            report: Some(report),
            takes_control: 0,
            system: PROCESSOR_TIME | LIFE,
        }
    }

    #[test]
    fn a_table_hears_of_long_waits_and_of_collectives_that_are_given_up() {
        // SAFETY: functions that take any context.
        let host = unsafe { ForeignHost::new(&table(), std::ptr::null_mut(), Peer(0)) }.unwrap();
        let waited = Duration::from_millis(1500);
        host.report(&LongWait { call: "win_detach", waited, waits_for: "transfers" });
        assert_eq!(REPORTED_MS.load(Relaxed), 1500);
        assert_eq!(host.waits_for().unwrap(), "x".repeat(MOST_TEXT - 1));
        let request = host.begin_barrier(&Group::of(1, Rank(0), &[Peer(0), Peer(1)])).unwrap();
        assert!(host.poll(request).unwrap().is_none());
        host.abandon(request);
        assert_eq!(ABANDONED.load(Relaxed), 17);
        host.poll(request).unwrap_err();
        assert!(host.processor_time().is_some() && host.vitals().own != 0);
        assert!(matches!(host.barriers(), Barriers::Even));
        let without = HostTable { system: 0, report: None, waits_for: None, ..table() };
        // SAFETY: as above.
        let host = unsafe { ForeignHost::new(&without, std::ptr::null_mut(), Peer(0)) }.unwrap();
        assert!(host.processor_time().is_none() && host.vitals().own == 0 && host.waits_for().is_none());
    }
}
