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
mod tests;
