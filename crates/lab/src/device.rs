//! Names of the devices in the media's namespace, which are derived from indices in the topology.

use garland_topology::{MediumId, NicId};

/// The port that a NIC is plugged into.
pub fn port(nic: NicId) -> String {
    format!("p{nic}")
}

/// The bridge that a medium is made of.
pub fn bridge(medium: MediumId) -> String {
    format!("br{medium}")
}

/// The device through which all frames of a medium pass: a hub's wire, a switch's backplane.
pub fn shared(medium: MediumId) -> String {
    format!("ifb{medium}")
}

/// The two ends of an uplink: its port at the medium it comes from, and at the one it leads to.
pub fn uplink(place: usize) -> [String; 2] {
    [format!("u{place}from"), format!("u{place}to")]
}
