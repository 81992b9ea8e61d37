//! Slow parts for tests: a NIC that sends or receives at a part of its wire's rate, and a route that
//! does.

use garland_core::units::Rate;

use crate::fault::Way;
use crate::plan::Place;
use crate::tool::Tool;
use crate::{Lab, LabError, device, shaping};

/// All NICs of a node send (`Way::Out`) or receive (`Way::In`) at `rate` from now on. Both ways it
/// is a slow cable, or a slow host.
///
/// # Errors
/// When there is no such node, or tc refuses.
pub fn slow(lab: &Lab, node: &str, way: Way, rate: Rate) -> Result<(), LabError> {
    slow_some(lab, node, way, rate, |_| true)
}

/// The same with the NIC `nic` of the node alone.
///
/// # Errors
/// When there is no such node, or tc refuses.
pub fn slow_nic(lab: &Lab, node: &str, nic: &str, way: Way, rate: Rate) -> Result<(), LabError> {
    slow_some(lab, node, way, rate, |name| name == nic)
}

fn slow_some(
    lab: &Lab,
    node: &str,
    way: Way,
    rate: Rate,
    is_slow: impl Fn(&str) -> bool,
) -> Result<(), LabError> {
    let id = lab.id(node)?;
    let shaping = shaping::Shaping::of(&lab.spec().topology);
    let nics = lab.spec().topology.nics_of(id).filter(|(_, own)| is_slow(&own.name));
    let lines = nics.map(|(nic, own)| {
        let bucket = shaping::qdisc(rate.bits_per_second(), shaping.exact(own.medium));
        let device = match way {
            Way::In => device::port(nic),
            Way::Out => own.name.clone(),
        };
        format!("qdisc replace dev {device} root {bucket}\n")
    });
    let lines: String = lines.collect();
    let mut command = Tool::Tc.batch()?;
    let place = match way {
        Way::In => {
            lab.media_entry()?.attach(&mut command);
            Place::Media.to_string()
        }
        Way::Out => {
            lab.entry(node)?.attach(&mut command);
            node.to_owned()
        }
    };
    Tool::Tc.run(command, &lines, &place).map(drop)
}

/// What `from` sends to `to` goes at `rate` from now on, and what it sends to others as before: a
/// slow route, one way.
///
/// # Errors
/// When there is no such node, or tc refuses.
pub fn slow_to(lab: &Lab, from: &str, to: &str, rate: Rate) -> Result<(), LabError> {
    let (id, address) = (lab.id(from)?, lab.address(to)?);
    let topology = &lab.spec().topology;
    let shaping = shaping::Shaping::of(topology);
    let lines = topology.nics_of(id).map(|(_, nic)| {
        let exact = shaping.exact(nic.medium);
        let full = topology.media[nic.medium].rate.unwrap_or(rate).bits_per_second();
        let (full, slow) =
            (shaping::qdisc(full, exact), shaping::qdisc(rate.bits_per_second(), exact));
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
    let mut command = Tool::Tc.batch()?;
    lab.entry(from)?.attach(&mut command);
    Tool::Tc.run(command, &lines, from).map(drop)
}
