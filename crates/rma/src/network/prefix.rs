//! A network: an address and how many of its leading bits all addresses of the network share.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address in its network, or a network, as in `10.77.0.0/16` or `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// The network of an address whose mask has `prefix` bits.
    pub(super) fn new(address: IpAddr, prefix: u32) -> Self {
        Self { address, prefix: prefix.min(bits(&address).1) }
    }

    /// The address that the network is written by.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether an address lies in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((own, len), (other, other_len)) = (bits(&self.address), bits(&address));
        // A shift by all 128 bits is none.
        let shift = 128 - self.prefix - (128 - len);
        len == other_len && (own ^ other).checked_shr(shift).unwrap_or(0) == 0
    }
}

/// The bits of an address, and how many they are.
fn bits(address: &IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u32::from(*address).into(), 32),
        IpAddr::V6(address) => (u128::from(*address), 128),
    }
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, prefix) = text.split_once('/').ok_or(())?;
        let address: IpAddr = address.parse().map_err(drop)?;
        let prefix = prefix.parse().ok().filter(|prefix| *prefix <= bits(&address).1).ok_or(())?;
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_what_shares_their_leading_bits() {
        for (network, inside, outside) in [
            ("10.77.0.0/16", "10.77.255.1", "10.78.0.1"),
            ("10.77.3.9/24", "10.77.3.1", "10.77.4.1"),
            ("192.0.2.7/32", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fdff::1", "fe80::1"),
            ("::/0", "fd00::1", "10.0.0.1"),
            ("fd77::1/128", "fd77::1", "fd77::2"),
        ] {
            let parsed: Network = network.parse().unwrap();
            assert_eq!(parsed.to_string(), network);
            assert!(parsed.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!parsed.contains(outside.parse().unwrap()), "{network} {outside}");
        }
        for bad in ["", "10.0.0.1", "10.0.0.0/33", "10.0.0.0/x", "::/129", "/8", "10.0.0.0/-1", "10.0/8"] {
            assert_eq!(bad.parse::<Network>(), Err(()), "{bad}");
        }
    }
}
