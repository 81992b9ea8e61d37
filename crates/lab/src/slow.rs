//! Slows down NICs and routes, for tests.

use garland_core::units::Rate;

use crate::fault::LinkDirection;
use crate::step::Place;
use crate::tool::Tool;
use crate::{Lab, LabError, device, shaping};

/// Limits the rate at which all NICs of a node send (`LinkDirection::Out`) or receive
/// (`LinkDirection::In`). Limits in both directions emulate a slow cable or host.
///
/// # Errors
/// When there is no such node, or tc refuses.
pub fn slow(lab: &Lab, node: &str, way: LinkDirection, rate: Rate) -> Result<(), LabError> {
    slow_some(lab, node, way, rate, |_| true)
}

/// Limits the rate of the NIC `nic` of a node, as [`slow`] does for all of them.
///
/// # Errors
/// When there is no such node, or tc refuses.
pub fn slow_nic(
    lab: &Lab,
    node: &str,
    nic: &str,
    way: LinkDirection,
    rate: Rate,
) -> Result<(), LabError> {
    slow_some(lab, node, way, rate, |name| name == nic)
}

fn slow_some(
    lab: &Lab,
    node: &str,
    way: LinkDirection,
    rate: Rate,
    is_slow: impl Fn(&str) -> bool,
) -> Result<(), LabError> {
    let id = lab.id(node)?;
    let shaping = shaping::Shaping::new(&lab.spec().topology);
    let nics = lab.spec().topology.nics_of(id).filter(|(_, own)| is_slow(&own.name));
    let lines = nics.map(|(nic, own)| {
        let bucket = shaping::qdisc(rate.bits_per_second(), shaping.exact(own.medium));
        let device = match way {
            LinkDirection::In => device::port(nic),
            LinkDirection::Out => own.name.clone(),
        };
        format!("qdisc replace dev {device} root {bucket}\n")
    });
    let lines: String = lines.collect();
    let place = match way {
        LinkDirection::In => Place::Media,
        LinkDirection::Out => Place::Node(node.to_owned()),
    };
    lab.batch(Tool::Tc, &place, &lines)
}

/// Limits the rate at which `from` sends to `to`, but not to other nodes: a slow route in one
/// direction.
///
/// # Errors
/// When there is no such node, or tc refuses.
pub fn slow_to(lab: &Lab, from: &str, to: &str, rate: Rate) -> Result<(), LabError> {
    let id = lab.id(from)?;
    let address = lab.address(to)?;
    let topology = &lab.spec().topology;
    let shaping = shaping::Shaping::new(topology);
    let lines = topology.nics_of(id).map(|(_, nic)| {
        let exact = shaping.exact(nic.medium);
        let full = topology.media[nic.medium].rate.unwrap_or(rate).bits_per_second();
        let full = shaping::qdisc(full, exact);
        let slow = shaping::qdisc(rate.bits_per_second(), exact);
        let device = &nic.name;
        [
            format!("qdisc replace dev {device} root handle 1: htb default 1\n"),
            format!("class add dev {device} parent 1: classid 1:1 htb rate 25gbit\n"),
            format!("class add dev {device} parent 1: classid 1:2 htb rate 25gbit\n"),
            format!("qdisc add dev {device} parent 1:1 {full}\n"),
            format!("qdisc add dev {device} parent 1:2 {slow}\n"),
            format!(
                "filter add dev {device} parent 1: protocol ip prio 1 u32 match ip dst \
                 {address}/32 flowid 1:2\n"
            ),
        ]
        .concat()
    });
    let lines: String = lines.collect();
    lab.batch(Tool::Tc, &Place::Node(from.to_owned()), &lines)
}
