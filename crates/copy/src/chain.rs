//! The order in which a chain visits the nodes.

use garland_analysis::pairs::Matrix;
use garland_core::cluster::{Node, nodelist};
use garland_core::plan::{Order, Rates, chain_order};
use garland_core::units::Rate;
use garland_fleet::inventory::rack;
use garland_results::wires_baseline::{self, Baseline};
use garland_state::places::Places;
use garland_terminal::failure::Failure;

use super::place::Place;

/// Nodes in the order of a chain.
pub struct Chain {
    /// The nodes, in the order in which the chain visits them.
    pub nodes: Vec<Node>,
    /// Why this order was chosen, for `--order rack` and `--order wires`; otherwise `None`.
    pub why: Option<String>,
}

impl Chain {
    /// Sorts `nodes` as `asked`, the value of `--order`, specifies. Racks are those of the cluster
    /// file; in a lab, the nodes on one switch are a rack.
    pub fn ordered(place: &Place, asked: &str, nodes: &[Node]) -> Result<Self, Failure> {
        let (order, baseline) = match asked {
            "list" => (Order::List, None),
            "rack" => (Order::Rack, None),
            "wires" => {
                let baseline = measured(&place.places, nodes)?;
                (Order::Wires(rates(&baseline, nodes.len())), Some(baseline))
            }
            list => {
                let names = nodelist::expand(list, &place.inventory)?;
                (Order::Given(names), None)
            }
        };
        let racks: Vec<_> =
            nodes.iter().map(|node| (node.name.clone(), rack(node, place.lab.as_ref()))).collect();
        let sequence = chain_order(&order, &racks)?;
        let why = match (&order, baseline) {
            (Order::Wires(rates), Some(baseline)) => {
                Some(by_wires(&baseline.run, rates, &sequence, nodes))
            }
            (Order::Rack, _) => Some("rack by rack: each uplink carries the data once".to_owned()),
            _ => None,
        };
        Ok(Self { nodes: sequence.into_iter().map(|at| nodes[at].clone()).collect(), why })
    }
}

/// Returns the last measurement of wires that includes all of `nodes`; an error if there is none.
fn measured(places: &Places, nodes: &[Node]) -> Result<Baseline, Failure> {
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    wires_baseline::with_others(places, &names)?.ok_or_else(|| {
        Failure::usage("--order wires: no measurement of the wires between these nodes")
            .hint("measure them first: garland wires NODES")
    })
}

/// Returns the rate from each node to each other node, summed over all NICs, in bytes per second;
/// `None` for a pair that was not measured.
fn rates(baseline: &Baseline, count: usize) -> Rates {
    let rate = |from, to| {
        let rails = baseline.rates.iter().filter_map(|rail: &Matrix| rail.get(from, to));
        let rates: Vec<f64> = rails.collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    };
    (0..count).map(|from| (0..count).map(|to| rate(from, to)).collect()).collect()
}

/// Returns the reason for an order that follows measured rates, with the slowest hop.
fn by_wires(run: &str, rates: &Rates, sequence: &[usize], nodes: &[Node]) -> String {
    let hops = sequence.windows(2).map(|ends| (ends[0], ends[1], rates[ends[0]][ends[1]]));
    let slowest = hops.min_by(|a, b| a.2.unwrap_or(0.0).total_cmp(&b.2.unwrap_or(0.0)));
    let hop = match slowest {
        Some((from, to, Some(bytes))) => {
            let from = &nodes[from].name;
            let to = &nodes[to].name;
            format!("; slowest hop {from} -> {to}: {}", Rate::from_bytes_per_second(bytes as u64))
        }
        Some((from, to, None)) => {
            format!("; {} -> {} was not measured", nodes[from].name, nodes[to].name)
        }
        None => String::new(),
    };
    format!("by the rates of the wires, measured by {run}{hop}")
}
