//! The order in which a chain visits the nodes, and why it is that one.

use garland_analysis::pairs::Matrix;
use garland_core::cluster::{Node, nodelist};
use garland_core::plan::{Order, Rates, chain_order};
use garland_core::units::Rate;
use garland_lab::Lab;

use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_results::places::Places;
use garland_results::wires_baseline::{self, Baseline};
use garland_terminal::failure::Failure;

/// Nodes in the order of a chain.
pub struct Chain {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Why they are in this order; nothing where the user said so.
    pub why: Option<String>,
}

impl Chain {
    /// Puts `nodes` in the order that the user asked for. A rack is what the cluster file calls one, and
    /// in a lab what hangs on one switch.
    pub fn ordered(
        inventory: &Inventory,
        (places, lab): (&Places, Option<&Lab>),
        asked: &str,
        nodes: &[Node],
    ) -> Result<Self, Failure> {
        let (order, baseline) = match asked {
            "list" => (Order::List, None),
            "rack" => (Order::Rack, None),
            "wires" => {
                let baseline = measured(places, nodes)?;
                (Order::Wires(rates(&baseline, nodes.len())), Some(baseline))
            }
            list => {
                let names = nodelist::expand(list, inventory).map_err(Failure::usage)?;
                (Order::Given(names), None)
            }
        };
        let rack = |node: &Node| node.rack.clone().or_else(|| switch_of(lab?, node));
        let racks: Vec<_> = nodes.iter().map(|node| (node.name.clone(), rack(node))).collect();
        let sequence = chain_order(&order, &racks).map_err(Failure::usage)?;
        let why = match (&order, baseline) {
            (Order::Wires(rates), Some(baseline)) => {
                Some(by_wires(&baseline.run, rates, &sequence, nodes))
            }
            (Order::Rack, _) => Some("rack by rack: each rack's uplink carries it once".to_owned()),
            _ => None,
        };
        Ok(Self { nodes: sequence.into_iter().map(|at| nodes[at].clone()).collect(), why })
    }
}

/// The medium that a lab's node hangs on by its first NIC.
fn switch_of(lab: &Lab, node: &Node) -> Option<String> {
    let topology = &lab.spec().topology;
    let place = topology.node(node.name.strip_prefix(LAB_PREFIX)?)?;
    let nic = topology.nics.iter().find(|nic| nic.node == place)?;
    Some(topology.media[nic.medium].name.clone())
}

/// The last measurement of all of these nodes.
fn measured(places: &Places, nodes: &[Node]) -> Result<Baseline, Failure> {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    wires_baseline::with_others(places, &names)?.ok_or_else(|| {
        Failure::usage("--order wires: the wires between these nodes were never measured")
            .hint("garland wires NODES measures them, and keeps what it finds")
    })
}

/// What each node gave to each other by all its NICs.
fn rates(baseline: &Baseline, count: usize) -> Rates {
    let rate = |from, to| {
        let rails = baseline.rates.iter().filter_map(|rail: &Matrix| rail.get(from, to));
        let rates: Vec<f64> = rails.collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    };
    (0..count).map(|from| (0..count).map(|to| rate(from, to)).collect()).collect()
}

fn by_wires(run: &str, rates: &Rates, sequence: &[usize], nodes: &[Node]) -> String {
    let hops = sequence.windows(2).map(|ends| (ends[0], ends[1], rates[ends[0]][ends[1]]));
    let narrowest = hops.min_by(|a, b| a.2.unwrap_or(0.0).total_cmp(&b.2.unwrap_or(0.0)));
    let told = match narrowest {
        Some((from, to, Some(bytes))) => {
            let (from, to) = (&nodes[from].name, &nodes[to].name);
            format!(
                ", its narrowest hop {from} -> {to}: {}",
                Rate::from_bytes_per_second(bytes as u64)
            )
        }
        Some((from, to, None)) => {
            format!(", {} -> {} wasn't measured", nodes[from].name, nodes[to].name)
        }
        None => String::new(),
    };
    format!("by the wires as {run} measured them{told}")
}
