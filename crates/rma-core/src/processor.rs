//! The kind of processor that a process is built for, as far as the bytes of numbers depend on it.
//!
//! Data goes from one process to another as it lies in memory, so its bytes have to mean the same in all
//! processes of a job. Channels send the kind when two processes meet, and refuse another one. Invariant:
//! kinds with equal words give every datatype the same bytes. Knows nothing of how the word is sent.

use crate::kernel::long_double_code;
use std::fmt;

/// A kind of processor. Equal kinds understand each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor(u32);

impl Processor {
    /// The kind that this process is built for.
    pub const HERE: Self = Self::new(
        if cfg!(target_endian = "big") { 2 } else { 1 },
        size_of::<usize>() as u8,
        long_double_code(),
    );

    /// Order of bytes (1 little-endian, 2 big-endian), bytes of an address, and the format of `long double` (1 extended precision
    /// of the x87, 2 IEEE quadruple precision).
    const fn new(order: u8, address: u8, long_double: u8) -> Self {
        Self(u32::from_le_bytes([order, address, long_double, 0]))
    }

    /// The kind as a number, to be sent in an order of bytes that both sides know.
    pub const fn word(self) -> u32 {
        self.0
    }

    /// The kind of this number, known here or not.
    pub const fn of_word(word: u32) -> Self {
        Self(word)
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [order, address, long_double, rest] = self.0.to_le_bytes();
        let order = match order {
            1 => "little-endian",
            2 => "big-endian",
            _ => "of an unknown order of bytes",
        };
        let long_double = match long_double {
            1 => "extended precision (x87)",
            2 => "IEEE quadruple precision",
            _ => "of an unknown format",
        };
        write!(f, "{order}, addresses of {} bits, long double {long_double}", u32::from(address) * 8)?;
        if rest != 0 {
            write!(f, ", and {rest} that this version does not know")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_differ_in_each_part_and_say_so() {
        let kinds = [(1, 8, 1), (2, 8, 1), (1, 4, 1), (1, 8, 2)].map(|(a, b, c)| Processor::new(a, b, c));
        for (at, kind) in kinds.iter().enumerate() {
            assert_eq!(Processor::of_word(kind.word()), *kind);
            for other in &kinds[..at] {
                assert_ne!(kind, other);
                assert_ne!(kind.to_string(), other.to_string());
            }
        }
        assert_eq!(
            kinds[0].to_string(),
            "little-endian, addresses of 64 bits, long double extended precision (x87)"
        );
        assert!(!Processor::HERE.to_string().contains("unknown"), "{}", Processor::HERE);
        assert!(
            Processor::of_word(0x0100_0801 | 1 << 16)
                .to_string()
                .ends_with("1 that this version does not know")
        );
    }
}
