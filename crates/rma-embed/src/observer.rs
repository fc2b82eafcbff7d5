//! What the engine reports of epochs, packets and waits, handed to a function in C. One of the few files with `unsafe`.

use crate::abi::Event as CEvent;
use crate::errors::c_text;
use rma_ch_c::outside;
use rma_core::channel::Lane;
use rma_core::ids::{Rank, WindowId};
use rma_core::trace::{Event, Observer, Packet};
use std::ffi::{CString, c_int, c_void};
use std::ptr::null;

pub(crate) type Observe = unsafe extern "C" fn(*mut c_void, *const CEvent);

/// The embedder's function with its context.
pub(crate) struct ForeignObserver {
    pub(crate) function: Observe,
    pub(crate) context: *mut c_void,
}

// SAFETY: the embedder's promise: the function may be called from any thread, also at the same time.
unsafe impl Send for ForeignObserver {}
// SAFETY: as above.
unsafe impl Sync for ForeignObserver {}

/// An event as it is told: what does not concern it has its defaults.
#[derive(Clone, Copy)]
struct Told<'a> {
    kind: c_int,
    text: &'a str,
    waits_for: &'a str,
    window: Option<WindowId>,
    target: Option<Rank>,
    peer: u32,
    lane: c_int,
    number: u64,
    len: u64,
}

/// Nothing is known of it; `RMA_NO_WINDOW`, `RMA_RANK_NULL`.
const NOTHING: Told<'static> = Told {
    kind: 0,
    text: "",
    waits_for: "",
    window: None,
    target: None,
    peer: u32::MAX,
    lane: -1,
    number: 0,
    len: 0,
};

impl Observer for ForeignObserver {
    fn observe(&self, event: &Event<'_>) {
        let Some(told) = told(event) else { return };
        let text = |text: &str| (!text.is_empty()).then(|| c_text(text));
        let (name, waits_for) = (text(told.text), text(told.waits_for));
        let pointer = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
        let event = CEvent {
            size: size_of::<CEvent>(),
            kind: told.kind,
            text: pointer(&name),
            waits_for: pointer(&waits_for),
            window: told.window.map_or(u64::MAX, |id| id.to_bits().into()),
            target: told.target.map_or(u32::MAX, |rank| rank.0),
            peer: told.peer,
            lane: told.lane,
            number: told.number,
            len: told.len,
        };
        // SAFETY: the embedder's function with its context, and an event whose texts live until it returns.
        outside(|| unsafe { (self.function)(self.context, &event) });
    }
}

/// What there is to tell, with the number of its kind: `RMA_EVENT_…`.
fn told<'a>(event: &Event<'a>) -> Option<Told<'a>> {
    Some(match *event {
        Event::CallBegin { call, window, target } => Told { kind: 1, text: call, window, target, ..NOTHING },
        Event::CallEnd => Told { kind: 2, ..NOTHING },
        Event::Direct { call, window, target, len } => {
            Told { kind: 3, text: call, window: Some(window), target: Some(target), len, ..NOTHING }
        }
        Event::EpochOpen { id, window, kind, target } => {
            Told { kind: 4, text: kind, window: Some(window), target, number: id, ..NOTHING }
        }
        Event::EpochClose { id, window, kind, target } => {
            Told { kind: 5, text: kind, window: Some(window), target, number: id, ..NOTHING }
        }
        Event::PacketSent(packet) => of_packet(6, packet),
        Event::PacketReceived(packet) => of_packet(7, packet),
        Event::WaitBegin { call, waits_for } => Told { kind: 8, text: call, waits_for, ..NOTHING },
        Event::WaitEnd => Told { kind: 9, ..NOTHING },
        Event::Sleep => Told { kind: 10, ..NOTHING },
        Event::WindowName { window, name } => Told { kind: 11, text: name, window: Some(window), ..NOTHING },
        // What is added to the engine has a number here first.
        _ => return None,
    })
}

fn of_packet<'a>(kind: c_int, packet: Packet<'a>) -> Told<'a> {
    let lane = match packet.lane {
        Lane::Request => 0,
        Lane::Response => 1,
    };
    let Packet { peer, name, window, number, len, .. } = packet;
    Told { kind, text: name, window, peer: peer.0, lane, number, len, ..NOTHING }
}
