//! The limit of a copy: the best that the wires allow, as far as it is known beforehand.

use garland_lab::Lab;
use garland_node::Agent;
use garland_sys::nic;
use serde::Serialize;

/// TCP payload in a full Ethernet frame, over what the frame occupies on the wire: 1448 of 1538
/// bytes at the usual MTU.
const GOODPUT: f64 = 1448.0 / 1538.0;

/// A limit, where it comes from, and how near a copy came.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// Bytes per second.
    pub rate: u64,
    /// Where the figure comes from, in words.
    pub source: String,
    /// The whole command's rate over the limit.
    pub achieved: Option<f64>,
}

impl Limit {
    fn new(bits: f64, source: String) -> Self {
        Self { rate: (bits / 8.0) as u64, source, achieved: None }
    }
}

/// What a lab's wire or this host's NIC towards the first agent gives to TCP; `None` where neither
/// says.
pub fn known(lab: Option<&Lab>, agents: &[Result<Agent, String>]) -> Option<Limit> {
    if let Some(lab) = lab {
        let bits = lab.spec().goodput()?;
        return Some(Limit::new(bits, "TCP payload of one lab wire".to_owned()));
    }
    let agent = agents.iter().flatten().next()?;
    let own = agent.connection.own_address().ok()?.ip().to_canonical();
    let interface = nic::with_address(own)?;
    let bits = nic::speed(&interface)? as f64 * GOODPUT;
    let source = format!("TCP payload of this host's {interface}, by its own word");
    Some(Limit::new(bits, source))
}
