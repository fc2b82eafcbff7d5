//! Applying a request: bounds, memory, answer.
//!
//! Acknowledgements are queued after the effect (lessons, fixed 46), a release after every answer that was queued before it
//! (fixed 3, 4, 20).

use crate::bugs;
use crate::channel::Delivery;
use crate::config::EngineConfig;
use crate::control::Domain;
use crate::datatype::{BasicType, Scatter};
use crate::ids::Peer;
use crate::kernel::{Kernel, Operands};
use crate::mem::WriteSpan;
use crate::state::{
    Buffers, MappedTarget, NotExposed, OutOfRange, Pools, Replies, Reply, ReplyBody, State, WindowState,
};
use crate::wire::{
    Area, PackEntries, PackEntry, Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind,
    Store, TargetPlace, check_entries,
};
use smallvec::SmallVec;

/// Handles a small request and the data behind its head; `packet` is both as they came, to be kept when it has to wait.
#[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
pub(crate) fn handle(
    state: &mut State,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    data: &[u8],
    packet: &[u8],
) -> Delivery {
    if let Err(reason) = admit(&state.config, window, request, data) {
        return Delivery::Refused(reason);
    }
    if request.kind == RequestKind::Post {
        return posted(&state.pools, &state.config, window, from);
    }
    if request.kind == RequestKind::Key {
        state.replies.push(from, Reply::Key(request.window));
        return Delivery::Accepted;
    }
    if request.flags.locks() {
        return super::locks::request(state, window, from, request, packet);
    }
    apply(&mut state.replies, window, from, request, data, ResponseFlags::NONE)
}

/// [`handle`] for a request that asks for no lock and is no post.
pub(crate) fn handle_access(
    config: &EngineConfig,
    replies: &mut Replies,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    data: &[u8],
) -> Delivery {
    match admit(config, window, request, data) {
        Ok(()) => apply(replies, window, from, request, data, ResponseFlags::NONE),
        Err(reason) => Delivery::Refused(reason),
    }
}

/// Whether the data can be the request's; counts them if so.
fn admit(
    config: &EngineConfig,
    window: &mut WindowState,
    request: &Request,
    data: &[u8],
) -> Result<(), &'static str> {
    check_data(request, data.len() as u64, longest_piece(config))?;
    if request.kind == RequestKind::Pack {
        check_entries(data)?;
    }
    window.counters.on_bytes_received(data.len() as u64);
    Ok(())
}

/// Carries out a request whose lock, if it asked for one, is held.
#[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
pub(crate) fn apply(
    replies: &mut Replies,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    data: &[u8],
    flags: ResponseFlags,
) -> Delivery {
    let outcome = touch(&mut replies.buffers, window, request, data);
    let (len, is_inside) = (data.len() as u64, outcome.is_ok());
    window.target.pieces.on_request(&window.shared, from, request, len, is_inside);
    answer(replies, window, from, request, flags, outcome)
}

