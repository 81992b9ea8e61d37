//! The node's NICs.

use std::io;

use garland_core::nic_facts::Duplex;
use garland_core::nic_facts::Ethernet;
use garland_core::nic_facts::NicFacts;
use garland_sys::{link_settings, nic};

/// Returns the properties of each NIC.
pub fn facts() -> io::Result<Vec<NicFacts>> {
    let facts = nic::list()?.into_iter().map(|nic| {
        let link = link_settings::agreed(&nic.name)?;
        Ok(NicFacts {
            mtu: link_settings::mtu(&nic.name)?,
            name: nic.name,
            ethernet: Ethernet(nic.ethernet),
            carrier: nic.carrier,
            speed: link.speed,
            duplex: link.full_duplex.map(|full| if full { Duplex::Full } else { Duplex::Half }),
            addresses: nic.addresses,
        })
    });
    facts.collect()
}

/// Returns the name of each NIC with the number of frames that the NIC has sent.
pub fn sent() -> io::Result<Vec<(String, u32)>> {
    Ok(nic::list()?.into_iter().map(|nic| (nic.name, nic.sent)).collect())
}
