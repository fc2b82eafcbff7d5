//! Counters: plain numbers, each changed by one method that says what happened.
//!
//! Every window has counters of its own, the engine has those for what belongs to no window, and the sum is what the process
//! has done: an event is counted once, where it belongs.
//!
//! They show what a user must know (lessons, decision 10): pool exhausted, operation had to wait, lock waited, bytes sent
//! again, acknowledgements merged. Read as a copy; nothing in the engine decides by them.

use crate::ids::Peer;
use std::collections::BTreeMap;
use std::time::Duration;

macro_rules! counters {
    (
        window { $($name:ident, $method:ident, $doc:literal;)* }
        engine { $($other:ident, $other_method:ident, $other_doc:literal;)* }
    ) => {
        /// What an engine has done since it was made, for all windows or for one.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $(#[doc = $doc] pub $name: u64,)*
            $(#[doc = $other_doc] pub $other: u64,)*
        }

        impl Counters {
            /// How many of the rows are of windows: the first ones. The others belong to no window.
            pub const OF_WINDOWS: usize = [$(stringify!($name)),*].len();

            /// Every counter: name, text and value.
            pub fn rows(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![
                    $((stringify!($name), $doc.trim_ascii(), self.$name),)*
                    $((stringify!($other), $other_doc.trim_ascii(), self.$other),)*
                ]
            }

            /// Adds what others have counted.
            pub(crate) fn add(&mut self, others: &Self) {
                $(self.$name += others.$name;)*
                $(self.$other += others.$other;)*
            }

            $(pub(crate) fn $method(&mut self, by: u64) {
                self.$name += by;
            })*

            $(pub(crate) fn $other_method(&mut self, by: u64) {
                self.$other += by;
            })*
        }
    };
}

counters! {
    window {
        packets_sent, on_packets_sent, "One-sided packets committed to channels, bulk heads included.";
        packets_received, on_packets_received, "One-sided packets taken from channels, bulk heads included.";
        bytes_sent, on_bytes_sent, "Bytes of operation data sent, with the heads of those that share a packet.";
        bytes_received, on_bytes_received, "Bytes of operation data received, with the heads of those that share a packet.";
        ops_queued, on_ops_queued, "Operations that went through the operation table.";
        ops_issued, on_ops_issued, "Operations of the table whose last packet has been sent.";
        piggybacked_locks, on_piggybacked_locks, "Lock requests that rode on an operation.";
        piggybacked_unlocks, on_piggybacked_unlocks, "Unlocks that rode on an operation.";
        locks_waited, on_locks_waited, "Lock requests that found the lock taken, at their target, or at their origin where it maps the target.";
        lock_data_refused, on_lock_data_refused, "Operations dropped at a target because too much data waited for its lock.";
        bytes_sent_again, on_bytes_sent_again, "Bytes of operation data sent again after such a refusal.";
        op_pool_exhausted, on_op_pool_exhausted, "Operations that had to wait for an operation element.";
        target_pool_exhausted, on_target_pool_exhausted, "Operations that had to wait for a target element.";
        lock_all_fallbacks, on_lock_all_fallbacks, "Epochs of lock_all that asked all ranks for the lock because target elements ran short.";
        channel_full, on_channel_full, "Sends that found no room in the channel.";
        mapped_puts, on_mapped_puts, "Puts in mapped memory, in a process that keeps statistics (RMA_STATS=1).";
        mapped_gets, on_mapped_gets, "Gets in mapped memory, likewise.";
        mapped_accumulates, on_mapped_accumulates, "Accumulates, fetches and compare-and-swaps in mapped memory, likewise.";
        mapped_bytes, on_mapped_bytes, "Bytes of all these operations, likewise.";
        transfers, on_transfers, "Writes and reads of remote memory that channels were given instead of packets.";
        transferred_bytes, on_transferred_bytes, "Bytes of these.";
    }
    engine {
        acks_merged, on_acks_merged, "Acknowledgements that a later one replaced before they left.";
        wake_ups_sent, on_wake_ups_sent, "Wake-ups sent to processes that wait for a lock held by direct access.";
        progress_steps, on_progress_steps, "Steps of the progress engine.";
        sleeps, on_sleeps, "Waits that ended in a sleep.";
        turns_given, on_turns_given, "Turns of the processor that waits and polls have given to other processes.";
    }
}

/// Time that calls have waited, in a process that keeps statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// By call: waits, and their time.
    pub calls: BTreeMap<&'static str, (u64, Duration)>,
    /// By process that the waits needed. Processes that were needed together have the same time each.
    pub peers: BTreeMap<Peer, Duration>,
}

impl Waited {
    pub(crate) fn on_waited(&mut self, call: &'static str, time: Duration, peers: &[(Peer, Duration)]) {
        let (waits, sum) = self.calls.entry(call).or_default();
        (*waits, *sum) = (*waits + 1, *sum + time);
        for (peer, time) in peers {
            *self.peers.entry(*peer).or_default() += *time;
        }
    }
}

/// Elements of the pools that are in use, and the most that were at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElementCounts {
    /// Operation elements in use: operations that are queued or not complete.
    pub ops: u32,
    /// The most of them at once.
    pub most_ops: u32,
    /// Target elements in use: targets in contact.
    pub targets: u32,
    /// The most of them at once.
    pub most_targets: u32,
}
