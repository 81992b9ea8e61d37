//! A growing number of copies at once between pairs of nodes, over several topologies: the network
//! test of 1996, for local and remote wire separately.

mod group;
mod job;
mod table;
#[cfg(test)]
mod tests;

use garland_predict::Network;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::{NodeId, Topology, bounds};

use super::predicted::{NEXT_TO_NOTHING, Overtaking, SimulatedNetwork};
use super::stage::Stage;
use crate::scenario_lab::ScenarioLab;
pub use group::{Group, Wire};
pub use job::Pairs;
pub use table::Table;
use table::{Common, Row};
#[cfg(test)]
pub use tests::ideal;

impl Pairs {
    /// Runs the experiment: copies over every topology with every group of pairs that fits it.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let size = stage.scaled(&self.job.bytes, 1.0)?;
        let mut rows = Vec::new();
        let mut overtaking = Vec::new();
        for topology in stage.topologies {
            stage.in_lab(topology, size.bytes, phases, |lab, phases| {
                let file = |name, length| {
                    let made = lab.random_file(name, length)?;
                    Ok::<_, Failure>(made.to_string_lossy().into_owned())
                };
                let source = file("source", size.bytes)?;
                let nothing = file("nothing", NEXT_TO_NOTHING)?;
                let copies =
                    Copies { experiment: self, lab, topology, source, nothing, length: size.bytes };
                phases.end("set-up");
                for group in &self.job.wire {
                    let flows = group.flows(topology)?;
                    if group.fits(topology, &flows) {
                        let calibrated = copies.calibrate(group, &flows)?;
                        rows.extend(copies.make(group, &flows, calibrated.as_ref())?);
                        overtaking.extend(calibrated);
                    }
                }
                phases.end("copies");
                Ok(())
            })?;
        }
        Ok(Table::new(self, Common { size, overtaking }, rows))
    }
}

/// The copies over one topology, in one lab.
struct Copies<'a> {
    experiment: &'a Pairs,
    lab: &'a ScenarioLab<'a>,
    topology: &'a Topology,
    source: String,
    /// The path of a file of one byte, whose copy measures the start-up time.
    nothing: String,
    length: u64,
}

impl Copies<'_> {
    /// Measures what overtaking packets cost, with pairs of a group the other way; `None` if none
    /// overtakes another.
    fn calibrate(
        &self,
        group: &Group,
        flows: &[(NodeId, NodeId)],
    ) -> Result<Option<Overtaking>, Failure> {
        if !Network::overtakes(self.topology, flows) {
            return Ok(None);
        }
        garland_terminal::errln!("{}: pairs the other way ...", self.topology.name);
        let back = group.reversed();
        let flows = back.flows(self.topology)?;
        let longer = |count: usize| {
            let pairs = &back.pairs[..count];
            let nothing = self.at_once(&self.nothing, pairs)?;
            let measured = self.at_once(&self.source, pairs)? - nothing;
            let network = SimulatedNetwork::new(self.topology);
            let simulated = network.pairs(&flows[..count], self.length)?;
            Ok(measured / simulated)
        };
        let longer = self.with_agents(&back, || {
            Overtaking::counts(flows.len()).into_iter().map(longer).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(Some(Overtaking::new(self.topology, group.name, &longer)))
    }

    /// Copies between the pairs of a group. Returns a row for each number of pairs.
    fn make(
        &self,
        group: &Group,
        flows: &[(NodeId, NodeId)],
        overtaking: Option<&Overtaking>,
    ) -> Result<Vec<Row>, Failure> {
        let topology = &self.topology.name;
        let overtaking = overtaking.map(|one| one.factor);
        let network = SimulatedNetwork { topology: self.topology, overtaking };
        let row = |&count: &usize| {
            garland_terminal::errln!("{topology}: {count} pairs on {} wire ...", group.name.name());
            let bound_s = bounds::seconds(self.topology, &flows[..count], self.length);
            let wires_s = network.pairs(&flows[..count], self.length)?;
            let pairs = &group.pairs[..count];
            let predicted_s = wires_s + self.at_once(&self.nothing, pairs)?;
            let (whole_s, busy) = self.lab.watch(|| self.at_once(&self.source, pairs))?;
            let topology = topology.clone();
            let wire = group.name;
            Ok(Row { topology, wire, pairs: count, predicted_s, whole_s, bound_s, busy })
        };
        self.with_agents(group, || {
            self.lab.check(flows[0].0, flows[0].1)?;
            self.experiment.job.counts.iter().map(row).collect()
        })
    }

    /// Does something while agents run on the receivers of a group.
    fn with_agents<T>(
        &self,
        group: &Group,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let receivers: Vec<_> = group.pairs.iter().map(|[_, to]| format!("lab:{to}")).collect();
        let receivers = receivers.join(",");
        self.lab.garland(&["up", &receivers])?;
        let done = work()?;
        self.lab.garland(&["down", &receivers])?;
        Ok(done)
    }

    /// Copies `source` between all `pairs` at the same time. Returns the seconds from the start of
    /// the first command to the end of the last one.
    fn at_once(&self, source: &str, pairs: &[[String; 2]]) -> Result<f64, Failure> {
        let commands: Vec<Vec<String>> = pairs
            .iter()
            .map(|[from, to]| {
                let target = format!("lab:{to}:/dev/null");
                let words = ["cp", source, &target, "--from", from, "--json"];
                words.map(str::to_owned).to_vec()
            })
            .collect();
        self.lab.together(&commands)
    }
}
