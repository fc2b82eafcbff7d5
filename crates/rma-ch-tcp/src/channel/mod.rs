//! The channel: its calls, and what the system is asked about its sockets.

mod tcp_channel;
mod watch;

pub(crate) use tcp_channel::Listener;
pub use tcp_channel::{SystemCalls, TcpChannel};
