//! Which address of this machine is published to other machines.
//!
//! Candidates are ordered: the address that the machine's own name stands for, then the others in the
//! system's order, IPv4 before IPv6, and bridges last. Where machines have several networks, ranks listen in
//! the first of rank 0's that they are in: an address is of use only to machines that are in its network, or
//! have a route there.

use super::Network;
use super::interfaces::{self, Interface};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// Longest text of candidates.
const LEN_MAX: usize = 800;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The order above.
    Order,
    /// The first address in this network, on whichever interface.
    In(Network),
}

/// Addresses of this machine that others may reach, in order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidates(Vec<Network>);

impl Candidates {
    /// Those of this machine.
    pub(crate) fn find(choice: Choice) -> io::Result<Self> {
        Self::among(&interfaces::all()?, choice, &own_name)
    }

    fn among(all: &[Interface], choice: Choice, own_name: &dyn Fn() -> Vec<IpAddr>) -> io::Result<Self> {
        let is_legal = |interface: &&Interface| match choice {
            Choice::Order => !interface.is_loopback,
            Choice::In(network) => network.contains(interface.network.address()),
        };
        let mut legal: Vec<_> = all.iter().filter(is_legal).collect();
        if legal.is_empty() {
            return Err(io::Error::other(nothing(all, choice)));
        }
        // A name may be looked for far away: only if there is a choice.
        let named = if legal.len() > 1 { own_name() } else { Vec::new() };
        legal.sort_by_key(|interface| {
            let address = interface.network.address();
            let place = named.iter().position(|named| *named == address).unwrap_or(named.len());
            (place, interface.is_bridge, address.is_ipv6())
        });
        Ok(Self(legal.into_iter().map(|interface| interface.network).collect()))
    }

    /// The first.
    pub(crate) fn first(&self) -> IpAddr {
        self.0[0].address()
    }

    /// Where to listen, given the candidates of rank 0, which runs on this machine or on another one.
    pub(crate) fn choose(&self, of_rank_0: &Self, is_here: bool) -> IpAddr {
        let shares = |theirs: &&Network| {
            // The same address on another machine is in another network of the same name.
            self.0
                .iter()
                .find(|own| theirs.contains(own.address()) && (is_here || own.address() != theirs.address()))
        };
        let shared = of_rank_0.0.iter().find_map(|theirs| shares(&theirs));
        shared.map_or(self.first(), Network::address)
    }

    /// As ranks tell each other, no longer than a start carries.
    pub(crate) fn emit(&self) -> String {
        let mut text = String::new();
        for network in &self.0 {
            let next = format!("{}{network}", if text.is_empty() { "" } else { "," });
            if text.len() + next.len() > LEN_MAX {
                break;
            }
            text += &next;
        }
        text
    }

    /// What another rank has told; nothing of what is no network.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split(',').filter_map(|network| network.parse().ok()).collect())
    }
}

/// This machine's name, for messages on other machines: none that does not fit into a word.
pub(crate) fn machine_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (!name.is_empty() && name.bytes().all(is_fine)).then_some(name)
}

/// The addresses that this machine's name stands for, as far as the system knows.
fn own_name() -> Vec<IpAddr> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let found = (&*name, 0).to_socket_addrs();
    found.map_or_else(|_| Vec::new(), |all| all.map(|address| address.ip()).collect())
}

fn nothing(all: &[Interface], choice: Choice) -> String {
    let there: Vec<_> = all.iter().map(|i| format!("{} on {}", i.network, i.name)).collect();
    let what = match choice {
        Choice::Order => "besides the loopback".to_owned(),
        Choice::In(network) => format!("in {network}"),
    };
    format!("no interface that is up has an address {what}, only {}", there.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, network: &str) -> Interface {
        let network: Network = network.parse().unwrap();
        Interface {
            name: name.to_owned(),
            network,
            is_loopback: network.address().is_loopback(),
            is_bridge: name.starts_with("br"),
        }
    }

    fn candidates(all: &[(&str, &str)], choice: Choice, named: &[&str]) -> io::Result<String> {
        let all: Vec<_> = all.iter().map(|(name, network)| interface(name, network)).collect();
        let named: Vec<IpAddr> = named.iter().map(|address| address.parse().unwrap()).collect();
        Candidates::among(&all, choice, &|| named.clone()).map(|all| all.emit())
    }

    const MANY: [(&str, &str); 5] = [
        ("lo", "127.0.0.1/8"),
        ("br0", "172.17.0.1/16"),
        ("eth0", "fd77::1/64"),
        ("eth0", "10.77.0.1/24"),
        ("ib0", "10.78.0.1/24"),
    ];

    #[test]
    fn the_own_name_is_first_and_bridges_are_last() {
        let in_order = |named: &[&str]| candidates(&MANY, Choice::Order, named).unwrap();
        assert_eq!(in_order(&[]), "10.77.0.1/24,10.78.0.1/24,fd77::1/64,172.17.0.1/16");
        assert_eq!(in_order(&["10.78.0.1"]), "10.78.0.1/24,10.77.0.1/24,fd77::1/64,172.17.0.1/16");
        // What Debian has for the machine's own name.
        assert_eq!(in_order(&["127.0.1.1", "fd77::1"]), "fd77::1/64,10.77.0.1/24,10.78.0.1/24,172.17.0.1/16");
    }

    #[test]
    fn a_mask_decides() {
        let within = |mask: &str| candidates(&MANY, Choice::In(mask.parse().unwrap()), &[]);
        assert_eq!(within("10.78.0.0/16").unwrap(), "10.78.0.1/24");
        assert_eq!(within("10.0.0.0/8").unwrap(), "10.77.0.1/24,10.78.0.1/24");
        assert_eq!(within("127.0.0.0/8").unwrap(), "127.0.0.1/8");
        let error = within("192.168.0.0/16").unwrap_err().to_string();
        assert!(error.contains("in 192.168.0.0/16") && error.contains("10.77.0.1/24 on eth0"), "{error}");
        let error = candidates(&MANY[..1], Choice::Order, &[]).unwrap_err().to_string();
        assert!(error.contains("besides the loopback"), "{error}");
    }

    #[test]
    fn ranks_listen_in_the_first_network_of_rank_0_that_they_are_in() {
        let choose = |own: &str, of_rank_0: &str, is_here| {
            Candidates::parse(own).choose(&Candidates::parse(of_rank_0), is_here).to_string()
        };
        let rank_0 = "10.77.0.1/24,10.78.0.1/24,172.17.0.1/16";
        assert_eq!(choose("10.78.0.2/24,10.77.0.2/24", rank_0, false), "10.77.0.2");
        assert_eq!(choose("192.168.0.2/24,10.78.0.2/24", rank_0, false), "10.78.0.2");
        // No network is shared: there may be a route.
        assert_eq!(choose("192.168.0.2/24,172.17.0.1/16", rank_0, false), "192.168.0.2");
        assert_eq!(choose(rank_0, rank_0, true), "10.77.0.1");
        assert_eq!(choose("10.0.0.1/8", "nonsense,,1/2", false), "10.0.0.1");
    }

    #[test]
    fn what_is_told_is_not_too_long() {
        let many: Vec<_> = (0..99).map(|i| format!("10.0.{i}.1/24")).collect();
        let text = Candidates::parse(&many.join(",")).emit();
        assert!(text.len() <= LEN_MAX && text.len() > LEN_MAX - 16, "{text}");
    }
}
