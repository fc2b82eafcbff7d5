//! Placeholder.
#[derive(Debug)]
/// Placeholder.
pub struct Router;
