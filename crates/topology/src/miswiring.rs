//! Cabling faults, for labs in which the cabling check is tested or practised. A fault changes
//! cables, rates or MTUs; addresses and routes stay as planned.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use garland_core::command_error::CommandError;
use garland_core::nic_facts::Ethernet;
use garland_core::units::Rate;
use serde::{Deserialize, Serialize};

use super::{Medium, MediumId, MediumKind, Nic, NicId, NicName, Price, Reach, Topology, Uplink};

/// The minimum MTU of an IPv4 host.
const LEAST_MTU: u16 = 576;

/// A cabling fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Miswiring {
    /// The cables of two NICs are exchanged: `swap:n2/eth0,n3/eth0`.
    Swap(NicName, NicName),
    /// The cable of a NIC is not connected at the other end: `missing:n4/eth0`.
    Missing(NicName),
    /// A cable connects two NICs that are not in the plan: `extra:n2/eth7,n3/eth7`.
    Extra(NicName, NicName),
    /// The cable of a NIC is slower: `slow:n5/eth0=10mbit`. On a wire this affects both ends.
    Slow(NicName, Rate),
    /// A NIC has another MTU: `mtu:n6/eth0=1400`.
    Mtu(NicName, u16),
}

/// The reason why a cabling fault cannot be parsed or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MiswiringError {
    /// The text cannot be parsed.
    #[error(
        "{0:?} is not a cabling fault: {1}; write swap:n2/eth0,n3/eth0, missing:n4/eth0, \
         extra:n2/eth7,n3/eth7, slow:n5/eth0=10mbit or mtu:n6/eth0=1400"
    )]
    Unreadable(String, String),
    /// The topology has no NIC of this name.
    #[error("{0}: the topology has no {1}")]
    NoNic(String, NicName),
    /// A NIC of an extra cable is in the plan.
    #[error("{0}: {1} is in the plan; an extra cable connects NICs that are not, such as {2}/eth9")]
    Planned(String, NicName, String),
    /// The MTU is below the minimum of an IPv4 host.
    #[error("{0}: the MTU must be at least {LEAST_MTU}")]
    TooSmall(String),
    /// Both names denote the same NIC.
    #[error("{0}: both NICs are the same; name two different ones")]
    Same(String),
}

impl CommandError for MiswiringError {}

/// Returns the topology with the cabling faults applied.
///
/// # Errors
/// [`MiswiringError`] names the first fault that cannot be applied.
pub fn miswired(planned: &Topology, faults: &[Miswiring]) -> Result<Topology, MiswiringError> {
    let mut topology = planned.clone();
    faults.iter().try_for_each(|fault| fault.apply(&mut topology))?;
    Ok(topology)
}

impl Miswiring {
    fn apply(&self, topology: &mut Topology) -> Result<(), MiswiringError> {
        if let Self::Swap(one, two) | Self::Extra(one, two) = self
            && one == two
        {
            return Err(MiswiringError::Same(self.to_string()));
        }
        match self {
            Self::Swap(one, two) => {
                let one = self.find(topology, one)?;
                let two = self.find(topology, two)?;
                let medium = topology.nics[one].medium;
                topology.nics[one].medium = topology.nics[two].medium;
                topology.nics[two].medium = medium;
            }
            Self::Missing(nic) => {
                let nic = self.find(topology, nic)?;
                let kind = MediumKind::Switch { backplane: None };
                topology.nics[nic].medium = add_medium(topology, "unplugged", kind, None);
            }
            Self::Extra(one, two) => {
                let wire = add_medium(topology, "extra", MediumKind::Wire, None);
                for name in [one, two] {
                    self.plug(topology, name, wire)?;
                }
            }
            Self::Slow(nic, rate) => {
                let nic = self.find(topology, nic)?;
                slow_down(topology, nic, *rate);
            }
            Self::Mtu(nic, mtu) => {
                let nic = self.find(topology, nic)?;
                if *mtu < LEAST_MTU {
                    return Err(MiswiringError::TooSmall(self.to_string()));
                }
                topology.nics[nic].mtu = *mtu;
            }
        }
        Ok(())
    }

    fn find(&self, topology: &Topology, name: &NicName) -> Result<NicId, MiswiringError> {
        name.find(topology).ok_or_else(|| MiswiringError::NoNic(self.to_string(), name.clone()))
    }

    /// Adds a NIC that is not in the plan and has no address.
    fn plug(
        &self,
        topology: &mut Topology,
        name: &NicName,
        medium: MediumId,
    ) -> Result<(), MiswiringError> {
        let node = topology.node(&name.node);
        let node = node.ok_or_else(|| MiswiringError::NoNic(self.to_string(), name.clone()))?;
        if name.find(topology).is_some() {
            let fault = self.to_string();
            let node = name.node.clone();
            return Err(MiswiringError::Planned(fault, name.clone(), node));
        }
        topology.nics.push(Nic {
            node,
            name: name.nic.clone(),
            medium,
            address: None,
            reach: Reach::Nobody,
            ethernet: Ethernet::from_index(topology.nics.len()),
            mtu: 1500,
            price: Price::default(),
        });
        Ok(())
    }
}

