//! One to so many copies at once between pairs of nodes, over several topologies: the network test
//! of 1996, local wire and remote wire apart.

mod table;

use garland_core::units::bytes;
use garland_topology::{NodeId, Topology, bounds};
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::predicted::{self, NEXT_TO_NOTHING};
use super::sections::place;
use crate::scenario_lab::ScenarioLab;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
pub use table::{Row, Table};

/// What is done and compared.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Pairs {
    /// What is done.
    pub job: Job,
    /// What counts as reproduced.
    pub tolerance: Tolerance,
}

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `pairs`.
    pub kind: Kind,
    /// The length of each pair's file.
    pub bytes: String,
    /// How many pairs at once.
    pub counts: Vec<usize>,
    /// The pairs by their wire; each topology is run with those that it has.
    pub wire: Vec<Group>,
}

/// Pairs that have the same sort of way between them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Which.
    pub name: Wire,
    /// Sender and receiver; the first so many are used.
    pub pairs: Vec<[String; 2]>,
}

/// What is between the nodes of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// A medium that both are on.
    Local,
    /// Others: nodes or switches pass packets on.
    Remote,
}

impl Wire {
    /// What is between two nodes.
    fn between(topology: &Topology, one: NodeId, other: NodeId) -> Self {
        if topology.medium_between(one, other).is_some() { Self::Local } else { Self::Remote }
    }

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least rate of all copies together, as a share of what the wires allow.
    pub least_of_bound: f64,
}

impl Pairs {
    /// Whether the nodes are there, each in one pair at most, with wires between them that have a
    /// rate, and every topology has a group of pairs that fits.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        bytes::parse(&self.job.bytes).map_err(|error| error.to_string())?;
        let most = self.job.counts.iter().max().copied().unwrap_or(0);
        if self.job.counts.contains(&0) || most == 0 {
            return Err("`counts` are numbers of pairs, one at least".to_owned());
        }
        Group::check_all(&self.job.wire, most, topologies)
    }

    /// Copies over every topology, by every group of pairs that it has, so many at once.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let (scale, length) = stage.scaled(&self.job.bytes, 1.0)?;
        let mut rows = Vec::new();
        for topology in stage.topologies {
            stage.in_lab(topology, length, phases, |bench, phases| {
                let file = |name, length| {
                    let made = bench.random_file(name, length)?;
                    Ok::<_, Failure>(made.to_string_lossy().into_owned())
                };
                let (source, nothing) =
                    (file("source", length)?, file("nothing", NEXT_TO_NOTHING)?);
                let copies = Copies { experiment: self, bench, topology, source, nothing, length };
                phases.end("set-up");
                for group in &self.job.wire {
                    let flows = group.flows(topology).map_err(Failure::usage)?;
                    if group.fits(topology, &flows) {
                        copies.make(group, &flows, &mut rows)?;
                    }
                }
                phases.end("copies");
                Ok(())
            })?;
        }
        Ok(Table::new(self, scale, length, rows))
    }
}

impl Group {
    /// Whether `groups` have so many pairs at least, of nodes that are there, each in one pair at
    /// most, with wires between them that have a rate, and every topology has a group that fits.
    pub fn check_all(groups: &[Self], most: usize, topologies: &[Topology]) -> Result<(), String> {
        for Self { name, pairs } in groups {
            let wire = name.name();
            if pairs.len() < most {
                return Err(format!("{most} pairs at once, but {wire} has {}", pairs.len()));
            }
            let mut nodes: Vec<&String> = pairs.iter().flatten().collect();
            nodes.sort_unstable();
            if let Some(twice) = nodes.windows(2).find(|two| two[0] == two[1]) {
                return Err(format!("{wire}: {} is twice among the pairs", twice[0]));
            }
        }
        for topology in topologies {
            let mut fits = false;
            for group in groups {
                let flows = group.flows(topology)?;
                fits |= group.fits(topology, &flows);
                let bounds = bounds::max_min(topology, &flows);
                if bounds.iter().any(|bound| !(bound.is_finite() && *bound > 0.0)) {
                    let name = &topology.name;
                    return Err(format!(
                        "{name} has no wire with a rate between some of the pairs"
                    ));
                }
            }
            if !fits {
                return Err(format!(
                    "in {} no pairs have the wire they are said to",
                    topology.name
                ));
            }
        }
        Ok(())
    }

    /// The pairs in a topology.
    pub fn flows(&self, topology: &Topology) -> Result<Vec<(NodeId, NodeId)>, String> {
        let flow = |[from, to]: &[String; 2]| Ok((place(topology, from)?, place(topology, to)?));
        self.pairs.iter().map(flow).collect()
    }

    /// Whether all of them have the wire in a topology that they are said to have.
    pub fn fits(&self, topology: &Topology, flows: &[(NodeId, NodeId)]) -> bool {
        flows.iter().all(|&(from, to)| Wire::between(topology, from, to) == self.name)
    }
}

/// The copies in one lab.
struct Copies<'a> {
    experiment: &'a Pairs,
    bench: &'a ScenarioLab<'a>,
    topology: &'a Topology,
    source: String,
    /// A file that tells what starting takes.
    nothing: String,
    length: u64,
}

impl Copies<'_> {
    /// Makes those of a group, all numbers at once, with agents up.
    fn make(
        &self,
        group: &Group,
        flows: &[(NodeId, NodeId)],
        rows: &mut Vec<Row>,
    ) -> Result<(), Failure> {
        let topology = &self.topology.name;
        let receivers: Vec<_> = group.pairs.iter().map(|[_, to]| format!("lab:{to}")).collect();
        let receivers = receivers.join(",");
        self.bench.garland(&["up", &receivers])?;
        self.bench.check(flows[0].0, flows[0].1)?;
        for &count in &self.experiment.job.counts {
            garland_terminal::errln!("{topology}: {count} on {} wire ...", group.name.name());
            let bound_s = bounds::seconds(self.topology, &flows[..count], self.length);
            let wires_s = predicted::pairs(self.topology, &flows[..count], self.length)?;
            let pairs = &group.pairs[..count];
            let predicted_s = wires_s + self.fastest(&self.nothing, pairs, f64::INFINITY)?;
            let enough_s = bound_s / self.experiment.tolerance.least_of_bound;
            let whole_s = self.fastest(&self.source, pairs, enough_s)?;
            let (topology, wire) = (topology.clone(), group.name);
            rows.push(Row { topology, wire, pairs: count, predicted_s, whole_s, bound_s });
        }
        self.bench.garland(&["down", &receivers]).map(drop)
    }

    /// Seconds from the first command's start to the last one's end.
    fn fastest(&self, source: &str, pairs: &[[String; 2]], enough_s: f64) -> Result<f64, Failure> {
        let commands: Vec<Vec<String>> = pairs
            .iter()
            .map(|[from, to]| {
                let target = format!("lab:{to}:/dev/null");
                let words = ["cp", source, &target, "--from", from, "--json"];
                words.map(str::to_owned).to_vec()
            })
            .collect();
        self.bench.fastest(&commands, enough_s)
    }
}
