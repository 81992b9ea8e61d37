//! Network interfaces: their addresses, counters and reported speed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the name of the interface that has `address`; `None` if no interface has it.
#[must_use]
pub fn with_address(address: IpAddr) -> Option<String> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid place for the list's head, which freeifaddrs takes back below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return None;
    }
    let mut found = None;
    let mut at = list;
    while !at.is_null() && found.is_none() {
        // SAFETY: `at` is an entry of the list, which lives until freeifaddrs; its name is a string
        // that ends with a zero byte, and its address is null or a socket address.
        let (name, own, next) = unsafe {
            let entry = &*at;
            let name = std::ffi::CStr::from_ptr(entry.ifa_name);
            (name.to_string_lossy().into_owned(), ip(entry.ifa_addr), entry.ifa_next)
        };
        if own == Some(address) {
            found = Some(name);
        }
        at = next;
    }
    // SAFETY: the list came from getifaddrs and is given back once.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// Returns the IPv4 addresses of the interface `name`, then its IPv6 addresses but those that are
/// valid on one link only.
///
/// # Errors
/// When the system cannot list the interfaces, or there is none of this name (`NotFound`).
pub fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid place for the list's head, which freeifaddrs takes back below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = None;
    let mut at = list;
    while !at.is_null() {
        // SAFETY: `at` is an entry of the list, which lives until freeifaddrs; its name is a string
        // that ends with a zero byte, and its address is null or a socket address.
        let (is_named, own, next) = unsafe {
            let entry = &*at;
            let is_named = std::ffi::CStr::from_ptr(entry.ifa_name).to_bytes() == name.as_bytes();
            (is_named, ip(entry.ifa_addr), entry.ifa_next)
        };
        if is_named {
            found.get_or_insert_with(Vec::new).extend(own);
        }
        at = next;
    }
    // SAFETY: the list came from getifaddrs and is given back once.
    unsafe { libc::freeifaddrs(list) };
    let mut found: Vec<IpAddr> = found.ok_or(io::ErrorKind::NotFound)?;
    found.retain(|address| !matches!(address, IpAddr::V6(six) if six.is_unicast_link_local()));
    found.sort_by_key(IpAddr::is_ipv6);
    Ok(found)
}

/// Returns the address of this host from which packets to `peer` leave.
///
/// # Errors
/// When there is no route to it.
pub fn facing(peer: IpAddr) -> io::Result<IpAddr> {
    /// Any port: connecting a socket of UDP sends nothing.
    const DISCARD: u16 = 9;
    let any: IpAddr = match peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind((any, 0))?;
    socket.connect((peer, DISCARD))?;
    Ok(socket.local_addr()?.ip())
}

/// An Ethernet interface of the calling process's network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// The name of the interface.
    pub name: String,
    /// The index of the interface.
    pub index: u32,
    /// The Ethernet (MAC) address.
    pub ethernet: [u8; 6],
    /// Whether the interface has a carrier: its cable is plugged in, and the other end is up.
    pub carrier: bool,
    /// The IPv4 addresses of the interface.
    pub addresses: Vec<Ipv4Addr>,
    /// Frames sent since the interface was created, modulo 2^32.
    pub sent: u32,
}

