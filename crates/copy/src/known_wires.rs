//! What is known of the wires between the nodes of a copy, and the fastest plan over them: what
//! `garland cp` does by default, and what `garland plan suggest` prints.

use garland_analysis::pairs::Matrix;
use garland_core::cluster::Node;
use garland_core::plan::{LANES_MAX, Order, Rates, chain_order};
use garland_core::units::Rate;
use garland_fleet::inventory::LAB_PREFIX;
use garland_lab::Lab;
use garland_predict::{
    Broadcast, Costs, Measured, NoWay, OrderChoice, Payload, Processors, RouteShapes, Wires,
};
use garland_protocol::copy::Encoding;
use garland_results::wires_baseline::{self, Baseline};
use garland_state::places::Places;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use garland_topology::bounds::rails;

use crate::calibration;

/// How the options of a copy handle its bytes.
#[derive(Clone, Copy)]
pub struct Handling {
    /// The form of the bytes on wires.
    pub payload: Payload,
    /// The encoding of blocks that gives them this form.
    pub encoding: Encoding,
    /// The limit of each link in bytes per second; infinite if there is none.
    pub link: f64,
}

impl Handling {
    /// Returns how blocks in the form `payload`, which is that of `encoding`, are handled, if each
    /// link has this limit.
    pub fn new(payload: Payload, encoding: Encoding, limit: Option<Rate>) -> Self {
        Self { payload, encoding, link: limit.map_or(f64::INFINITY, Rate::bytes_per_second) }
    }
}

/// The wires between a head and nodes.
pub struct KnownWires {
    model: Model,
    /// The indices of the nodes in the model: the head, then the others as they are listed.
    places: Vec<usize>,
    /// The order of the nodes rack by rack.
    by_rack: Vec<usize>,
    /// The usual number of lanes.
    lanes: u16,
    processors: Option<Processors>,
    source: String,
}

/// Returns the usual number of lanes of a copy: the number of addresses that all nodes have, or of
/// the rails of their lab.
pub fn usual_lanes(nodes: &[Node], lab: Option<&Lab>) -> u16 {
    let addresses = nodes.iter().map(|node| node.addresses.len()).min().unwrap_or(1);
    u16::try_from(addresses.max(lab.map_or(1, Lab::lanes))).unwrap_or(1)
}

enum Model {
    Drawn(Box<Topology>),
    Measured(Measured),
}

impl KnownWires {
    /// Returns the topology of the lab that `nodes` belong to, or else what `garland wires`
    /// measured of them in the last day; `None` if there is neither. `sender` is the name of the
    /// lab's node that sends; the default is the lab's head.
    pub fn between(
        nodes: &[Node],
        state: &Places,
        lab: Option<&Lab>,
        sender: Option<&str>,
    ) -> Result<Option<Self>, Failure> {
        let racks: Vec<_> =
            nodes.iter().map(|node| (node.name.clone(), node.rack.clone())).collect();
        let by_rack = chain_order(&Order::Rack, &racks)?;
        let lanes = usual_lanes(nodes, lab);
        let names = nodes.iter().map(|node| node.name.strip_prefix(LAB_PREFIX));
        if let Some(lab) = lab {
            let topology = &lab.spec().topology;
            let head = sender.map_or(Some(0), |name| topology.node(name));
            let known = names.map(|name| topology.node(name?));
            let places: Option<Vec<usize>> = std::iter::once(head).chain(known).collect();
            let source = "the topology of the lab".to_owned();
            let model = Model::Drawn(Box::new(topology.clone()));
            let processors = calibration::measured_processors(state, true);
            return Ok(places.map(|places| Self {
                model,
                places,
                by_rack,
                lanes,
                processors,
                source,
            }));
        }
        if names.flatten().next().is_some() {
            return Ok(None);
        }
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let Some(baseline) = wires_baseline::recent(state, &names)? else { return Ok(None) };
        let source = format!("the rates that {} measured", baseline.run);
        let model = Model::Measured(measured(&baseline, &names));
        let places = (0..=nodes.len()).collect();
        let processors = calibration::measured_processors(state, false);
        Ok(Some(Self { model, places, by_rack, lanes, processors, source }))
    }

    /// The wires of a topology between its first node and the next `nodes` nodes. Each has the
    /// processors of this machine.
    pub fn drawn(topology: Topology, nodes: u32, state: &Places) -> Self {
        let places: Vec<usize> = (0..topology.nodes.len()).take(nodes as usize + 1).collect();
        let by_rack = (0..places.len().saturating_sub(1)).collect();
        let lanes = u16::try_from(rails(&topology).clamp(1, usize::from(LANES_MAX))).unwrap_or(1);
        let model = Model::Drawn(Box::new(topology));
        let processors = calibration::measured_processors(state, false);
        let source = "this topology".to_owned();
        Self { model, places, by_rack, lanes, processors, source }
    }

    /// Returns where the knowledge is from, in words.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the usual number of lanes.
    pub fn lanes(&self) -> u16 {
        self.lanes
    }

    /// Returns the search for the fastest plan of a copy of `length` bytes: any order and shape,
    /// with `lanes` lanes or one, in blocks of `block_size` bytes or others.
    pub fn broadcast(
        &self,
        length: u64,
        lanes: u16,
        block_size: u32,
        handling: Handling,
    ) -> Broadcast<'_> {
        let Handling { payload, link, .. } = handling;
        Broadcast {
            wires: match &self.model {
                Model::Drawn(topology) => Wires::Drawn(topology),
                Model::Measured(measured) => Wires::Measured(measured),
            },
            places: &self.places,
            length,
            costs: Costs { processors: self.processors, payload, link, ..Costs::USUAL },
            order: OrderChoice::Any(vec![self.by_rack.clone()]),
            route: RouteShapes::Any,
            lanes: if lanes > 1 { vec![lanes, 1] } else { vec![1] },
            block_size,
            any_block: true,
        }
    }
}

/// Returns the model of nodes whose rates were measured. The rates of the head are unknown.
fn measured(baseline: &Baseline, names: &[&str]) -> Measured {
    let of_rail = |rail: &Matrix| -> Rates {
        let rate = |from: usize, to: usize| match (from, to) {
            (0, _) | (_, 0) => None,
            _ => rail.get(from - 1, to - 1),
        };
        (0..=names.len()).map(|from| (0..=names.len()).map(|to| rate(from, to)).collect()).collect()
    };
    let names = std::iter::once("head").chain(names.iter().copied()).map(str::to_owned);
    Measured::new(names.collect(), baseline.rates.iter().map(of_rail).collect())
}

/// Returns the failure for nodes that no plan reaches.
pub fn unreachable(way: &NoWay) -> Failure {
    Failure::usage(format!(
        "no plan reaches all nodes: there is no route from {} to {}",
        way.from, way.to
    ))
}
