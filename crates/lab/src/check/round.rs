//! Flows that are measured at the same time.

use std::net::Ipv4Addr;
use std::time::Duration;

use garland_topology::{MediumId, NicId, NodeId};

use crate::shaping::Shaping;

/// The maximum total rate of a round's flows, in bits per second, that two CPUs of 2.6 GHz can
/// emulate on media that count frames one by one.
const MOST_EXACT: f64 = 600e6;
/// The maximum total rate of a round's flows, in bits per second, on media that pass large
/// segments.
const MOST_SCALED: f64 = 5e9;

/// The round trips in which TCP opens its window from 14 KB to the 25 MB that fill 1 Gbit/s over
/// 200 ms, and those of its handshake.
const SLOW_START: u32 = 14;

/// One flow to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The sending node.
    pub from: NodeId,
    /// The receiving node.
    pub to: NodeId,
    /// The address to which the flow is sent.
    pub address: Ipv4Addr,
    /// The expected goodput in bits per second; infinite on unshaped wires.
    pub theory: f64,
    /// The NICs that send the flow's frames, acknowledgements included.
    pub senders: Vec<NicId>,
    /// The media that the flow crosses.
    pub media: Vec<MediumId>,
    /// The time of a round trip on idle wires: the delays of the media there and back.
    pub round_trip: Duration,
}

/// Flows that run at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The flows of the round.
    pub flows: Vec<Flow>,
    /// The largest relative deviation from theory that is accepted.
    pub tolerance: f64,
    /// The time before bytes are counted, for bursts of token buckets and TCP's slow start.
    pub warm_up: Duration,
    /// The time during which bytes are counted.
    pub window: Duration,
}

impl Round {
    /// Creates a round that is long enough for a precision of 1 %: half a second, longer on slow
    /// wires. On wires with a delay it takes some round trips until TCP has opened its window.
    pub fn new(flows: impl Iterator<Item = Flow>, tolerance: f64) -> Self {
        let flows: Vec<Flow> = flows.collect();
        let slowest = flows.iter().map(|flow| flow.theory).fold(f64::INFINITY, f64::min);
        let slow = (4e6 / slowest).min(10.0);
        let window = Duration::from_secs_f64(0.4 + slow);
        let farthest = flows.iter().map(|flow| flow.round_trip).max().unwrap_or_default();
        let warm_up = Duration::from_millis(150) + farthest * SLOW_START;
        Self { flows, tolerance, warm_up, window }
    }
}

/// Returns the share of this machine's CPU time that the emulation of a flow takes; above 1 if the
/// machine is too slow for the flow.
pub(super) fn weight(flow: &Flow, shaping: &Shaping) -> f64 {
    let crossings = flow.media.len().max(1) as f64;
    if !flow.theory.is_finite() {
        return 1.0;
    }
    let exact = flow.media.iter().any(|medium| shaping.exact(*medium));
    flow.theory * crossings / if exact { MOST_EXACT } else { MOST_SCALED }
}
