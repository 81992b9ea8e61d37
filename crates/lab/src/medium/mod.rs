//! What joins the nodes of a lab; one file a medium.

mod switch;

use serde::{Deserialize, Serialize};

use crate::plan::Step;
use crate::shaping;

/// A medium and its properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Medium {
    /// A switch: every node on a full-duplex port of its own, store and forward.
    Switch {
        /// Bits per second of every port, each way, on the wire; `None` leaves the wires unshaped,
        /// as fast as this machine copies memory.
        rate: Option<u64>,
    },
}

impl Medium {
    /// The rate of one node's link, in bits per second each way.
    pub fn rate(&self) -> Option<u64> {
        match self {
            Medium::Switch { rate } => *rate,
        }
    }

    /// TCP payload in bits per second that one flow reaches: what a self-check compares with.
    pub fn goodput(&self) -> Option<f64> {
        match self {
            Medium::Switch { rate } => rate.map(shaping::goodput),
        }
    }

    /// The same for each of two flows that run against each other.
    pub fn goodput_both_ways(&self, nodes: u32) -> Option<f64> {
        match self {
            Medium::Switch { rate } => {
                rate.map(|rate| shaping::goodput_both_ways(rate, shaping::is_exact(rate, nodes)))
            }
        }
    }

    pub(crate) fn steps(&self, nodes: u32) -> Vec<Step> {
        match self {
            Medium::Switch { rate } => switch::steps(nodes, *rate),
        }
    }

    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Medium::Switch { rate } => rate.and_then(shaping::fault),
        }
    }
}
