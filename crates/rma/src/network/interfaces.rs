//! The interfaces of this machine that are up, with their addresses. One of the few files with `unsafe`.

use super::Network;
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) network: Network,
    pub(super) is_loopback: bool,
    /// A bridge of this machine, such as those of containers: its address is often the same on every machine.
    pub(super) is_bridge: bool,
}

/// All addresses of interfaces that are up, in the system's order. Those of IPv6 that hold on one link only are left out: they are
/// of no use without the name of the link.
pub(super) fn all() -> io::Result<Vec<Interface>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call writes a pointer to a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut next) = (Vec::new(), first);
    // SAFETY: each element of the list is valid until the list is freed, and nothing else writes it.
    while let Some(entry) = unsafe { next.as_ref() } {
        found.extend(interface(entry));
        next = entry.ifa_next;
    }
    // SAFETY: the list is the one above, and nothing of it is kept.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// Whether an address is one of this machine.
#[cfg(feature = "launcher")]
pub(crate) fn is_own_address(address: IpAddr) -> bool {
    let is_it = |interface: &Interface| interface.network.address() == address;
    address.is_loopback() || all().is_ok_and(|all| all.iter().any(is_it))
}

fn interface(entry: &libc::ifaddrs) -> Option<Interface> {
    let flags = entry.ifa_flags;
    if flags & libc::IFF_UP as u32 == 0 {
        return None;
    }
    // SAFETY: the name and both addresses, where they are not null, are those of a list that is not freed yet.
    let (name, address, mask) =
        unsafe { (CStr::from_ptr(entry.ifa_name), address(entry.ifa_addr)?, address(entry.ifa_netmask)?) };
    let prefix = match mask {
        IpAddr::V4(mask) => u32::from(mask).leading_ones(),
        IpAddr::V6(mask) => u128::from(mask).leading_ones(),
    };
    if matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()) {
        return None;
    }
    let name = name.to_string_lossy().into_owned();
    Some(Interface {
        network: Network::new(address, prefix),
        is_loopback: flags & libc::IFF_LOOPBACK as u32 != 0,
        is_bridge: Path::new("/sys/class/net").join(&name).join("bridge").exists(),
        name,
    })
}

/// The IP address that the system's structure holds, if it holds one.
///
/// # Safety
/// The pointer must be null, or lead to an address of the size that its family has.
unsafe fn address(from: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: as the caller promises; the family says which structure it is. The structures are read without a demand on
    // their alignment.
    unsafe {
        match i32::from(from.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = from.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let address = from.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_among_the_interfaces() {
        let all = all().unwrap();
        let loopback: Vec<_> = all.iter().filter(|interface| interface.is_loopback).collect();
        assert!(loopback.iter().any(|i| i.network.to_string() == "127.0.0.1/8"), "{all:?}");
        assert!(all.iter().all(|i| i.network.address().is_loopback() <= i.is_loopback), "{all:?}");
    }
}
