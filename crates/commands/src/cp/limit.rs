//! The limit of a copy: the highest rate that the wires allow, if it is known before the copy.

use garland_control::Agent;
use garland_core::plan::{HEAD, Lane, NodeId, Plan};
use garland_lab::Lab;
use garland_sys::mptcp::Transport;
use garland_sys::nic;
use garland_topology::bounds;
use garland_topology::paths::{Stream, Ways};

use super::request::CopyRequest;
use garland_fleet::inventory::LAB_PREFIX;
use garland_results::limit::Limit;

/// The ratio of TCP payload to the bytes that a full Ethernet frame occupies on the wire: 1448 of
/// 1538 at the usual MTU.
const GOODPUT: f64 = 1448.0 / 1538.0;

/// Returns the rate of TCP payload that a lab's wires allow for this plan, or, outside of a lab,
/// the rate of this host's NIC towards the first agent; `None` if it is unknown. In a lab, `sender`
/// is the name of the node that sends; the default is the lab's head.
fn of_wires(
    lab: Option<&Lab>,
    sender: Option<&str>,
    plan: &Plan,
    transport: Transport,
    agents: &[Result<Agent, String>],
) -> Option<Limit> {
    if let Some(lab) = lab {
        let bits = of_lab(lab, sender, plan, transport)?;
        return Some(Limit::new(bits, "TCP payload of the lab's wires".to_owned()));
    }
    let agent = agents.iter().flatten().next()?;
    let own = agent.connection.own_address().ok()?.ip().to_canonical();
    let interface = nic::with_address(own)?;
    let bits = nic::speed(&interface)? as f64 * GOODPUT;
    let source = format!("TCP payload of this host's {interface}, at its link speed");
    Some(Limit::new(bits, source))
}

/// Returns the limit that the wires and `--bwlimit` set for a copy. `--bwlimit` applies to each
/// link; two nodes are connected by one link for each lane.
pub fn of_copy(
    request: &CopyRequest<'_>,
    lab: Option<&Lab>,
    plan: &Plan,
    transport: Transport,
    agents: &[Result<Agent, String>],
) -> Option<Limit> {
    let known = of_wires(lab, request.args.launch.sender(), plan, transport, agents);
    let pace = request.args.checks.pace();
    let all = pace.saturating_mul(plan.lanes.len() as u64);
    if pace == 0 || known.as_ref().is_some_and(|known| known.rate <= all) {
        return known;
    }
    Some(Limit { rate: all, source: "--bwlimit".to_owned(), achieved: None })
}

/// Returns the total rate of all lanes, in bits per second, when all hops are busy at the same
/// time; a lane is as fast as its slowest hop. `None` if the wires have no rate limit.
pub fn of_lab(lab: &Lab, sender: Option<&str>, plan: &Plan, transport: Transport) -> Option<f64> {
    let topology = &lab.spec().topology;
    let ways = Ways::of(topology);
    let place = |id: NodeId| {
        let name = &plan.nodes[id.index()].name;
        let name = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
        if id == HEAD {
            sender.map_or(Some(0), |name| topology.node(name))
        } else {
            topology.node(name)
        }
    };
    let hop = |lane: &Lane, near: NodeId, far: NodeId| -> Option<Vec<Stream>> {
        let (from, to) = (place(near)?, place(far)?);
        if transport == Transport::Mptcp {
            return Some(ways.between(from, to));
        }
        let addresses = lab.rails(&topology.nodes[to].name).ok()?;
        let address = addresses[usize::from(lane.rail) % addresses.len()];
        Some(vec![ways.to_address(from, to, address)])
    };
    // The first hop of a shared source is a read by the node itself, and uses no wire.
    let own = usize::from(plan.is_shared);
    let hops =
        |lane: &Lane| lane.route.hops().skip(own).map(|(near, far)| hop(lane, near, far)).collect();
    let lanes: Vec<Vec<Vec<Stream>>> = plan.lanes.iter().map(hops).collect::<Option<_>>()?;
    let rates = bounds::max_min_of(topology, &lanes.concat());
    let slowest = |hops: &[f64]| hops.iter().copied().fold(f64::INFINITY, f64::min);
    let hops = lanes.first()?.len();
    if hops == 0 {
        return None;
    }
    let all: f64 = rates.chunks(hops).map(slowest).sum();
    // Nodes without a route to the next node are excluded from the copy, whose limit is then
    // unknown.
    (all.is_finite() && all > 0.0).then_some(all)
}
