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

/// Returns the names of the ends at which the cable of a NIC is cut if its medium has a delay: the
/// one towards the medium, and the one towards the NIC.
pub fn cut_cable(nic: NicId) -> [String; 2] {
    [format!("d{nic}in"), format!("d{nic}out")]
}

/// Returns the names of the ends at which an uplink is cut if one of its media has a delay: the one
/// towards its medium `from`, and the one towards its medium `to`.
pub fn cut_uplink(place: usize) -> [String; 2] {
    [format!("w{place}from"), format!("w{place}to")]
}

/// Returns the names of the ports at both ends of the uplink with index `place`: at its medium
/// `from`, and at its medium `to`.
pub fn uplink(place: usize) -> [String; 2] {
    [format!("u{place}from"), format!("u{place}to")]
}
