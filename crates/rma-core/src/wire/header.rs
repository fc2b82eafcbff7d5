//! The first two bytes of every packet: version and protocol. What follows belongs to the protocol.

/// Version of the packet formats; both ends of a job must have the same.
pub const VERSION: u8 = 3;

/// Length of the common header.
pub const HEADER_LEN: usize = 2;

/// The receiver of a packet. One-sided packets, messages and control share a channel, in order within a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Protocol {
    /// The engine's own packets.
    OneSided = 1,
    /// Messages of the host above (two-sided, collectives).
    Message = 2,
}

/// The common header of a packet for `protocol`.
pub const fn header(protocol: Protocol) -> [u8; HEADER_LEN] {
    [VERSION, protocol as u8]
}

/// The protocol of a packet, or why it is none of ours.
///
/// # Errors
/// A reason for a refusal.
pub fn check_header(packet: &[u8]) -> Result<Protocol, &'static str> {
    match packet {
        [] | [_] => Err("shorter than a packet header"),
        [version, ..] if *version != VERSION => Err("another version of the packet format"),
        [_, 1, ..] => Ok(Protocol::OneSided),
        [_, 2, ..] => Ok(Protocol::Message),
        _ => Err("unknown protocol"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_and_foreign_ones_are_refused() {
        for protocol in [Protocol::OneSided, Protocol::Message] {
            assert_eq!(check_header(&header(protocol)), Ok(protocol));
        }
        for bad in [&[][..], &[VERSION], &[VERSION + 1, 1], &[VERSION, 0], &[VERSION, 3]] {
            assert!(check_header(bad).is_err(), "{bad:?}");
        }
    }
}
