//! The parameters of a sweep: LogGP, the knee, and the bottleneck there.

use garland_analysis::{Knee, LoadPoint, LogGp, Network, find_jumps, find_knee, loggp};
use garland_protocol::measure::PingKind;
use garland_topology::bounds::on_the_wire;
use serde::Serialize;

use super::point::PointResult;

/// The parameters that a sweep yields.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// LogGP parameter L: the one-way latency in nanoseconds.
    pub latency_ns: f64,
    /// LogGP parameter o: the CPU time of one node for an operation in nanoseconds.
    pub overhead_ns: f64,
    /// LogGP parameter g: the least time between operations in nanoseconds.
    pub gap_ns: f64,
    /// LogGP parameter G: nanoseconds for each further byte; none if sizes were not measured.
    pub gap_per_byte_ns: Option<f64>,
    /// The coefficient of determination R² of the line that was fitted to times over sizes; none if
    /// no line was fitted.
    pub fit: Option<f64>,
    /// The sizes in bytes at which times jump: they lie above the line fitted to the smaller sizes.
    pub jumps: Vec<u32>,
    /// The depth above which the rate no longer grows.
    pub knee: u32,
    /// The bottleneck at the knee: `round trip`, `sender CPU`, `target CPU`, `wire` or `unknown`.
    pub bottleneck: &'static str,
    /// The fraction of the time that the first node's CPU was busy at the knee, from 0 to 1.
    pub initiator_busy: f64,
    /// The fraction of the time that the target's CPU was busy at the knee, from 0 to 1.
    pub target_busy: f64,
    /// The fraction of the wire's rate that was used at the knee; none if the rate is unknown.
    pub wire_used: Option<f64>,
}

/// The wire between the two nodes of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// The rate in bits per second, headers included.
    pub bits: f64,
    /// The size of the largest packet in bytes.
    pub mtu: u16,
}

/// Returns the results of a sweep; none unless all of the first `depths` points, which vary the
/// depth, were measured. `emulated` means that the target's CPU serves gets and puts.
pub fn conclude(
    points: &[PointResult],
    depths: usize,
    wire: Option<Wire>,
    emulated: bool,
) -> Option<Sweep> {
    let sweep = points.get(..depths)?;
    let alone = sweep.first()?;
    let loads: Vec<LoadPoint> = sweep.iter().map(|point| load(point, wire)).collect();
    let (at, knee) = find_knee(&loads)?;
    let best = loads.iter().map(|load| load.each_ns).min_by(f64::total_cmp)?;
    // The time of a message includes the reply.
    let ways = if alone.kind == PingKind::Msg { 2.0 } else { 1.0 };
    let sizes: Vec<(f64, f64)> = points[depths..]
        .iter()
        .map(|point| (f64::from(point.size), point.sojourn.p50 as f64 / ways))
        .collect();
    let is_served = emulated || alone.kind == PingKind::Msg;
    let LogGp { latency_ns, overhead_ns, gap_ns, gap_per_byte_ns, fit } = loggp(&Network {
        round_trip_ns: alone.sojourn.p50 as f64,
        sending_ns: alone.writing_ns as f64 / alone.count.max(1) as f64,
        is_served,
        best_each_ns: best,
        sizes: &sizes,
    });
    let jumps = find_jumps(&sizes).into_iter().map(|at| points[depths + at].size).collect();
    Some(Sweep {
        jumps,
        latency_ns,
        overhead_ns,
        gap_ns,
        gap_per_byte_ns,
        fit,
        knee: loads[at].depth,
        bottleneck: match knee {
            Knee::RoundTrip => "round trip",
            Knee::Initiator => "sender CPU",
            Knee::Target => "target CPU",
            Knee::Wire => "wire",
            Knee::Unknown => "unknown",
        },
        initiator_busy: loads[at].initiator,
        target_busy: loads[at].target,
        wire_used: loads[at].wire,
    })
}

fn load(point: &PointResult, wire: Option<Wire>) -> LoadPoint {
    let share = |ns: u64| (ns as f64 / point.elapsed_ns.max(1) as f64).min(1.0);
    let each_ns = point.elapsed_ns as f64 / point.count.max(1) as f64;
    LoadPoint {
        depth: point.depth,
        each_ns,
        initiator: share(point.initiator_ns),
        target: share(point.target_ns),
        wire: wire.map(|wire| used(point, wire) / each_ns.max(1e-3)),
    }
}

/// Returns the nanoseconds for which an operation occupies the wire, in the busier direction.
/// Replies are assumed to be batched in packets as requests are.
fn used(point: &PointResult, wire: Wire) -> f64 {
    // Without a count of writes, assume one operation per write.
    let together = match point.writes {
        0 => 1.0,
        writes => point.count as f64 / writes as f64,
    };
    let (ask, answer) = point.kind.bytes(point.size);
    let payload = ask.max(answer) as f64 * together;
    on_the_wire(payload as u64, wire.mtu) as f64 / together * 8e9 / wire.bits
}
