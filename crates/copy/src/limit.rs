//! The limit of a copy: the highest rate that the wires allow, if it is known before the copy.

use garland_control::Agent;
use garland_core::plan::{HEAD, Lane, NodeId, Plan};
use garland_core::units::Rate;
use garland_fleet::inventory::LAB_PREFIX;
use garland_lab::Lab;
use garland_predict::{CopyTry, Costs, Measured, Payload, Wires, processor_limits};
use garland_results::limit::{Limit, ProcessorRate};
use garland_sys::mptcp::Transport;
use garland_sys::nic;
use garland_topology::paths::{Stream, Ways};
use garland_topology::{Topology, bounds};

use super::place::Place;
use super::spec::CopySpec;
use crate::calibration;

/// The ratio of TCP payload to the bytes that a full Ethernet frame occupies on the wire: 1448 of
/// 1538 at the usual MTU.
const GOODPUT: f64 = 1448.0 / 1538.0;

/// The rate of a trunk that never is the bottleneck.
const UNLIMITED: Rate = Rate::from_bits_per_second(1 << 50);

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
        return of_wires_in(lab, sender, &[plan], transport);
    }
    let agent = agents.iter().flatten().next()?;
    let own = agent.connection.own_address().ok()?.ip().to_canonical();
    let interface = nic::with_address(own)?;
    let bits = nic::speed(&interface)? as f64 * GOODPUT;
    let source = format!("TCP payload of this host's {interface}, at its link speed");
    Some(Limit::new(bits, source))
}

/// Returns the limit that a lab's wires set for several copies at once that gather files; `None`
/// outside of a lab.
pub fn of_gather(
    spec: &CopySpec,
    lab: Option<&Lab>,
    plans: &[&Plan],
    transport: Transport,
) -> Option<Limit> {
    // The wires have the same rate in the other direction.
    let reversed: Vec<Plan> = plans.iter().map(|plan| (*plan).clone().reversed()).collect();
    let reversed: Vec<&Plan> = reversed.iter().collect();
    of_wires_in(lab?, spec.run.launch.sender(), &reversed, transport)
}

/// Returns the limit that a lab's wires set for several copies at once.
fn of_wires_in(
    lab: &Lab,
    sender: Option<&str>,
    plans: &[&Plan],
    transport: Transport,
) -> Option<Limit> {
    let topology = &lab.spec().topology;
    let bits = of_topology(lab, topology, sender, plans, transport)?;
    let limit = Limit::new(bits, "TCP payload of the lab's wires".to_owned());
    let mut wide = topology.clone();
    wide.uplinks.iter_mut().for_each(|trunk| trunk.rate = Some(UNLIMITED));
    let bytes = |bits: f64| (bits / 8.0) as u64;
    let unhindered = of_topology(lab, &wide, sender, plans, transport).map(bytes);
    let hops = lanes(lab, &wide, sender, plans, transport)?.concat();
    let alone = hops.into_iter().flat_map(|hop| bounds::max_min_of(&wide, &[hop]));
    let hop = alone.filter(|rate| rate.is_finite()).reduce(f64::max).map(bytes);
    Some(Limit { without_trunks: unhindered.filter(|wide| *wide > limit.rate), hop, ..limit })
}

/// Returns the limit that the wires and `--bwlimit` set for a copy. `--bwlimit` applies to each
/// link; two nodes are connected by one link for each lane. Its blocks are sent in the form
/// `payload`.
pub fn of_copy(
    spec: &CopySpec,
    at: &Place,
    plan: &Plan,
    payload: Payload,
    transport: Transport,
    agents: &[Result<Agent, String>],
) -> Option<Limit> {
    let limit = of_links(spec, at.lab.as_ref(), plan, transport, agents)?;
    let sender = spec.run.launch.sender();
    Some(Limit { processors: of_processors(at, sender, plan, payload), ..limit })
}

/// Returns the limit that the wires and `--bwlimit` set for a copy.
fn of_links(
    spec: &CopySpec,
    lab: Option<&Lab>,
    plan: &Plan,
    transport: Transport,
    agents: &[Result<Agent, String>],
) -> Option<Limit> {
    let known = of_wires(lab, spec.run.launch.sender(), plan, transport, agents);
    let pace = spec.tuning.pace();
    let all = pace.saturating_mul(plan.lanes.len() as u64);
    if pace == 0 || known.as_ref().is_some_and(|known| known.rate <= all) {
        return known;
    }
    Some(Limit::new(all as f64 * 8.0, "--bwlimit".to_owned()))
}

