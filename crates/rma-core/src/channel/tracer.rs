//! Placeholder.
#[derive(Debug)]
/// Placeholder.
pub struct Tracer;
#[derive(Debug)]
/// Placeholder.
pub struct TraceEvent;
#[derive(Debug)]
/// Placeholder.
pub struct TraceLog;
