//! The head of a store to consecutive bytes at a displacement, put where its packet is made: the same bytes as those of
//! [`Request::emit`](super::Request::emit), for the store that leaves in a packet of its own most often.

use super::fields::{FIXED, fixed};
use super::flags::RequestFlags;
use super::pack::Store;
use super::request::{ACCUMULATE, PLACED, PUT};
use crate::ids::{Disp, Sequence, WindowId};

/// Longest head of a store.
pub(crate) const STORE_HEAD: usize = PLACED + 2;

/// Longest store whose packet is put together before the channel has it. Every channel carries so much in a small packet, whatever its
/// settings.
pub(crate) const SHORT_STORE: usize = 128;

/// Puts the head at the front of a packet; answers how long it is.
#[inline]
pub(crate) fn put_store_head(
    packet: &mut [u8; STORE_HEAD],
    window: WindowId,
    flags: RequestFlags,
    sequence: Sequence,
    store: Store,
    disp: Disp,
    run: u64,
) -> usize {
    let code = if store == Store::Put { PUT } else { ACCUMULATE };
    packet[..FIXED].copy_from_slice(&fixed(code, flags.bits(), window, sequence));
    packet[FIXED..FIXED + 8].copy_from_slice(&disp.0.to_le_bytes());
    packet[FIXED + 8..PLACED].copy_from_slice(&run.to_le_bytes());
    match store {
        Store::Put => PLACED,
        Store::Accumulate(kernel) => {
            packet[PLACED..].copy_from_slice(&[kernel.op().code(), kernel.ty().code()]);
            STORE_HEAD
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request, RequestKind, TargetPlace};
    use super::*;
    use crate::datatype::BasicType;
    use crate::kernel::{Kernel, ReduceOp};

    #[test]
    fn it_is_the_head_that_the_request_has() {
        let (window, sequence, disp) =
            (WindowId { index: 7, generation: 9 }, Sequence(u64::MAX - 2), Disp(77));
        let kernel = Kernel::new(ReduceOp::Max, BasicType::F64).unwrap();
        let place = || TargetPlace::run(disp, 5);
        let stores = [
            (Store::Put, RequestKind::Put(place())),
            (Store::Accumulate(kernel), RequestKind::Accumulate { place: place(), kernel }),
        ];
        for (store, kind) in stores {
            for flags in [RequestFlags::NONE, RequestFlags::ACK] {
                let request = Request { window, flags, sequence, kind: kind.clone() };
                let mut packet = [0xff; STORE_HEAD];
                let len = put_store_head(&mut packet, window, flags, sequence, store, disp, 5);
                assert_eq!(&packet[..len], &request.emit()[..], "{request}");
            }
        }
    }
}
