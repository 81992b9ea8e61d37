//! The ports of agents that this machine could not reach lately. Each try costs a timeout where a
//! firewall drops what is sent.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use garland_core::unreached::{Hop, UnreachedHops};
use garland_state::places::Places;
use garland_state::unreached;
use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_transport::ConnectionError;

use crate::reach::Unreached;
use crate::standing::Standing;

/// Stands for this machine, whichever address it uses.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What is known of the ports of agents.
pub struct ClosedPorts<'a> {
    places: &'a Places,
    before: UnreachedHops,
    hops: Mutex<UnreachedHops>,
}

impl<'a> ClosedPorts<'a> {
    /// Reads what earlier commands have found.
    pub fn read(places: &'a Places) -> Self {
        let before = unreached::read(places);
        Self { places, hops: Mutex::new(before.clone()), before }
    }

    /// Returns the error of connecting to an agent if its node's ports were not reached lately, and
    /// its port still is not.
    pub fn known(&self, record: &Standing) -> Option<Unreached> {
        let address = record.sockets().first().copied()?;
        let is_known = self.hops.lock().has(hop(address), clock::wall_ns());
        if !is_known || record.is_open() {
            return None;
        }
        let error = io::Error::from(io::ErrorKind::TimedOut);
        Some(ConnectionError::Connect(address, error).into())
    }

    /// Notes that the agent was not reached directly, since `began_ns` in nanoseconds since 1970.
    pub fn note(&self, record: &Standing, began_ns: u64) {
        if let Some(address) = record.sockets().first() {
            self.hops.lock().remember(hop(*address), began_ns, clock::wall_ns());
        }
    }

    /// Stores what was found.
    pub fn keep(self) {
        unreached::keep(self.places, &self.before, &self.hops.into_inner());
    }
}

fn hop(address: SocketAddr) -> Hop {
    Hop { from: HERE, to: address.ip() }
}
