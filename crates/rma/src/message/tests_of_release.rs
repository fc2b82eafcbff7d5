//! Requests that let go of their caller's memory before they have ended.

use super::tests::{bytes, configs, finish};
use super::{Plane, Scope};
use crate::testing::Net;
use rma_core::channel::MIN_PACKET;
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};

const SCOPE: Scope = Scope { context: 1, plane: Plane::User };

#[test]
fn a_released_send_goes_on_with_a_copy_and_a_released_receive_stores_nothing() {
    for config in &configs() {
        for len in [0, 3, 200, 5000] {
            for steps in 0..40 {
                let mut net = Net::new(2, config, 2, MIN_PACKET, steps);
                let message = bytes(1, len);
                let mut memory = message.clone();
                // SAFETY: the memory is not changed before it has been released.
                let gather = Gather::span(unsafe { ReadSpan::new(memory.as_ptr(), len) });
                let mut send = net.messengers[0].begin_send_lent(Peer(1), SCOPE, 1, gather).unwrap();
                let mut room = vec![0xee; len];
                // SAFETY: as above.
                let scatter = Scatter::span(unsafe { WriteSpan::new(room.as_mut_ptr(), len) });
                let messenger = net.messengers[0].clone();
                let mut lost = messenger.begin_receive_exactly(SCOPE, Peer(1), 2, scatter, u64::MAX).unwrap();
                let back = net.messengers[1].begin_send(Peer(0), SCOPE, 2, message.clone()).unwrap();
                for _ in 0..steps {
                    net.step();
                }
                net.run_until(|_| lost.release());
                room.fill(0xaa);
                drop(lost);
                let mut receive =
                    net.messengers[1].begin_receive(SCOPE, Some(Peer(0)), Some(1), u64::MAX).unwrap();
                for _ in 0..steps {
                    net.step();
                }
                net.run_until(|_| send.release());
                memory.fill(0xaa);
                drop((send, back));
                let received = finish(&mut net, || receive.test()).unwrap();
                assert_eq!(received.data, Some(message), "after {steps} steps");
                while net.step() {}
                assert!(room.iter().all(|byte| *byte == 0xaa), "after {steps} steps");
            }
        }
    }
}