/// Makes the cable of a NIC slower. A wire gets the lower rate. At a port of a hub or switch, a
/// slower switch is inserted into the cable.
fn slow_down(topology: &mut Topology, nic: NicId, rate: Rate) {
    let medium = topology.nics[nic].medium;
    if topology.media[medium].kind == MediumKind::Wire {
        topology.media[medium].rate = Some(rate);
        return;
    }
    let kind = MediumKind::Switch { backplane: None };
    let slow = add_medium(topology, "slow", kind, Some(rate));
    topology.nics[nic].medium = slow;
    topology.uplinks.push(Uplink { from: slow, to: medium, rate: Some(rate) });
}

fn add_medium(
    topology: &mut Topology,
    what: &str,
    kind: MediumKind,
    rate: Option<Rate>,
) -> MediumId {
    let id = topology.media.len();
    topology.media.push(Medium { name: format!("{what}-{id}"), kind, rate, ..Medium::default() });
    id
}

impl fmt::Display for Miswiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swap(one, two) => write!(f, "swap:{one},{two}"),
            Self::Missing(nic) => write!(f, "missing:{nic}"),
            Self::Extra(one, two) => write!(f, "extra:{one},{two}"),
            Self::Slow(nic, rate) => write!(f, "slow:{nic}={}bit", rate.bits_per_second()),
            Self::Mtu(nic, mtu) => write!(f, "mtu:{nic}={mtu}"),
        }
    }
}

impl FromStr for Miswiring {
    type Err = MiswiringError;

    fn from_str(text: &str) -> Result<Self, MiswiringError> {
        let unreadable = |why| MiswiringError::Unreadable(text.to_owned(), format!("{why}"));
        read(text).map_err(unreadable)
    }
}

fn read(text: &str) -> Result<Miswiring, Box<dyn Error>> {
    let (kind, rest) = text.split_once(':').ok_or("the colon is missing")?;
    let pair = |by: char| rest.split_once(by).ok_or_else(|| format!("{by:?} is missing"));
    Ok(match kind {
        "swap" | "extra" => {
            let (one, two) = pair(',')?;
            let one = one.parse()?;
            let two = two.parse()?;
            if kind == "swap" { Miswiring::Swap(one, two) } else { Miswiring::Extra(one, two) }
        }
        "missing" => Miswiring::Missing(rest.parse()?),
        "slow" => {
            let (nic, rate) = pair('=')?;
            Miswiring::Slow(nic.parse()?, rate.parse()?)
        }
        "mtu" => {
            let (nic, mtu) = pair('=')?;
            let mtu = mtu.parse().map_err(|_| format!("{mtu:?} is not an MTU"))?;
            Miswiring::Mtu(nic.parse()?, mtu)
        }
        other => return Err(format!("{other:?} is not a kind of fault").into()),
    })
}

impl TryFrom<String> for Miswiring {
    type Error = MiswiringError;

    fn try_from(text: String) -> Result<Self, MiswiringError> {
        text.parse()
    }
}

impl From<Miswiring> for String {
    fn from(fault: Miswiring) -> Self {
        fault.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{Basis, Between, star, switch};
    use super::*;

    fn fault(text: &str) -> Miswiring {
        text.parse().unwrap()
    }

    #[test]
    fn faults_are_read_as_they_are_written() {
        for text in [
            "swap:n2/eth0,n3/eth0",
            "missing:n4/eth0",
            "extra:n2/eth7,n3/eth7",
            "slow:n5/eth0=10000000bit",
            "mtu:n6/eth0=1400",
        ] {
            assert_eq!(fault(text).to_string(), text);
        }
        assert_eq!(fault("slow:n5/eth0=10mbit").to_string(), "slow:n5/eth0=10000000bit");
        for wrong in ["", "swap", "swap:n2", "swap:n2/eth0", "mtu:n1/eth0=x", "cut:n1/eth0"] {
            assert!(wrong.parse::<Miswiring>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn cables_differ_and_addresses_do_not() {
        let planned = star(&Basis::numbered("try", 3), Between::Isolated);
        let swapped = miswired(&planned, &[fault("swap:n2/eth0,n3/eth0")]).unwrap();
        let medium = |topology: &Topology, name: &str| {
            let nic = name.parse::<NicName>().unwrap().find(topology).unwrap();
            (topology.nics[nic].medium, topology.nics[nic].address)
        };
        assert_eq!(medium(&swapped, "n2/eth0").0, medium(&planned, "n3/eth0").0);
        assert_eq!(medium(&swapped, "n2/eth0").1, medium(&planned, "n2/eth0").1);
        let extra = miswired(&planned, &[fault("extra:n1/eth7,n2/eth7")]).unwrap();
        assert_eq!(medium(&extra, "n1/eth7"), medium(&extra, "n2/eth7"));
        let slow =
            miswired(&switch(&Basis::numbered("try", 3), None), &[fault("slow:n1/eth0=1mbit")]);
        assert_eq!(slow.unwrap().segments(), [0, 0]);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let planned = star(&Basis::numbered("try", 3), Between::Isolated);
        for wrong in [
            "swap:n2/eth0,n9/eth0",
            "swap:n2/eth0,n2/eth0",
            "missing:n2/eth5",
            "extra:n1/eth0,n2/eth7",
            "mtu:n1/eth0=100",
        ] {
            assert!(miswired(&planned, &[fault(wrong)]).is_err(), "{wrong}");
        }
    }
}
