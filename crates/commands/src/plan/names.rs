//! `garland plan names`: how long nodes that come and leave at random need to get a name, at scale.

use std::fmt;

use garland_core::units::{Nanos, Rate, bytes};
use garland_predict::{Crowd, Spread, Spreading, spread};
use garland_topology::shapes::{Basis, LeafSpine, leaf_spine};
use serde::Serialize;

use crate::args::PlanNames;
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, show};
use garland_terminal::failure::{Exit, Failure};

/// The length of a piece in bytes, unless there are too few or too many.
const PIECE: u64 = 64 << 20;

/// The number of spines.
const SPINES: u32 = 4;

/// The rows of the table.
const ROWS: [(&str, Spread); 5] = [
    ("star", Spread::Star),
    ("chain", Spread::Chain),
    ("line", Spread::Line),
    ("racks", Spread::Racks),
    ("swarm", Spread::Swarm),
];

/// The result object `garland.plan-names/1`.
#[derive(Serialize)]
struct NamesPlan {
    #[serde(flatten)]
    head: Head,
    bytes: u64,
    rate: Rate,
    rack: u32,
    oversubscription: f64,
    seed: u64,
    pieces: u32,
    /// The seconds of a download alone, at the rate of the wire.
    seconds: f64,
    rows: Vec<Row>,
}

/// What some nodes need in one way.
#[derive(Serialize)]
struct Row {
    /// Which node reads from which one.
    spread: &'static str,
    nodes: u32,
    /// From coming to end, in downloads alone: the median and the slowest node.
    median: f64,
    last: f64,
    /// What the origin sent, in lengths of the content.
    origin: f64,
    /// Requests to each keeper in the busiest second.
    requests: usize,
}

/// Simulates the getting of a name, and prints the table with its assumptions.
pub(super) fn run(context: &Context, asked: &PlanNames) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let length = bytes::parse(&asked.bytes)?.max(1);
    if !(asked.oversubscription >= 0.01 && asked.oversubscription <= 100.0) {
        return Err(Failure::usage("--oversubscription must be from 0.01 to 100"));
    }
    let pieces = length.div_ceil(PIECE).clamp(64, 1600) as u32;
    let rate = asked.rate.bytes_per_second();
    let tick = length as f64 / f64::from(pieces) / rate;
    let mut rows = Vec::new();
    for nodes in &asked.nodes {
        let uplink =
            rate * 8.0 * f64::from(asked.rack) / asked.oversubscription / f64::from(SPINES);
        let measures = LeafSpine {
            leaves: (nodes + 1).div_ceil(asked.rack),
            spines: SPINES,
            uplink: Some(Rate::from_bits_per_second(uplink.ceil() as u64)),
        };
        let topology = leaf_spine(&Basis::numbered("names", *nodes).at(asked.rate), &measures);
        let crowd = Crowd::new(&topology, pieces, tick, asked.seed);
        let row = |(name, by)| Row::new(name, *nodes, spread(&crowd, by));
        rows.extend(ROWS.map(row));
    }
    phases.end("simulate");
    let result = NamesPlan {
        head: Head::new("garland.plan-names/1", None, phases),
        bytes: length,
        rate: asked.rate,
        rack: asked.rack,
        oversubscription: asked.oversubscription,
        seed: asked.seed,
        pieces,
        seconds: length as f64 / rate,
        rows,
    };
    show(context.json, &result)?;
    Ok(Exit::Done)
}

impl Row {
    fn new(spread: &'static str, nodes: u32, found: Spreading) -> Self {
        let Spreading { median, last, origin, requests } = found;
        Self { spread, nodes, median, last, origin, requests }
    }
}

impl fmt::Display for NamesPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alone = Nanos((self.seconds * 1e9).round() as u64);
        let length = bytes::format(self.bytes);
        writeln!(f, "{length} at {}: {alone} for a node alone\n", self.rate)?;
        let (median, last, origin, requests) = ("median", "last", "origin", "requests/s");
        writeln!(f, "{:>6}  {:<5} {median:>9} {last:>9} {origin:>9} {requests:>11}", "nodes", "")?;
        for row in &self.rows {
            let Row { spread, nodes, median, last, origin, requests } = row;
            writeln!(
                f,
                "{nodes:>6}  {spread:<5} {median:>9.2} {last:>9.2} {origin:>9.2} {requests:>11}"
            )?;
        }
        let piece = bytes::format(self.bytes / u64::from(self.pieces));
        write!(
            f,
            "
median and last: time from a node's coming to its end, in times of a node alone.
origin: bytes that the origin sent, in lengths of the content.
requests/s: to each agent that keeps the name, in the busiest second.

star    each node takes it from the origin; garland get with other holders is better
chain   garland cp to all that wait; those who come later wait for the next chain
line    each follows the one that came before it, and is a block behind it
racks   likewise in its rack; the first of a rack follows that of the rack before
swarm   each takes the rarest piece of one of four nodes, chosen at random

Assumed: racks of {} nodes, whose uplinks carry 1/{} of what their nodes can; the
origin is in one of them, with one wire. Nodes come by a Poisson process, within
about the time of one download; 1 in 20 leaves at a random part of it, and
another one comes in its place. {} pieces of {piece}. Wires are the only
limit; what is too much for one is cut in proportion. Seed {}.
",
            self.rack, self.oversubscription, self.pieces, self.seed
        )
    }
}
