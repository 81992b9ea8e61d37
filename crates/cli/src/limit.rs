//! The limit of a copy: the best that the wires allow, as far as it is known beforehand.

use garland_lab::Lab;
use garland_node::Agent;
use garland_sys::nic;

/// TCP payload in a full Ethernet frame, over what the frame occupies on the wire: 1448 of 1538
/// bytes at the usual MTU.
const GOODPUT: f64 = 1448.0 / 1538.0;

/// A limit and where it comes from.
pub struct Known {
    /// Bytes per second.
    pub rate: u64,
    /// Where the figure comes from, in words.
    pub source: String,
}

/// What a lab's wire or this host's NIC towards the first agent gives to TCP; `None` where neither
/// says.
pub fn known(lab: Option<&Lab>, agents: &[Result<Agent, String>]) -> Option<Known> {
    if let Some(lab) = lab {
        let bits = lab.spec().goodput()?;
        let source = "TCP payload of one lab wire".to_owned();
        return Some(Known { rate: (bits / 8.0) as u64, source });
    }
    let agent = agents.iter().flatten().next()?;
    let own = agent.connection.own_address().ok()?.ip().to_canonical();
    let interface = nic::with_address(own)?;
    let bits = nic::speed(&interface)? as f64 * GOODPUT;
    let source = format!("TCP payload of this host's {interface}, by its own word");
    Some(Known { rate: (bits / 8.0) as u64, source })
}
