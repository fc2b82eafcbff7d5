//! The variables of messages.

rma_core::variables! {
    /// Sizes of messages.
    pub struct MessageConfig {
        /// Longest message that travels at once.
        eager_bytes: u64 = 4096u64, "RMA_MESSAGE_EAGER", Bytes, 0..=1 << 20,
            "messages up to this size travel at once if the receiver has room; longer ones are announced first",
            "past a page the copy into the receiver's keeping costs more than the announcement";
        /// Room for messages that no receive has asked for.
        window_bytes: u64 = 65536u64, "RMA_MESSAGE_WINDOW", Bytes, 1..=1 << 30,
            "bytes of messages from one peer that are kept before they are asked for; the same on all ranks",
            "a thousand short messages, so that the library's own collectives never announce";
    }
}
