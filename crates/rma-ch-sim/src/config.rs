//! The variables of a simulated network.

rma_core::variables! {
    /// Sizes of a simulated network. Every limit may be at its minimum, and is tested there.
    pub struct SimConfig {
        /// Packets that one lane of a pair holds.
        lane_packets: u64 = 16u64, "RMA_SIM_LANE_PACKETS", Count, 1..=1 << 16,
            "packets that one lane from one rank to another holds before it is full",
            "enough that a burst of small operations does not wait for the receiver's thread";
        /// Longest small packet.
        max_packet: u64 = 4096u64, "RMA_SIM_MAX_PACKET", Bytes, 192..=1 << 20,
            "longest packet that is built in place",
            "the size of a ring entry of real channels";
        /// Size from which bodies travel as bulk.
        bulk_from: u64 = 1024u64, "RMA_SIM_BULK_FROM", Bytes, 1..=1 << 20,
            "bodies from this size on are copied straight from the sender's memory",
            "below it a second copy costs less than the notice that the body has left";
        /// Bytes of a body moved by one poll.
        body_step_bytes: u64 = 1u64 << 20, "RMA_SIM_BODY_STEP", Bytes, 1..=1 << 30,
            "bytes of one bulk body that one poll of the receiver copies at most",
            "about 0.1 ms of copying";
        /// Transfers of one rank with one peer.
        transfers: u64 = 0u64, "RMA_SIM_TRANSFERS", Count, 0..=1 << 16,
            "transfers to and from remote memory that one rank has under way with another; 0 offers none",
            "most tests count the packets of a network that has nothing else";
        /// Shortest transfer.
        transfer_from: u64 = 256u64, "RMA_SIM_TRANSFER_FROM", Bytes, 1..=1 << 30,
            "bytes from which a transfer is said to cost less than a packet",
            "about where networks have it";
        /// Longest transfer.
        transfer_bytes: u64 = 1u64 << 30, "RMA_SIM_TRANSFER_BYTES", Bytes, 1..=1 << 30,
            "longest transfer",
            "as networks have it";
        /// Buffers that are refused.
        transfer_refuses: u64 = 0u64, "RMA_SIM_TRANSFER_REFUSES", Count, 0..=1 << 16,
            "of so many buffers for transfers one cannot be used; 0 refuses none",
            "networks refuse a buffer when the system locks no more memory";
        /// Ranks on one virtual node.
        ranks_per_node: u64 = 0u64, "RMA_RANKS_PER_NODE", Count, 0..=1 << 32,
            "ranks that share memory with each other, as if on one node; 0 puts all on one",
            "all ranks of a simulation are in one process";
    }
}

impl SimConfig {
    /// Everything at its minimum: one packet per lane, and the shortest packets that the contract allows.
    pub fn smallest() -> Self {
        Self { lane_packets: 1, max_packet: 192, bulk_from: 1, body_step_bytes: 1, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_configuration_is_legal() {
        let smallest = SimConfig::smallest();
        let settings = smallest.settings();
        let look_up = |name: &str| settings.iter().find(|s| s.variable.name == name).map(|s| s.value.clone());
        assert_eq!(SimConfig::read(&look_up), Ok(smallest.clone()));
        assert_eq!(smallest.max_packet as usize, rma_core::channel::MIN_PACKET);
    }
}
