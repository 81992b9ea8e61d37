//! Flows that are measured at once.

use std::net::Ipv4Addr;
use std::time::Duration;

use garland_topology::{MediumId, NicId, NodeId};

use super::singles::Single;
use crate::shaping::Shaping;

/// What flows of one round may cross together, in bits per second: what two processors of 2.6 GHz
/// do beside everything else, where frames are counted one by one, and where large segments pass.
const MOST_EXACT: f64 = 600e6;
const MOST_SCALED: f64 = 5e9;

/// One flow to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Who sends.
    pub from: NodeId,
    /// Who receives.
    pub to: NodeId,
    /// By which of its addresses.
    pub address: Ipv4Addr,
    /// What it should get, in bits per second; infinite on unshaped wires.
    pub theory: f64,
    /// The NICs that send its frames, acknowledgements included.
    pub senders: Vec<NicId>,
    /// The media that it crosses.
    pub media: Vec<MediumId>,
}

/// Flows that run at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The flows.
    pub flows: Vec<Flow>,
    /// How far from theory each may be.
    pub tolerance: f64,
    /// What comes first isn't counted: bursts of buckets and TCP's slow start.
    pub warm_up: Duration,
    /// How long is counted.
    pub window: Duration,
}

impl Round {
    /// Flows measured for long enough to tell a hundredth: half a second, longer on slow wires.
    pub fn of(flows: impl Iterator<Item = Flow>, tolerance: f64) -> Self {
        let flows: Vec<Flow> = flows.collect();
        let slowest = flows.iter().map(|flow| flow.theory).fold(f64::INFINITY, f64::min);
        let slow = (4e6 / slowest).min(10.0);
        let window = Duration::from_secs_f64(0.4 + slow);
        Self { flows, tolerance, warm_up: Duration::from_millis(150), window }
    }
}

/// How much of this machine a flow takes, as a share of what it has.
pub(super) fn weight(flow: &Flow, shaping: &Shaping) -> f64 {
    let crossings = flow.media.len().max(1) as f64;
    if !flow.theory.is_finite() {
        return 1.0;
    }
    let exact = flow.media.iter().any(|medium| shaping.exact(*medium));
    flow.theory * crossings / if exact { MOST_EXACT } else { MOST_SCALED }
}

/// How many groups of media are measured: the time for it is bounded, and of many media most are
/// alike.
const GROUPS: usize = 6;

/// Puts media together that this machine can emulate at full rate at once, both ways; as
/// many as time allows.
pub(super) fn side_by_side(singles: Vec<Single>, shaping: &Shaping) -> Vec<Vec<Single>> {
    let mut groups: Vec<(f64, Vec<Single>)> = Vec::new();
    for single in singles {
        let weight = 2.0 * weight(&single.alone, shaping);
        match groups.last_mut() {
            Some((sum, group)) if *sum + weight <= 1.0 => {
                *sum += weight;
                group.push(single);
            }
            _ => groups.push((weight, vec![single])),
        }
    }
    groups.into_iter().take(GROUPS).map(|(_, group)| group).collect()
}
