//! Limits the connections that have not completed their greeting, in total and per address, so that
//! no peer can block others.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use crate::limits::{PEERS, PEERS_OF_ADDRESS};

/// The number of connections that have not completed their greeting, by address.
#[derive(Default)]
pub struct Greeters(Mutex<HashMap<IpAddr, usize>>);

/// The slot of a connection that has not completed its greeting, released when dropped.
pub struct Place {
    of: Arc<Greeters>,
    origin: IpAddr,
}

impl Greeters {
    /// Admits a connection from `address`.
    ///
    /// # Errors
    /// When too many connections have not completed their greeting; the error is a message.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Place, &'static str> {
        let origin = origin(address);
        let mut greeting = self.0.lock();
        if greeting.values().sum::<usize>() >= PEERS {
            return Err("too many connections have not completed their greeting");
        }
        let of_one = greeting.entry(origin).or_default();
        if *of_one >= PEERS_OF_ADDRESS {
            return Err("too many connections from this address have not completed their greeting");
        }
        *of_one += 1;
        Ok(Place { of: Arc::clone(self), origin })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut greeting = self.of.0.lock();
        if let Some(of_one) = greeting.get_mut(&self.origin) {
            *of_one = of_one.saturating_sub(1);
            if *of_one == 0 {
                greeting.remove(&self.origin);
            }
        }
    }
}

/// Returns the unit of the limit per address: for IPv6 the /64 network, since one host may own all
/// of its addresses. Link-local addresses count individually.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) if !six.is_unicast_link_local() && !six.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() >> 64 << 64))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Returns the slots of those of `peers` connections from `from` that are admitted.
    fn come(to: &Arc<Greeters>, from: &str, peers: usize) -> Vec<Place> {
        (0..peers).filter_map(|_| to.admit(address(from)).ok()).collect()
    }

    #[test]
    fn one_address_leaves_places_to_others() {
        let greeters = Arc::default();
        let first = come(&greeters, "10.0.0.1", 1000);
        assert_eq!(first.len(), PEERS_OF_ADDRESS);
        assert_eq!(
            come(&greeters, "::ffff:10.0.0.1", 1).len(),
            0,
            "the same address in another form"
        );
        assert_eq!(come(&greeters, "10.0.0.2", 1).len(), 1);
        drop(first);
        assert_eq!(come(&greeters, "10.0.0.1", 1).len(), 1);
        assert!(greeters.0.lock().is_empty(), "nothing is kept");
    }

    #[test]
    fn all_together_are_bounded() {
        let greeters = Arc::default();
        let hosts = (1..=250).map(|host| format!("10.0.0.{host}"));
        let held: Vec<Place> = hosts.flat_map(|host| come(&greeters, &host, 2)).collect();
        assert_eq!(held.len(), PEERS);
    }

    #[test]
    fn a_host_of_ipv6_is_its_network() {
        assert_eq!(origin(address("2001:db8::1")), origin(address("2001:db8::ffff:2")));
        assert_ne!(origin(address("2001:db8::1")), origin(address("2001:db8:0:1::1")));
        assert_ne!(origin(address("fe80::1")), origin(address("fe80::2")));
    }
}
