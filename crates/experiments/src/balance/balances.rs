//! Balance tests in one lab.

use garland_predict::Network;
use garland_terminal::failure::Failure;
use garland_topology::{NodeId, Topology};

use super::job::Balance;
use super::row::{Report, Row};
use crate::pairs::Group;
use crate::predicted::{Overtaking, SimulatedNetwork};
use crate::scenario_lab::ScenarioLab;

/// Returns the bytes that all nodes need: each may hold one source and one copy of the longest
/// file.
pub fn room(topology: &Topology, sizes: &[u64]) -> u64 {
    let longest = sizes.iter().copied().max().unwrap_or(0);
    longest.saturating_mul(2).saturating_mul(topology.nodes.len() as u64)
}

impl Balance {
    /// Returns the balance tests in a lab of `topology`: one for each group of pairs that fits it.
    pub fn tests<'a>(
        &'a self,
        lab: &'a ScenarioLab<'a>,
        topology: &'a Topology,
    ) -> Result<Vec<Balances<'a>>, Failure> {
        let mut tests = Vec::new();
        for group in &self.job.wire {
            let flows = group.flows(topology)?;
            if group.fits(topology, &flows) {
                let group = group.clone();
                let network = SimulatedNetwork::new(topology);
                tests.push(Balances { experiment: self, lab, network, group, flows });
            }
        }
        Ok(tests)
    }
}

/// The balance tests of one group of pairs in one lab.
pub struct Balances<'a> {
    pub experiment: &'a Balance,
    pub lab: &'a ScenarioLab<'a>,
    network: SimulatedNetwork<'a>,
    pub group: Group,
    pub flows: Vec<(NodeId, NodeId)>,
}

impl Balances<'_> {
    /// Measures what overtaking packets cost, with remote copies the other way, and predicts with
    /// it from now on; `None` if none overtakes another.
    pub fn calibrate(&mut self, size: u64) -> Result<Option<Overtaking>, Failure> {
        let topology = self.network.topology;
        if !Network::overtakes(topology, &self.flows) {
            return Ok(None);
        }
        garland_terminal::errln!("{}: copies the other way ...", topology.name);
        let flows = self.flows.iter().map(|&(from, to)| (to, from)).collect();
        let back = Balances { group: self.group.reversed(), flows, ..*self };
        let rows = back.once(&[size], &Overtaking::counts(back.flows.len()))?;
        let longer: Vec<f64> = rows.iter().map(|row| row.predicted / row.rate).collect();
        let found = Overtaking::new(topology, self.group.name, &longer);
        self.network.overtaking = Some(found.factor);
        Ok(Some(found))
    }

    /// Measures the rates with each number of remote copies in the job; with no remote copies only
    /// if `with_none`.
    pub fn measure(&self, sizes: &[u64], with_none: bool) -> Result<Vec<Row>, Failure> {
        let remote = self.experiment.job.remote.iter().copied();
        let remote: Vec<usize> = remote.filter(|&remote| with_none || remote > 0).collect();
        garland_terminal::errln!(
            "{}: {remote:?} remote copies on {} wire ...",
            self.network.topology.name,
            self.group.name.name()
        );
        self.once(sizes, &remote)
    }

    /// Runs `garland balance` once, with these sizes in bytes and numbers of remote copies.
    pub fn once(&self, sizes: &[u64], remote: &[usize]) -> Result<Vec<Row>, Failure> {
        let list = |numbers: Vec<String>| numbers.join(",");
        let nodes = self.group.pairs.iter().flatten().map(|name| format!("lab:{name}"));
        let nodes = format!("{}:/", nodes.collect::<Vec<_>>().join(","));
        let bytes = list(sizes.iter().map(u64::to_string).collect());
        let remote = list(remote.iter().map(usize::to_string).collect());
        let words = ["balance", &nodes, "--sizes", &bytes, "--remote", &remote, "--rounds", "1"];
        let more = ["--block-size", &self.experiment.job.block, "--no-fsync"];
        let ask = || self.lab.ask::<Report>(&[&words[..], &more[..]].concat());
        let (report, busy) = self.lab.watch(ask)?;
        let row = |point| Row::new(self.network, self.group.name, &self.flows, point, busy);
        report.points.into_iter().map(row).collect()
    }
}
