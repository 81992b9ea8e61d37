//! Network interfaces: which one has an address, and how fast it says it is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The interface that has `address`; `None` when none has.
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

/// The speed that an interface says it has, in bits per second; `None` where it doesn't know (a
/// radio, a tunnel, the loopback).
#[must_use]
pub fn speed(interface: &str) -> Option<u64> {
    if interface.contains('/') {
        return None;
    }
    let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/speed")).ok()?;
    let mbits: i64 = text.trim().parse().ok()?;
    u64::try_from(mbits).ok().filter(|&mbits| mbits > 0).map(|mbits| mbits * 1_000_000)
}

/// # Safety
/// `address` must be null or point to a socket address of the length that its family has.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the caller promises a socket address; which one is read is what its family says.
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
    }
}