/// Queues what a carried-out request is owed: data, an error or an acknowledgement, then the release.
pub(crate) fn answer(
    replies: &mut Replies,
    window: &mut WindowState,
    from: Peer,
    request: &Request,
    flags: ResponseFlags,
    outcome: Result<Option<ReplyBody>, OutOfRange>,
) -> Delivery {
    let (to, is_done) = (request.kind.reply_to(), outcome.is_ok());
    let response = |kind| Response { window: request.window, flags, sequence: request.sequence, kind };
    match (outcome, to) {
        (Ok(Some(body)), Some(to)) => {
            replies.push(from, Reply::Packet(response(ResponseKind::Data { to }), body));
        }
        (Err(OutOfRange { start, len, size }), to) => {
            let mut error = response(ResponseKind::Error { to, start, len, size });
            if to.is_none() && !request.flags.has(RequestFlags::ACK) && !request.flags.locks() {
                // The origin waits for no answer, and may have ended the epoch when this one comes.
                error.flags = ResponseFlags::NOTE;
            }
            replies.push(from, Reply::Packet(error, ReplyBody::None));
        }
        (Ok(_), _) => {
            if request.flags.has(RequestFlags::ACK) || request.flags.locks() {
                let memory = window.shared.memory_for(from);
                replies.push(from, Reply::Packet(response(ResponseKind::Ack), memory));
            }
        }
    }
    if is_done {
        replies.notify(&window.shared, from, request.flags);
    }
    if request.flags.has(RequestFlags::UNLOCK) {
        match window.target.begin_release(&window.shared, from) {
            Ok(kind) => replies.push(from, Reply::Release(request.window, kind)),
            Err(_) if bugs::has(bugs::Bug::UncheckedForgotten) => {
                window.target.release_any(&window.shared);
            }
            // A lock that goes back in any case may have gone back with an unlock that was on its way.
            Err(_) if window.is_revoked() => {}
            Err(reason) => return Delivery::Refused(reason),
        }
    }
    if request.flags.has(RequestFlags::FENCE) {
        let rank = window.shared.group.rank(from);
        let (Some(arrivals), Some(rank)) = (&mut window.target.arrivals, rank) else {
            return Delivery::Refused("fence of a window whose ranks meet otherwise");
        };
        if let Err(reason) = arrivals.begin_arrival(rank) {
            return Delivery::Refused(reason);
        }
        if replies.owes_nothing_to(from) {
            arrivals.on_arrived(rank);
        } else {
            replies.push(from, Reply::Fence(request.window));
        }
    }
    if request.flags.has(RequestFlags::DONE) {
        match window.begin_done(window.shared.group.rank(from)) {
            Ok(number) if replies.owes_nothing_to(from) => {
                let rank = window.shared.group.rank(from);
                rank.into_iter().for_each(|rank| window.on_done(rank, number));
            }
            Ok(number) => replies.push(from, Reply::Done(request.window, number)),
            // A program that breaks its promise of no-check; the sender gets the error.
            Err(NotExposed) => {
                let note = Response {
                    flags: ResponseFlags::NOTE,
                    kind: ResponseKind::NotPosted,
                    ..response(ResponseKind::Ack)
                };
                replies.push(from, Reply::Packet(note, ReplyBody::None));
            }
        }
    }
    Delivery::Accepted
}

/// A target has opened an exposure epoch to this rank.
pub(crate) fn posted(pools: &Pools, config: &EngineConfig, window: &mut WindowState, from: Peer) -> Delivery {
    let Some(rank) = window.shared.group.rank(from) else {
        return Delivery::Refused("post by a process outside the window's group");
    };
    if window.opening.is_some() && bugs::has(bugs::Bug::PostLostInFence) {
        return Delivery::Accepted;
    }
    match window.epoch.access.on_post(rank) {
        Ok(()) => {
            window.on_posted(pools, config);
            Delivery::Accepted
        }
        Err(reason) => Delivery::Refused(reason),
    }
}

/// Most bytes of a piece of a streamed operation; units are a setting of the whole job.
pub(crate) fn longest_piece(config: &EngineConfig) -> u64 {
    config.unit_bytes.max(config.lock_data_bytes).max(BasicType::MAX_SIZE as u64)
}

/// Whether data of this length can belong to the request.
pub(crate) fn check_data(request: &Request, len: u64, longest: u64) -> Result<(), &'static str> {
    const BAD_LENGTH: &str = "data of a length that the request cannot have";
    let covered = match &request.kind {
        RequestKind::Sync
        | RequestKind::Post
        | RequestKind::Left
        | RequestKind::Revoked
        | RequestKind::Key
        | RequestKind::Unfinished { .. }
        | RequestKind::WakeUp => {
            return if len == 0 { Ok(()) } else { Err(BAD_LENGTH) };
        }
        RequestKind::Put(_)
        | RequestKind::Accumulate { .. }
        | RequestKind::FetchOp { .. }
        | RequestKind::Pack => len,
        RequestKind::Get { len, .. } | RequestKind::GetAccumulate { len, .. } => *len,
        RequestKind::CompareSwap { .. } => len / 2,
    };
    let fits = match &request.kind {
        RequestKind::Sync
        | RequestKind::Post
        | RequestKind::Left
        | RequestKind::Revoked
        | RequestKind::Key
        | RequestKind::Unfinished { .. }
        | RequestKind::WakeUp
        | RequestKind::Get { .. } => len == 0,
        RequestKind::Put(_) => len > 0 || request.flags.has(RequestFlags::NOTICE),
        RequestKind::Pack => len > 0,
        RequestKind::Accumulate { kernel, place } => len > 0 && is_elements(*kernel, place, len),
        RequestKind::FetchOp { kernel, .. } => len == kernel.ty().size() as u64,
        RequestKind::GetAccumulate { kernel, place, .. } => {
            let brings = if kernel.reads_operand() { covered } else { 0 };
            len == brings && (1..=longest).contains(&covered) && is_elements(*kernel, place, covered)
        }
        RequestKind::CompareSwap { kernel, .. } => len == 2 * kernel.ty().size() as u64,
    };
    if !fits {
        return Err(BAD_LENGTH);
    }
    match request.kind.place().map(|place| &place.area) {
        Some(Area::Shape { layout, from }) if covered == 0 || covered > layout.size() - from => {
            Err("data of a length that the request's shape does not have")
        }
        _ => Ok(()),
    }
}

