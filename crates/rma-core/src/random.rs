//! Random bytes of the system, for secrets and names that are not guessed.

use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// So many fresh ones.
///
/// # Errors
/// When the system has none.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let (mut bytes, mut filled) = ([0; N], 0);
    while filled < N {
        filled += retry_on_intr(|| getrandom(&mut bytes[filled..], GetRandomFlags::empty()))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_fresh_and_all_filled() {
        let (first, second) = (random::<1000>().unwrap(), random::<1000>().unwrap());
        assert!(first != second);
        assert!([&first, &second].iter().all(|bytes| bytes[500..].iter().any(|byte| *byte != 0)));
        assert_eq!(random::<0>().unwrap(), []);
    }
}
