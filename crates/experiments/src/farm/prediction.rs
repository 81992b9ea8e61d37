//! Simulated encodes: jobs that read and write while they compute. Their speed is measured first,
//! over fast wires.

use garland_predict::{Farm, Files, Job, Machine, Network, farm};
use garland_terminal::failure::Failure;
use garland_topology::Topology;

use super::row::Row;
use super::trial::FarmTrial;
use crate::predicted::no_way;

impl FarmTrial<'_> {
    /// Returns the simulated seconds of all jobs of a load over a topology. `one` has the times
    /// that were measured on one machine alone.
    pub(super) fn predicted(&self, topology: &Topology, one: &Row) -> Result<f64, Failure> {
        let wanted = &self.experiment.job;
        let places = wanted.nodes.iter().map(|node| topology.node(node).unwrap_or_default());
        let mut network = Network::new();
        let ways = network.there_and_back(topology, 0, places);
        let ways = ways.map_err(|way| no_way(topology, &way))?;
        let slots = u32::try_from(wanted.jobs.div_ceil(wanted.nodes.len())).unwrap_or(u32::MAX);
        let machines: Vec<Machine> = ways
            .into_iter()
            .zip(&wanted.nodes)
            .map(|((stage_in, stage_out), node)| {
                let processor = network.add(&format!("processor of {node}"), 1.0);
                let files = Files::Meanwhile((processor, 1.0));
                Machine { speed: 1.0, slots, stage_in, stage_out, files, joins: 0.0, dies: None }
            })
            .collect();
        let alone = one.seconds / wanted.jobs as f64;
        let [start, seconds] = one.mounted_s.unwrap_or([0.0, alone]);
        let bytes_in = self.length as f64;
        let bytes_out = one.made;
        let job = Job { bytes_in, seconds, bytes_out };
        let jobs = vec![job; wanted.jobs];
        Ok(start + farm(&Farm { jobs: &jobs, machines: &machines, network: &network }).seconds)
    }
}