/// Whether so many bytes of the place are whole elements, none of them torn apart.
fn is_elements(kernel: Kernel, place: &TargetPlace, len: u64) -> bool {
    let word = kernel.ty().word_size() as u64;
    let is_whole = match &place.area {
        // Elements of several words may be anywhere; they are copied out to be computed.
        Area::Shape { layout, from } if word > 0 => from.is_multiple_of(word) && layout.is_words(word),
        Area::Shape { .. } | Area::Run { .. } => true,
    };
    is_whole && kernel.ty().divides(len as usize)
}

pub(super) fn touch(
    buffers: &mut Buffers,
    window: &WindowState,
    request: &Request,
    data: &[u8],
) -> Result<Option<ReplyBody>, OutOfRange> {
    if request.kind.place().is_some() || request.kind == RequestKind::Pack {
        window.check_memory()?;
    }
    let own = window.shared.own();
    let exclusion = &window.shared.domain(own);
    match &request.kind {
        RequestKind::Put(place) => {
            match place.area {
                Area::Run { offset } => own.locate_behind(place.disp, offset, data.len() as u64)?.write(data),
                Area::Shape { .. } => own.locate_place(place, data.len() as u64)?.write(data),
            }
            Ok(None)
        }
        RequestKind::Get { place, len, .. } => {
            let held = window.shared.hold();
            Ok(Some(match place.area {
                Area::Run { offset } => {
                    ReplyBody::Run(own.locate_behind(place.disp, offset, *len)?.as_read(), held)
                }
                Area::Shape { .. } => {
                    ReplyBody::Memory(Box::new(own.locate_place(place, *len)?.as_gather()), held)
                }
            }))
        }
        RequestKind::Accumulate { place, kernel } => {
            match place.area {
                Area::Run { offset } => {
                    let span = own.locate_behind(place.disp, offset, data.len() as u64)?;
                    kernel.accumulate(span, data, exclusion);
                }
                Area::Shape { .. } => {
                    let target = own.locate_place(place, data.len() as u64)?;
                    kernel.accumulate_scattered(&target, Operands::Bytes(data), exclusion);
                }
            }
            Ok(None)
        }
        RequestKind::FetchOp { place, kernel, .. } => {
            let span = one_run(own.locate_place(place, data.len() as u64)?);
            let mut old: SmallVec<[u8; 16]> = SmallVec::from_elem(0, data.len());
            kernel.fetch_accumulate(span, data, &mut old[..], exclusion);
            if let Some(stale) = bugs::stale(span.as_mut_ptr() as usize, &old) {
                old = stale.into();
            }
            Ok(Some(ReplyBody::Bytes(old)))
        }
        RequestKind::GetAccumulate { place, kernel, len, .. } => {
            let target = own.locate_place(place, *len)?;
            let mut old = buffers.take(*len as usize);
            // SAFETY: no other code has the buffer before the kernel returns.
            let results = Scatter::span(unsafe { old.write_span() });
            kernel.fetch_scattered(&target, Operands::Bytes(data), &results, exclusion);
            Ok(Some(ReplyBody::Buffer(old)))
        }
        RequestKind::CompareSwap { place, kernel, .. } => {
            let (compare, origin) = data.split_at(kernel.ty().size());
            let element = one_run(own.locate_place(place, compare.len() as u64)?);
            let mut old: SmallVec<[u8; 16]> = SmallVec::from_elem(0, compare.len());
            kernel.apply(element, compare, origin, &mut old[..], exclusion);
            Ok(Some(ReplyBody::Bytes(old)))
        }
        RequestKind::Pack => store_all(own, exclusion, data),
        RequestKind::Unfinished { acknowledged, .. } => {
            own.control.unfinished().acknowledge(*acknowledged);
            Ok(Some(ReplyBody::Buffer(buffers.filled(&own.control.unfinished().report().to_bytes()))))
        }
        RequestKind::Sync
        | RequestKind::Post
        | RequestKind::Left
        | RequestKind::Revoked
        | RequestKind::Key
        | RequestKind::WakeUp => Ok(None),
    }
}

