//! The bytes of packets and of letters through the lower channel.
//!
//! Everything is little-endian and of fixed width; `parse` is total: what does not have this form is `None`. Knows no peer.

use rma_core::channel::Lane;

/// What a peer has to show in each packet.
pub(crate) type Token = [u8; 16];

/// Bytes before the content of a packet.
pub(crate) const HEADER: usize = 40;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A small packet.
    Small = 1,
    /// The head of a bulk behind its length, with the first bytes of its body; the rest follows in pieces.
    Head = 2,
    /// A piece of the body of the lane's last head.
    Piece = 3,
    /// Nothing but credits, and word of bodies that were read: spends none itself.
    Credit = 4,
    /// The head of a bulk behind the [`Offer`] of its body, which the receiver reads.
    Offer = 5,
}

/// What stands before the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) token: Token,
    pub(crate) from: u32,
    pub(crate) kind: Kind,
    pub(crate) lane: Lane,
    /// Buffers that the sender has posted again, per lane of the other direction.
    pub(crate) credits: [u16; 2],
    /// Number of offered bodies that the sender has read, per lane of the other direction.
    pub(crate) read: [u8; 2],
    /// Number of the packet in its lane.
    pub(crate) sequence: u32,
    /// Length of the body that follows a head.
    pub(crate) body: u64,
}

impl Header {
    pub(crate) fn emit(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..16].copy_from_slice(&self.token);
        bytes[16..20].copy_from_slice(&self.from.to_le_bytes());
        bytes[20] = self.kind as u8;
        bytes[21] = self.lane as u8;
        bytes[22..24].copy_from_slice(&self.credits[0].to_le_bytes());
        bytes[24..26].copy_from_slice(&self.credits[1].to_le_bytes());
        bytes[26..28].copy_from_slice(&self.read);
        bytes[28..32].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.body.to_le_bytes());
        bytes
    }

    /// The header and the content behind it.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, content) = bytes.split_first_chunk::<HEADER>()?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let kinds = [Kind::Small, Kind::Head, Kind::Piece, Kind::Credit, Kind::Offer];
        let header = Self {
            token: *head.first_chunk()?,
            from: word(16),
            kind: kinds.into_iter().find(|kind| *kind as u8 == head[20])?,
            lane: *Lane::ALL.get(usize::from(head[21]))?,
            credits: [short(22), short(24)],
            read: [head[26], head[27]],
            sequence: word(28),
            body: u64::from(word(32)) | u64::from(word(36)) << 32,
        };
        Some((header, content))
    }
}

/// Where a body is read from; stands between header and head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) address: u64,
    pub(crate) key: u64,
}

/// Bytes of an [`Offer`].
pub(crate) const OFFER: usize = 16;

impl Offer {
    pub(crate) fn emit(self) -> [u8; OFFER] {
        let mut bytes = [0; OFFER];
        bytes[..8].copy_from_slice(&self.address.to_le_bytes());
        bytes[8..].copy_from_slice(&self.key.to_le_bytes());
        bytes
    }

    /// The offer and the head behind it.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (address, rest) = bytes.split_first_chunk()?;
        let (key, head) = rest.split_first_chunk()?;
        Some((Self { address: u64::from_le_bytes(*address), key: u64::from_le_bytes(*key) }, head))
    }
}

/// Bytes before a head: its length.
pub(crate) const HEAD_LEN: usize = 4;

/// The head, and the first bytes of its body.
pub(crate) fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<HEAD_LEN>()?;
    let (head, body) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
    (!head.is_empty()).then_some((head, body))
}

/// Longest address of an endpoint, so that a greeting fits the smallest packet.
pub(crate) const ADDRESS_MAX: usize = 128;
/// Longest reason that a letter carries.
const REASON_MAX: usize = 150;
/// What a greeting begins with: other versions differ.
const VERSION: u32 = 4;

/// What goes through the lower channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Letter {
    /// Where this process is reached, what to show it, and how much it takes.
    Greeting { packet: u32, credits: u32, token: Token, address: Vec<u8> },
    /// Nothing follows these numbers of packets, per lane.
    Goodbye([u32; 2]),
    /// All that a goodbye announced has arrived.
    Received,
    /// The peer is given up here.
    GivenUp(String),
    /// The memory of this key is to be accessed no more.
    Withdrawn { key: u64 },
    /// No transfer to the memory of this key is under way or begins.
    Unused { key: u64 },
}