/// Returns the Ethernet interfaces of the network namespace of the calling process, sorted by
/// index. Interfaces that combine others (bonds) are left out. `/sys/class/net` cannot be used,
/// since it shows the namespace of the process that mounted it.
///
/// # Errors
/// When the system cannot list the interfaces.
pub fn list() -> io::Result<Vec<Nic>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid place for the list's head, which freeifaddrs takes back below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut nics: Vec<Nic> = Vec::new();
    let mut addresses: Vec<(String, Ipv4Addr)> = Vec::new();
    let mut at = list;
    while !at.is_null() {
        // SAFETY: `at` is an entry of the list, which lives until freeifaddrs; its name is a string
        // that ends with a zero byte, and its address is null or a socket address.
        let (entry, name, own) = unsafe {
            let entry = &*at;
            let name = std::ffi::CStr::from_ptr(entry.ifa_name);
            (entry, name.to_string_lossy().into_owned(), ip(entry.ifa_addr))
        };
        if let Some(IpAddr::V4(address)) = own {
            addresses.push((name, address));
        } else {
            // SAFETY: as above; the entry is the list's own.
            nics.extend(unsafe { ethernet(entry, name) });
        }
        at = entry.ifa_next;
    }
    // SAFETY: the list came from getifaddrs and is given back once.
    unsafe { libc::freeifaddrs(list) };
    for nic in &mut nics {
        let own = addresses.iter().filter(|(name, _)| *name == nic.name);
        nic.addresses = own.map(|(_, address)| *address).collect();
    }
    nics.sort_by_key(|nic| nic.index);
    Ok(nics)
}

/// Returns the interface that `entry` describes; `None` unless it is an Ethernet interface.
///
/// # Safety
/// `entry` must belong to a list from getifaddrs(3) that has not been freed.
unsafe fn ethernet(entry: &libc::ifaddrs, name: String) -> Option<Nic> {
    const MADE_OF_OTHERS: u32 = libc::IFF_MASTER as u32;
    const PLUGGED_IN: u32 = libc::IFF_RUNNING as u32;
    if entry.ifa_addr.is_null() || entry.ifa_flags & MADE_OF_OTHERS != 0 {
        return None;
    }
    // SAFETY: the address is not null; it is read as the type of its family.
    let link = unsafe {
        if i32::from((*entry.ifa_addr).sa_family) != libc::AF_PACKET {
            return None;
        }
        &*entry.ifa_addr.cast::<libc::sockaddr_ll>()
    };
    if link.sll_hatype != libc::ARPHRD_ETHER || link.sll_halen != 6 {
        return None;
    }
    // The second word of `struct rtnl_link_stats` is the number of frames sent.
    const SENT: usize = 1;
    let stats = entry.ifa_data.cast::<u32>();
    // SAFETY: for a link-layer entry, getifaddrs(3) has `ifa_data` null or pointing to a `struct
    // rtnl_link_stats`, which begins with 32-bit counters.
    let sent = if stats.is_null() { 0 } else { unsafe { *stats.add(SENT) } };
    let [a, b, c, d, e, f, ..] = link.sll_addr;
    Some(Nic {
        name,
        index: u32::try_from(link.sll_ifindex).ok()?,
        ethernet: [a, b, c, d, e, f],
        carrier: entry.ifa_flags & PLUGGED_IN != 0,
        addresses: Vec::new(),
        sent,
    })
}

/// Returns the speed that an interface reports, in bits per second; `None` if it reports none
/// (radio, tunnel, loopback).
#[must_use]
pub fn speed(interface: &str) -> Option<u64> {
    if interface.contains('/') {
        return None;
    }
    let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/speed")).ok()?;
    let mbits: i64 = text.trim().parse().ok()?;
    u64::try_from(mbits).ok().filter(|&mbits| mbits > 0).map(|mbits| mbits * 1_000_000)
}

/// Returns the IP address in a socket address; `None` if it is null or of another family.
///
/// # Safety
/// `address` must be null or point to a socket address of the length that its family has.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees a socket address; it is read as the type of its family.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let v4 = &*address.cast::<libc::sockaddr_in>();
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))))
            }
            libc::AF_INET6 => {
                let v6 = &*address.cast::<libc::sockaddr_in6>();
                Some(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_its_address_and_no_speed() {
        let loopback = with_address(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        assert_eq!(loopback, "lo");
        assert_eq!(speed(&loopback), None);
        assert_eq!(with_address(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))), None);
        assert_eq!(addresses("lo").unwrap().first(), Some(&IpAddr::V4(Ipv4Addr::LOCALHOST)));
        assert_eq!(addresses("nosuch").unwrap_err().kind(), io::ErrorKind::NotFound);
        let local = facing(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9)));
        assert_eq!(local.unwrap(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
}
