//! Audits a round of measurements by the kernel's counters: finds stray frames, and media that
//! carried too much.

use garland_topology::{MediumKind, Topology};

use super::round::Round;
use crate::counters::{Counters, QueueCounters};
use crate::device;
use crate::medium::{Station, ports};
use crate::shaping::{FRAME, WIRE};

/// The maximum number of bytes that a NIC without a flow may send in a round: enough for ARP.
const IDLE: u64 = 20_000;

/// The relative tolerance for a medium's rate. It covers bursts, and the time that it takes to read
/// the counters.
const MARGIN: f64 = 0.01;

/// Returns all anomalies of a round that took `seconds` seconds, as text. `before` and `after` are
/// the counters at its start and end.
pub(super) fn judge(
    topology: &Topology,
    round: &Round,
    before: &Counters,
    after: &Counters,
    seconds: f64,
) -> Vec<String> {
    let mut odd = strays(topology, round, before, after);
    odd.extend(too_much(topology, before, after, seconds));
    odd
}

/// Finds NICs that sent frames although no flow uses them.
fn strays(topology: &Topology, round: &Round, before: &Counters, after: &Counters) -> Vec<String> {
    let idle = (0..topology.nics.len())
        .filter(|nic| !round.flows.iter().any(|flow| flow.senders.contains(nic)));
    idle.filter_map(|nic| {
        let own = device::port(nic);
        let sent = after.port(&own).sent.saturating_sub(before.port(&own).sent);
        (sent > IDLE).then(|| {
            format!("{} sent {sent} bytes, but no measured flow uses it", topology.nic_name(nic))
        })
    })
    .collect()
}

/// Finds media that carried more than their rate.
fn too_much(topology: &Topology, before: &Counters, after: &Counters, seconds: f64) -> Vec<String> {
    let mut odd = Vec::new();
    for (id, medium) in topology.media.iter().enumerate() {
        let queues: Vec<(String, u64)> = match (medium.kind, medium.rate) {
            (MediumKind::Hub { .. }, Some(rate)) => {
                vec![(device::shared(id), rate.bits_per_second())]
            }
            _ => {
                let shaped = ports(topology, id).into_iter();
                shaped.filter_map(|port| Some((port.device, port.rate?))).collect()
            }
        };
        for (device, rate) in queues {
            let carried = on_wire(&before.root(&device), &after.root(&device));
            if carried * 8.0 > rate as f64 * seconds * (1.0 + MARGIN) {
                odd.push(format!(
                    "medium {} carried {carried:.0} bytes in {seconds:.2} s through {}, which exceeds \
                     its rate",
                    medium.name,
                    name_of(topology, id, &device)
                ));
            }
        }
    }
    odd
}

/// Returns the bytes on the wire between two readings of a queue. Each frame takes 24 bytes more
/// than the kernel counts; the number of frames in large segments is derived from their length.
fn on_wire(before: &QueueCounters, after: &QueueCounters) -> f64 {
    let bytes = after.bytes.saturating_sub(before.bytes);
    let frames = after.packets.saturating_sub(before.packets).max(bytes / FRAME);
    (bytes + frames * (WIRE - FRAME)) as f64
}

fn name_of(topology: &Topology, medium: usize, device: &str) -> String {
    let port = ports(topology, medium).into_iter().find(|port| port.device == device);
    match port.map(|port| port.station) {
        Some(Station::Nic(nic)) => format!("the port of {}", topology.nic_name(nic)),
        Some(Station::Uplink(_)) => "an uplink".to_owned(),
        None => "its wire".to_owned(),
    }
}
