//! The lanes of a copy over a wire that is faster than one thread on each node.

use std::net::IpAddr;

use garland_core::plan::Plan;
use garland_predict::{ONE_LANE, Processors};
use garland_sys::nic;

use crate::calibration;
use crate::place::Place;
use crate::spec::CopySpec;

/// The least number of bytes of a lane: a copy that is over in a moment gains nothing from more
/// threads.
const BYTES_OF_LANE: u64 = 128 << 20;

/// The environment variable with the rate of this machine's network card in bits per second, for
/// tests.
const NIC_RATE: &str = "GARLAND_NIC_RATE";

/// Returns `plan`, each of whose lanes is split into as many as keep up with the network card by
/// which this machine reaches a node at the address `first`, unless the user gave their number. The
/// other machines are taken to be like this one.
pub fn keep_up(plan: Plan, first: IpAddr, spec: &CopySpec, place: &Place) -> Plan {
    // The nodes of a lab share the processors of this machine, and a limit is one of each lane.
    let is_limited = spec.tuning.link_limit.is_some() || place.lab.is_some();
    if spec.plan.rails.is_some() || is_limited {
        return plan;
    }
    // Of a stream nobody knows how long it is.
    let length = if plan.layout.open { u64::MAX } else { plan.layout.length };
    let parts = length / BYTES_OF_LANE / plan.lanes.len().max(1) as u64;
    if parts < 2 {
        return plan;
    }
    let Some(rate) = card_rate(first).filter(|&rate| rate > ONE_LANE) else { return plan };
    let Some(processors) = calibration::measured_processors(&place.places, false) else {
        return plan;
    };
    let Processors { costs, count, .. } = processors;
    let lanes = u64::from(costs.lanes(rate, count as usize)).min(parts);
    plan.split(u16::try_from(lanes).unwrap_or(1))
}

/// Returns the rate, in bytes per second, of the network card by which packets to `peer` leave;
/// `None` if it is unknown.
fn card_rate(peer: IpAddr) -> Option<f64> {
    let told = std::env::var(NIC_RATE).ok().and_then(|bits| bits.parse::<u64>().ok());
    let bits = told.or_else(|| nic::speed(&nic::with_address(nic::facing(peer).ok()?)?));
    Some(bits? as f64 / 8.0)
}
