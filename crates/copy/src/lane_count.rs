//! The lanes of a copy over a wire that is too fast, or too long, for one thread and one
//! connection.

use std::net::IpAddr;
use std::time::Duration;

use garland_core::plan::Plan;
use garland_core::units::Rate;
use garland_predict::{ONE_LANE, Processors};
use garland_sys::{nic, tcp};

use crate::calibration;
use crate::place::Place;
use crate::spec::CopySpec;

/// The least number of bytes of a lane: a copy that is over in a moment gains nothing from more
/// threads.
const BYTES_OF_LANE: u64 = 128 << 20;

/// The maximum number of lanes that a long wire gets.
const LONG_WIRE_LANES: f64 = 16.0;

/// The environment variable with the rate of this machine's network card in bits per second, for
/// tests.
const NIC_RATE: &str = "GARLAND_NIC_RATE";

/// The wire from this machine to the first node that it reaches.
pub struct FirstWire {
    /// The address of the node.
    pub to: IpAddr,
    /// The time of a round trip; 0 if it is unknown.
    pub round_trip: Duration,
}

/// Returns `plan`, each of whose lanes is split into as many as keep up with the wire to the
/// `first` node, unless the user gave their number. The other machines and wires are taken to be
/// like these.
///
/// One lane is one thread on each node, which moves only so many bytes, and one connection, which
/// has no more on its way than its sender's buffer holds.
pub fn keep_up(plan: Plan, first: &FirstWire, spec: &CopySpec, place: &Place) -> Plan {
    // A limit of the rate is one of each lane.
    if spec.plan.rails.is_some() || spec.tuning.link_limit.is_some() {
        return plan;
    }
    // Of a stream nobody knows how long it is.
    let length = if plan.layout.open { u64::MAX } else { plan.layout.length };
    let parts = length / BYTES_OF_LANE / plan.lanes.len().max(1) as u64;
    if parts < 2 {
        return plan;
    }
    let Some(rate) = wire_rate(first.to, place) else { return plan };
    let lanes = lanes_by_threads(rate, place).max(lanes_by_window(rate, first.round_trip));
    plan.split(u16::try_from(u64::from(lanes).min(parts)).unwrap_or(1))
}

/// Returns how many lanes have the threads for `rate` bytes per second.
fn lanes_by_threads(rate: f64, place: &Place) -> u16 {
    // The nodes of a lab share the processors of this machine.
    if rate <= ONE_LANE || place.lab.is_some() {
        return 1;
    }
    let Some(processors) = calibration::measured_processors(&place.places, false) else { return 1 };
    let Processors { costs, count, .. } = processors;
    costs.lanes(rate, count as usize)
}

/// Returns how many connections can have on their way what a wire of `rate` bytes per second holds
/// in a round trip.
fn lanes_by_window(rate: f64, round_trip: Duration) -> u16 {
    let Some(most) = tcp::most_on_its_way() else { return 1 };
    let lanes = (rate * round_trip.as_secs_f64() / most as f64).ceil();
    lanes.clamp(1.0, LONG_WIRE_LANES) as u16
}

/// Returns the rate in bytes per second of the wire by which packets to `peer` leave: in a lab as
/// its topology has it, else that of the network card; `None` if it is unknown.
fn wire_rate(peer: IpAddr, place: &Place) -> Option<f64> {
    if let Some(lab) = &place.lab {
        let topology = &lab.spec().topology;
        let medium = topology.nics_of(0).next()?.1.medium;
        return topology.media[medium].rate.map(Rate::bytes_per_second);
    }
    let told = std::env::var(NIC_RATE).ok().and_then(|bits| bits.parse::<u64>().ok());
    let bits = told.or_else(|| nic::speed(&nic::with_address(nic::facing(peer).ok()?)?));
    Some(bits? as f64 / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_wires_get_lanes_for_what_is_on_its_way() {
        let most = tcp::most_on_its_way().expect("Linux tells it") as f64;
        let lanes = |parts: f64| lanes_by_window(parts * most * 10.0, Duration::from_millis(100));
        assert_eq!([0.0, 0.9, 1.5, 7.5, 1000.0].map(lanes), [1, 1, 2, 8, 16]);
    }
}
