//! The contract of channels as tests. Placeholder.
