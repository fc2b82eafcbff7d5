//! Blocks of several ranks in one message: each with its length in front.

use rma_core::{Error, ErrorClass, Result};

const LENGTH: usize = size_of::<u64>();

/// The message of these blocks.
pub(crate) fn join<B: AsRef<[u8]>>(blocks: &[B]) -> Vec<u8> {
    let len = blocks.iter().map(|block| LENGTH + block.as_ref().len()).sum();
    let mut message = Vec::with_capacity(len);
    for block in blocks {
        message.extend_from_slice(&(block.as_ref().len() as u64).to_le_bytes());
        message.extend_from_slice(block.as_ref());
    }
    message
}

/// The blocks of a message, of which there must be `count`.
pub(crate) fn split(mut message: &[u8], count: u32) -> Result<Vec<Vec<u8>>> {
    let malformed = || Error::new(ErrorClass::Intern, "gather", "a message is not made of blocks as agreed");
    let mut blocks = Vec::new();
    while let Some((length, rest)) = message.split_first_chunk::<LENGTH>() {
        let len = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| malformed())?;
        let (block, rest) = rest.split_at_checked(len).ok_or_else(malformed)?;
        blocks.push(block.to_vec());
        message = rest;
    }
    match message {
        [] if blocks.len() == count as usize => Ok(blocks),
        _ => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_survive_and_anything_else_is_an_error() {
        let blocks = [&b"one"[..], b"", b"three"];
        let message = join(&blocks);
        assert_eq!(split(&message, 3).unwrap(), blocks);
        for count in [0, 2, 4] {
            assert!(split(&message, count).is_err());
        }
        for len in 0..message.len() {
            assert!(split(&message[..len], 3).is_err(), "cut to {len}");
        }
        assert!(split(&[0xff; 8], 1).is_err());
        assert_eq!(split(&[], 0).unwrap(), Vec::<Vec<u8>>::new());
    }
}
