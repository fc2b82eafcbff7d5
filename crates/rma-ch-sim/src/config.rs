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
