//! The decoder of frames under any bytes, for fuzzers: not for programs.

use crate::frame::{BULK_HEADER, Decoder, HEADER, Step};

/// Reads the bytes as a stream, in pieces whose lengths the first byte decides, and all at once: both say the same.
///
/// # Panics
/// When they do not, or the decoder asks for what it must not.
pub fn frames(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    let (longest, piece) = (300, 1 + usize::from(*piece));
    let whole = read(longest, [stream]);
    let pieces = read(longest, stream.chunks(piece));
    assert_eq!(whole, pieces, "pieces of {piece} bytes");
}

/// What a stream says, one number for each fact, and whether it was refused.
fn read<'a>(longest: u32, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u64>, bool) {
    let mut decoder = Decoder::new(longest);
    let (mut kept, mut said) = (Vec::new(), Vec::new());
    for piece in pieces {
        kept.extend_from_slice(piece);
        loop {
            if let Some(body) = decoder.body() {
                let len = kept.len().min(body.chunk_left as usize);
                assert!(u64::from(body.chunk_left) <= body.body_left);
                if len == 0 {
                    break;
                }
                said.extend(kept.drain(..len).map(u64::from));
                if decoder.body_arrived(len as u32) {
                    said.push(u64::MAX);
                }
                continue;
            }
            let used = match decoder.decode(&kept) {
                Err(_) => return (said, true),
                Ok(Step::Need(len)) => {
                    assert!(len > kept.len() && len <= longest as usize + BULK_HEADER);
                    break;
                }
                Ok(Step::Packet { lane, bytes, used }) => {
                    said.extend([1, lane as u64, bytes.len() as u64]);
                    said.extend(bytes.iter().copied().map(u64::from));
                    used
                }
                Ok(Step::Bulk { lane, head, body_len, used }) => {
                    said.extend([2, lane as u64, head.len() as u64, body_len]);
                    used
                }
                Ok(Step::Chunk) => HEADER,
                Ok(Step::Goodbye) => {
                    assert!(decoder.said_goodbye());
                    said.push(4);
                    HEADER
                }
            };
            kept.drain(..used);
        }
    }
    (said, false)
}
