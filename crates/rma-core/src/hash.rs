//! Hash maps for small keys that are looked up with every packet: process numbers, scopes of messages.
//!
//! A hash that resists chosen keys costs more than the rest of a short message. The keys here are chosen by the processes of
//! one job, which know its secret, and what each of them can make others keep is bounded: the worst that chosen keys do is
//! to make a look-up walk over what that one process was granted.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map for such keys.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// One multiplication for each number of a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickHasher(u64);

/// 2⁶⁴ divided by the golden ratio, odd: neighbouring numbers are spread over all upper bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl QuickHasher {
    #[inline]
    fn mix(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.mix(number as u64);
    }

    /// The upper bits are the good ones, and a map takes the lower ones as well.
    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Peer;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    fn hash(key: impl Hash) -> u64 {
        BuildHasherDefault::<QuickHasher>::default().hash_one(key)
    }

    #[test]
    fn neighbouring_keys_share_few_places() {
        for shift in [0, 3, 8, 16] {
            let places: HashSet<u64> = (0..1024u32).map(|n| hash(Peer(n << shift)) % 2048).collect();
            assert!(places.len() > 512, "{} places for keys {shift} bits apart", places.len());
        }
        let pairs = (0..32u64).flat_map(|a| (0..32u8).map(move |b| hash((a << 32, b))));
        assert_eq!(pairs.collect::<HashSet<_>>().len(), 1024);
    }

    #[test]
    fn a_map_finds_what_it_was_given() {
        let mut map: QuickMap<(Peer, &str), u32> = QuickMap::default();
        map.extend((0..100).map(|n| ((Peer(n), "lane"), n)));
        assert!((0..100).all(|n| map.get(&(Peer(n), "lane")) == Some(&n)));
        assert_eq!(map.get(&(Peer(100), "lane")), None);
    }
}
