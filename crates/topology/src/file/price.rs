//! `[topology.price]`: the prices of single parts.

use garland_core::form::Section;

use super::error::Fault;
use crate::{MediumKind, Price, Topology};

/// The maximum price of a part, in hundredths of the unit of prices.
const MAX_PRICE: u32 = 1_000_000_000;

pub(super) fn read(section: &Section<'_>, topology: &mut Topology) -> Result<(), Fault> {
    let keys = ["node", "nic", "cable", "hub", "switch", "port"];
    let Some(prices) = section.section("price", "[topology.price]", &keys)? else {
        return Ok(());
    };
    let of = |key| Ok::<_, Fault>(read_price(&prices, key)?.unwrap_or_default());
    let node = of("node")?;
    let nic = of("nic")?;
    let cable = of("cable")?;
    let hub = of("hub")?;
    let switch = of("switch")?;
    let port = of("port")?;
    topology.nodes.iter_mut().for_each(|each| each.price = node);
    topology.nics.iter_mut().for_each(|each| each.price = nic);
    let mut ports = vec![0; topology.media.len()];
    for nic in &topology.nics {
        ports[nic.medium] += 1;
    }
    for uplink in &topology.uplinks {
        ports[uplink.from] += 1;
        ports[uplink.to] += 1;
    }
    for (medium, ports) in topology.media.iter_mut().zip(ports) {
        let device = match medium.kind {
            MediumKind::Hub { .. } => Some(hub),
            MediumKind::Switch { .. } => Some(switch),
            MediumKind::Wire => None,
        };
        medium.price = device.map_or(Price(0), |device| Price(device.0 + port.0 * ports));
        medium.cable.price = cable;
    }
    Ok(())
}

/// Reads a price with at most two decimals.
pub(super) fn read_price(section: &Section<'_>, key: &'static str) -> Result<Option<Price>, Fault> {
    Ok(section.parts(key, 100, 0..=MAX_PRICE)?.map(|parts| Price(u64::from(parts))))
}
