//! Which addresses a peer can have.

use std::net::{IpAddr, Ipv4Addr};

/// Returns why no node has the address `address`; `None` if one may have it. A connection to an
/// unspecified address leads to this machine, and an agent that listens there listens at all
/// addresses.
#[must_use]
pub fn fault_of(address: IpAddr) -> Option<&'static str> {
    // ::ffff:0.0.0.0 is 0.0.0.0.
    match address.to_canonical() {
        own if own.is_unspecified() => Some("it stands for all addresses of a machine"),
        many if many.is_multicast() => Some("it is a multicast address"),
        IpAddr::V4(Ipv4Addr::BROADCAST) => Some("it is the broadcast address"),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_no_node_has_are_told_with_the_reason() {
        let fault = |text: &str| fault_of(text.parse().expect("an address"));
        for all in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
            assert_eq!(fault(all), Some("it stands for all addresses of a machine"), "{all}");
        }
        for many in ["224.0.0.1", "239.255.255.255", "ff02::1", "::ffff:224.0.0.1"] {
            assert_eq!(fault(many), Some("it is a multicast address"), "{many}");
        }
        assert_eq!(fault("255.255.255.255"), Some("it is the broadcast address"));
        for one in ["10.0.0.255", "127.0.0.1", "::1", "fd00::3"] {
            assert_eq!(fault(one), None, "{one}");
        }
    }
}
