//! The observations of agents in a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use garland_core::nic_facts::NicFacts;
use serde::Serialize;

use super::super::{NicId, NodeId};
use super::port::Port;

/// What agents observed in a network: NICs, frames, packet sizes and rates.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The NICs of each node; `None` for a node that was not reached.
    pub nodes: Vec<Option<Vec<NicFacts>>>,
    /// Pairs of NICs (receiver, sender): the receiver got frames from the sender.
    pub heard: BTreeSet<(Port, Port)>,
    /// NICs that carry the control channel. They need not be in the topology.
    pub management: BTreeSet<Port>,
    /// The packet sizes that passed planned links.
    pub mtus: Vec<MtuSeen>,
    /// The rates of planned links.
    pub rates: Vec<RateSeen>,
    /// The bursts of datagrams between nodes.
    pub bursts: Vec<BurstSeen>,
    /// Why something was not measured on links from one NIC to another.
    pub unmeasured_links: BTreeMap<(NicId, NicId, LinkProperty), String>,
    /// The pairs of nodes, sender and receiver, between which no burst was counted, and why.
    pub unmeasured_ways: BTreeMap<(NodeId, NodeId), String>,
}

/// What is measured on every planned link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkProperty {
    /// The largest packet that passes.
    Mtu,
    /// The TCP goodput.
    Rate,
}

impl LinkProperty {
    /// All properties.
    pub const ALL: [Self; 2] = [Self::Mtu, Self::Rate];
}

impl fmt::Display for LinkProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mtu => "the largest packet",
            Self::Rate => "the rate",
        })
    }
}

/// The largest packet that passes a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuSeen {
    /// The sending NIC.
    pub from: NicId,
    /// The receiving NIC.
    pub to: NicId,
    /// The largest packet that was answered, in bytes; `None` if no packet was answered.
    pub passes: Option<u16>,
}

/// The measured rate of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSeen {
    /// The sending NIC.
    pub from: NicId,
    /// The receiving NIC.
    pub to: NicId,
    /// The measured TCP goodput in bits per second.
    pub measured: f64,
    /// The planned TCP goodput in bits per second; `None` without a planned rate.
    pub planned: Option<f64>,
}

/// The minimum share of the planned goodput that a link must have.
const TOLERANCE: f64 = 0.8;

impl RateSeen {
    /// Whether the link is slower than planned, with a tolerance for other traffic.
    pub fn is_slow(&self) -> bool {
        self.planned.is_some_and(|planned| self.measured < TOLERANCE * planned)
    }
}

/// The result of a burst of datagrams from one node to an address of another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurstSeen {
    /// The sending node.
    pub from: NodeId,
    /// The receiving node.
    pub to: NodeId,
    /// Datagrams that the sender's kernel sent or refused.
    pub sent: u32,
    /// Datagrams that arrived.
    pub arrived: u32,
    /// For each NIC of the reached nodes, the number of frames that the NIC sent during the burst.
    pub carried: Vec<(Port, u64)>,
}