impl Letter {
    pub(crate) fn emit(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        match self {
            Self::Greeting { packet, credits, token, address } => {
                bytes.push(1);
                for word in [VERSION, *packet, *credits] {
                    bytes.extend(word.to_le_bytes());
                }
                bytes.extend(token);
                bytes.extend(address);
            }
            Self::Goodbye(sent) => {
                bytes.push(2);
                sent.iter().for_each(|sent| bytes.extend(sent.to_le_bytes()));
            }
            Self::Received => bytes.push(3),
            Self::GivenUp(reason) => {
                bytes.push(4);
                bytes.extend(reason.bytes().take(REASON_MAX));
            }
            Self::Withdrawn { key } => {
                bytes.push(5);
                bytes.extend(key.to_le_bytes());
            }
            Self::Unused { key } => {
                bytes.push(6);
                bytes.extend(key.to_le_bytes());
            }
        }
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let word = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?));
        match kind {
            1 => {
                let (packet, credits) = (word(4)?, word(8)?);
                let token: Token = *rest.get(12..)?.first_chunk()?;
                let address = rest.get(28..)?;
                let fits = (1..=ADDRESS_MAX).contains(&address.len());
                (word(0)? == VERSION && credits > 0 && fits).then(|| Self::Greeting {
                    packet,
                    credits,
                    token,
                    address: address.to_vec(),
                })
            }
            2 if rest.len() == 8 => Some(Self::Goodbye([word(0)?, word(4)?])),
            3 if rest.is_empty() => Some(Self::Received),
            4 => Some(Self::GivenUp(String::from_utf8_lossy(rest).into_owned())),
            5 => Some(Self::Withdrawn { key: u64::from_le_bytes(rest.try_into().ok()?) }),
            6 => Some(Self::Unused { key: u64::from_le_bytes(rest.try_into().ok()?) }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma_core::channel::MIN_PACKET;

    #[test]
    fn headers_come_back_and_others_are_refused() {
        for (kind, lane) in
            [(Kind::Small, Lane::Request), (Kind::Head, Lane::Response), (Kind::Credit, Lane::Request)]
        {
            let (token, credits, read, sequence) = ([7; 16], [3, 65535], [0, 255], u32::MAX);
            let header = Header { token, from: 9, kind, lane, credits, read, sequence, body: 1 << 40 };
            let bytes = [&header.emit()[..], b"content"].concat();
            assert_eq!(Header::parse(&bytes), Some((header, &b"content"[..])));
            for (at, wrong) in [(20, 0), (20, 6), (21, 2)] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                assert_eq!(Header::parse(&bytes), None);
            }
            assert_eq!(Header::parse(&bytes[..HEADER - 1]), None);
        }
    }

    #[test]
    fn a_head_is_parted_from_the_first_bytes_of_its_body() {
        let bytes = [&4u32.to_le_bytes()[..], b"headbody"].concat();
        assert_eq!(split_head(&bytes), Some((&b"head"[..], &b"body"[..])));
        assert_eq!(split_head(&bytes[..8]), Some((&b"head"[..], &b""[..])));
        for len in [0, 9, u32::MAX] {
            assert_eq!(split_head(&[&len.to_le_bytes()[..], b"headbody"].concat()), None, "{len}");
        }
        (0..8).for_each(|cut| assert_eq!(split_head(&bytes[..cut]), None, "{cut}"));
    }

    #[test]
    fn offers_come_back() {
        let offer = Offer { address: 1 << 60, key: 7 };
        let bytes = [&offer.emit()[..], b"head"].concat();
        assert_eq!(Offer::parse(&bytes), Some((offer, &b"head"[..])));
        assert_eq!(Offer::parse(&bytes[..OFFER - 1]), None);
    }

    #[test]
    fn letters_come_back_and_fit_the_smallest_packet() {
        let letters = [
            Letter::Greeting { packet: 192, credits: 1, token: [1; 16], address: vec![5; ADDRESS_MAX] },
            Letter::Goodbye([1, 2]),
            Letter::Received,
            Letter::GivenUp("x".repeat(REASON_MAX)),
            Letter::Withdrawn { key: 1 << 60 },
            Letter::Unused { key: u64::MAX },
        ];
        for letter in letters {
            let bytes = letter.emit();
            assert!(bytes.len() <= MIN_PACKET, "{letter:?}");
            for cut in 0..bytes.len() {
                // Cut short it is another letter or none, and never a panic.
                let _ = Letter::parse(&bytes[..cut]);
            }
            assert_eq!(Letter::parse(&bytes), Some(letter));
        }
        assert_eq!(Letter::parse(&[]), None);
        assert_eq!(Letter::parse(&[9]), None);
        for kind in [5, 6] {
            (0..12).filter(|len| *len != 8).for_each(|len| {
                assert_eq!(
                    Letter::parse(&[&[kind][..], &vec![1; len]].concat()),
                    None,
                    "{kind}, {len} bytes"
                );
            });
        }
        let none = Letter::Greeting { packet: 1, credits: 0, token: [0; 16], address: vec![1] };
        assert_eq!(Letter::parse(&none.emit()), None);
    }
}
