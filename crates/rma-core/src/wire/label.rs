//! What a packet is called in traces: one word, read off its first bytes, also when the rest was not kept.

use super::flags::RequestFlags;
use super::header::HEADER_LEN;
use super::request;
use super::response::{self, ResponseFlags};
use crate::ids::WindowId;

/// The name of a one-sided packet of the request lane or the response lane, and the window that it is for.
pub(crate) fn kind_and_window(is_request: bool, head: &[u8]) -> (&'static str, Option<WindowId>) {
    let Some([code, flags, window @ ..]) = head.get(HEADER_LEN..) else { return ("unknown", None) };
    let window = window.first_chunk().map(|bits| WindowId::from_bits(u32::from_le_bytes(*bits)));
    if *code == request::WAKE_UP {
        return ("wake_up", None);
    }
    let name = match is_request {
        true => request::name_of(*code, RequestFlags::parse(*flags).unwrap_or_default()),
        false => response::name_of(*code, ResponseFlags::from_bits(*flags)),
    };
    (name, window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Sequence;
    use crate::wire::{Request, RequestKind, Response, ResponseKind};

    const WINDOW: WindowId = WindowId { index: 3, generation: 9 };

    #[test]
    fn packets_without_an_operation_are_called_by_what_they_ask_for() {
        for (flags, name) in [
            (RequestFlags::LOCK_SHARED, "lock"),
            (RequestFlags::LOCK_EXCLUSIVE.with(RequestFlags::HOLDS), "lock"),
            (RequestFlags::UNLOCK, "unlock"),
            (RequestFlags::DONE, "done"),
            (RequestFlags::FENCE, "fence"),
            (RequestFlags::ACK, "ack request"),
        ] {
            let request = Request { window: WINDOW, flags, sequence: Sequence(1), kind: RequestKind::Sync };
            assert_eq!(kind_and_window(true, &request.emit()), (name, Some(WINDOW)));
        }
        for (flags, name) in [
            (ResponseFlags::NONE, "ack"),
            (ResponseFlags::GRANT, "grant"),
            (ResponseFlags::GRANT.with(ResponseFlags::BEQUEATHED), "grant"),
            (ResponseFlags::REFUSED, "refused"),
        ] {
            let response = Response { window: WINDOW, flags, sequence: Sequence(1), kind: ResponseKind::Ack };
            assert_eq!(kind_and_window(false, &response.emit()), (name, Some(WINDOW)));
        }
        assert_eq!(kind_and_window(true, &[1, 1]), ("unknown", None));
        assert_eq!(kind_and_window(true, &[1, 1, 63, 0]), ("unknown", None));
    }
}
