//! What the way between ranks means for what a test can do in its time.

/// Whether a path takes most of a minute for what others do in a second: TCP with buffers of a packet and pieces of a byte.
pub(crate) fn is_slow(path: &[(&str, &str)]) -> bool {
    let goes_by_tcp = path.iter().any(|(name, value)| *name == "RMA_RANKS_PER_NODE" || *value == "tcp");
    goes_by_tcp && std::env::var_os("RMA_TEST_SMALLEST").is_some()
}

/// The action of `rma-test-world` that sends messages of all sizes that the path carries in a few seconds.
pub(crate) fn messages(path: &[(&str, &str)]) -> &'static str {
    if is_slow(path) { "messages 70000" } else { "messages" }
}
