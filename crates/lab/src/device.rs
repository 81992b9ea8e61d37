//! The names of the devices in the namespace of the media, which are derived from indices in the
//! topology.

use garland_topology::{MediumId, NicId};

/// Returns the name of the port that a NIC is plugged into.
pub fn port(nic: NicId) -> String {
    format!("p{nic}")
}

/// Returns the name of the bridge that emulates a medium.
pub fn bridge(medium: MediumId) -> String {
    format!("br{medium}")
}

/// Returns the name of the IFB device that all frames of a medium pass: the wire of a hub, or the
/// backplane of a switch.
pub fn shared(medium: MediumId) -> String {
    format!("ifb{medium}")
}

/// Returns the names of the ports at both ends of the uplink with index `place`: at its medium
/// `from`, and at its medium `to`.
pub fn uplink(place: usize) -> [String; 2] {
    [format!("u{place}from"), format!("u{place}to")]
}