/// Carries out the entries of a pack, which were checked. One outside the window holds back no other, as if
/// each were a packet of its own; the answer is the first such error.
fn store_all(
    own: &MappedTarget,
    exclusion: &Domain<'_>,
    data: &[u8],
) -> Result<Option<ReplyBody>, OutOfRange> {
    let mut outside = None;
    for PackEntry { store, disp, data } in PackEntries::new(data).flatten() {
        match (own.locate(disp, data.len() as u64), store) {
            (Ok(span), Store::Put) => span.write(data),
            (Ok(span), Store::Accumulate(kernel)) => kernel.accumulate(span, data, exclusion),
            (Err(range), _) => outside = outside.or(Some(range)),
        }
    }
    outside.map_or(Ok(None), Err)
}

/// The bytes of a request that has no shape.
fn one_run(target: Scatter) -> WriteSpan {
    target.peek(usize::MAX).unwrap_or(WriteSpan::EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Layout;
    use crate::ids::{Disp, RequestId, Sequence, WindowId};
    use crate::kernel::ReduceOp;

    const LONGEST: u64 = 64;

    fn shaped(from: u64, runs: &[(i64, u64)]) -> TargetPlace {
        let layout = Layout::blocks(runs.iter().copied()).unwrap();
        TargetPlace { disp: Disp(0), area: Area::Shape { layout: Box::new(layout), from } }
    }

    fn check(kind: RequestKind, len: u64) -> bool {
        let window = WindowId { index: 0, generation: 0 };
        let request = Request { window, flags: RequestFlags::NONE, sequence: Sequence(1), kind };
        check_data(&request, len, LONGEST).is_ok()
    }

    #[test]
    fn data_that_a_shape_does_not_have_is_refused() {
        let runs = [(0, 8), (20, 16)];
        let reply_to = RequestId { index: 0, generation: 0 };
        for (from, len, is_legal) in
            [(0, 24, true), (0, 25, false), (8, 16, true), (8, 17, false), (23, 1, true)]
        {
            assert_eq!(check(RequestKind::Put(shaped(from, &runs)), len), is_legal, "put {len} from {from}");
            let get = RequestKind::Get { place: shaped(from, &runs), len, reply_to };
            assert_eq!(check(get, 0), is_legal, "get {len} from {from}");
        }
        assert!(!check(RequestKind::Put(shaped(0, &runs)), 0));
        let get = |len| RequestKind::Get { place: shaped(8, &runs), len, reply_to };
        assert!(!check(get(0), 0) && !check(get(u64::MAX), 0) && !check(get(8), 8));
    }

    #[test]
    fn shapes_that_tear_words_apart_are_refused() {
        let kernel = Kernel::new(ReduceOp::Sum, BasicType::I64).unwrap();
        let sum = |place| RequestKind::Accumulate { place, kernel };
        assert!(check(sum(shaped(0, &[(0, 8), (20, 16)])), 24));
        assert!(check(sum(shaped(8, &[(0, 8), (20, 16)])), 8));
        assert!(!check(sum(shaped(4, &[(0, 8), (20, 16)])), 8), "begins within a word");
        assert!(!check(sum(shaped(0, &[(0, 4), (20, 12)])), 16), "a word in two runs");
        assert!(!check(sum(shaped(0, &[(0, 8), (20, 16)])), 12), "ends within a word");
        // Wide elements are copied out before they are computed: any shape will do.
        let kernel = Kernel::new(ReduceOp::MinLoc, BasicType::ShortInt).unwrap();
        assert!(check(RequestKind::Accumulate { place: shaped(0, &[(0, 2), (4, 4)]), kernel }, 6));
    }

    #[test]
    fn get_accumulates_longer_than_a_unit_or_with_data_they_do_not_read_are_refused() {
        let request = |op, len| {
            let kernel = Kernel::new(op, BasicType::I64).unwrap();
            let reply_to = RequestId { index: 0, generation: 0 };
            RequestKind::GetAccumulate { place: TargetPlace::run(Disp(0), 0), kernel, len, reply_to }
        };
        assert!(check(request(ReduceOp::Sum, 64), 64) && check(request(ReduceOp::NoOp, 64), 0));
        assert!(!check(request(ReduceOp::Sum, 72), 72) && !check(request(ReduceOp::NoOp, 1 << 40), 0));
        assert!(!check(request(ReduceOp::Sum, 64), 0) && !check(request(ReduceOp::Sum, 64), 56));
        assert!(!check(request(ReduceOp::NoOp, 64), 64) && !check(request(ReduceOp::Sum, 0), 0));
        assert!(!check(request(ReduceOp::NoOp, 12), 0));
    }
}
