//! Limits the connections that have not completed their greeting, in total and per address, so that
//! no peer can block others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use garland_sys::sync::Mutex;

use crate::limits::{PEERS, PEERS_OF_ADDRESS};

/// For each address, or network of addresses, the number of connections that have not completed
/// their greeting.
#[derive(Default)]
pub struct Greeters(Mutex<HashMap<IpAddr, usize>>);

/// Counts one connection that has not completed its greeting, until this value is dropped.
pub struct Place {
    of: Arc<Greeters>,
    origin: IpAddr,
}

impl Greeters {
    /// Admits a connection from `address`, and counts it until the returned value is dropped.
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

/// Returns the address by which a connection is counted. For IPv6 this is the /64 network, since
/// one host may own all addresses of a network. Link-local addresses count individually.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) if !six.is_unicast_link_local() && !six.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() >> 64 << 64))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests;
