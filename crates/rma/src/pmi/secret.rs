//! The secret of a job: what its ranks prove to each other that they belong together.
//!
//! It travels only through the launcher's key-value space, which only ranks can read: never on a command line or in an
//! environment.

use rma_core::random::random;
use std::fmt;
use std::io;

/// Key under which the launcher, or rank 0 under a launcher that does not, publishes the secret of the job.
pub const SECRET_KEY: &str = "rma-secret";

/// 32 random bytes. Prints itself without showing them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// A new secret.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn generate() -> io::Result<Self> {
        let bytes = random().map_err(|error| io::Error::other(format!("cannot get random bytes: {error}")));
        bytes.map(Self)
    }

    /// The bytes, for a channel.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// The form that the key-value space carries.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The inverse of [`Secret::to_hex`]; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        (digits.len() == 64).then(|| bytes.try_into().ok().map(Self)).flatten()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_survive_their_text_and_do_not_show_themselves() {
        let secret = Secret::generate().unwrap();
        assert_eq!(Secret::from_hex(&secret.to_hex()), Some(secret));
        assert_ne!(Secret::generate().unwrap(), secret);
        assert!(!format!("{secret:?}").contains(&secret.to_hex()[..4]));
        for bad in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Secret::from_hex(bad), None, "{bad}");
        }
    }
}