/// The number of machines whose processors are named: without the one that a fault is at, the next
/// one is the limit.
const NAMED_MACHINES: usize = 2;

/// Returns the rates that the processors of the slowest machines allow for this plan, if its blocks
/// are sent in the form `payload`.
fn of_processors(
    at: &Place,
    sender: Option<&str>,
    plan: &Plan,
    payload: Payload,
) -> Vec<ProcessorRate> {
    // The nodes of a shared source read it themselves.
    let lab = at.lab.as_ref();
    let processors =
        calibration::measured_processors(&at.places, lab.is_some()).filter(|_| !plan.is_shared);
    let topology = lab.map(|lab| &lab.spec().topology);
    let names: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
    let unknown = Measured::new(names, Vec::new());
    let ids = (0..).map(NodeId).take(plan.nodes.len());
    let places: Option<Vec<usize>> = match topology {
        Some(topology) => ids.map(|id| place(topology, sender, plan, id)).collect(),
        None => Some((0..plan.nodes.len()).collect()),
    };
    let Some(places) = places else { return Vec::new() };
    let wires = topology.map_or(Wires::Measured(&unknown), Wires::Drawn);
    let costs = Costs { processors, payload, ..Costs::USUAL };
    let known = processor_limits(&CopyTry { wires, plan, places: &places, costs });
    let named = known.iter().take(NAMED_MACHINES).map(|known| ProcessorRate {
        node: known.node.map(|node| plan.nodes[node].name.clone()),
        rate: known.rate as u64,
    });
    named.collect()
}

/// Returns the index in a lab's topology of a node of a plan.
fn place(topology: &Topology, sender: Option<&str>, plan: &Plan, id: NodeId) -> Option<usize> {
    let name = &plan.nodes[id.index()].name;
    let name = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
    if id == HEAD {
        sender.map_or(Some(0), |name| topology.node(name))
    } else {
        topology.node(name)
    }
}

/// Returns the total rate of all lanes of several copies, in bits per second, when all hops are
/// busy at the same time and the wires of a lab are those of `topology`; a lane is as fast as its
/// slowest hop. `None` if the wires have no rate limit.
fn of_topology(
    lab: &Lab,
    topology: &Topology,
    sender: Option<&str>,
    plans: &[&Plan],
    transport: Transport,
) -> Option<f64> {
    let streams = lanes(lab, topology, sender, plans, transport)?;
    let mut rates = &bounds::max_min_of(topology, &streams.concat())[..];
    let mut all = 0.0;
    for lane in &streams {
        let (own, others) = rates.split_at(lane.len());
        all += own.iter().copied().fold(f64::INFINITY, f64::min);
        rates = others;
    }
    // Nodes without a route to the next node are excluded from the copy, whose limit is then
    // unknown.
    (all.is_finite() && all > 0.0).then_some(all)
}

/// Returns for each lane of some plans the ways that its hops take.
fn lanes(
    lab: &Lab,
    topology: &Topology,
    sender: Option<&str>,
    plans: &[&Plan],
    transport: Transport,
) -> Option<Vec<Vec<Vec<Stream>>>> {
    let ways = Ways::new(topology);
    let locate = |plan: &Plan, id: NodeId| place(topology, sender, plan, id);
    let hop = |plan: &Plan, lane: &Lane, near: NodeId, far: NodeId| -> Option<Vec<Stream>> {
        let from = locate(plan, near)?;
        let to = locate(plan, far)?;
        if transport == Transport::Mptcp {
            return Some(ways.between(from, to));
        }
        let addresses = lab.rails(&topology.nodes[to].name).ok()?;
        let address = addresses[usize::from(lane.rail) % addresses.len()];
        Some(vec![ways.to_address(from, to, address)])
    };
    let hops = |plan: &Plan, lane: &Lane| -> Option<Vec<Vec<Stream>>> {
        // The first hop of a shared source is a read by the node itself, and uses no wire.
        let own = usize::from(plan.is_shared);
        lane.route.hops().skip(own).map(|(near, far)| hop(plan, lane, near, far)).collect()
    };
    let lanes = plans.iter().flat_map(|plan| plan.lanes.iter().map(move |lane| (plan, lane)));
    lanes.map(|(plan, lane)| hops(plan, lane)).collect()
}
