//! Balance tests in one lab.

use garland_topology::{NodeId, Topology};

use super::job::Balance;
use super::row::{Report, Row};
use crate::pairs::Group;
use crate::scenario_lab::{AGAIN, ScenarioLab};
use garland_terminal::failure::Failure;

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
                tests.push(Balances { experiment: self, lab, topology, group, flows });
            }
        }
        Ok(tests)
    }
}

/// The balance tests of one group of pairs in one lab.
pub struct Balances<'a> {
    pub experiment: &'a Balance,
    pub lab: &'a ScenarioLab<'a>,
    pub topology: &'a Topology,
    pub group: &'a Group,
    pub flows: Vec<(NodeId, NodeId)>,
}

impl Balances<'_> {
    /// Measures the rates with each number of remote copies in the job; with no remote copies only
    /// if `with_none`. Repeats measurements whose rates are below the tolerance, and keeps the
    /// highest rate of each.
    pub fn measure(&self, sizes: &[u64], with_none: bool) -> Result<Vec<Row>, Failure> {
        let remote = self.experiment.job.remote.iter().copied();
        let mut open: Vec<usize> = remote.filter(|&remote| with_none || remote > 0).collect();
        let least = self.experiment.tolerance.least_of_bound;
        let mut rows: Vec<Row> = Vec::new();
        for attempt in 0..=AGAIN {
            if open.is_empty() {
                break;
            }
            let name = &self.topology.name;
            let again = if attempt > 0 { ", again" } else { "" };
            garland_terminal::errln!(
                "{name}: {open:?} remote copies on {} wire{again} ...",
                self.group.name.name()
            );
            for new in self.once(sizes, &open)? {
                let is_same = |row: &&mut Row| (row.size, row.remote) == (new.size, new.remote);
                match rows.iter_mut().find(is_same) {
                    Some(row) if row.rate < new.rate => *row = new,
                    Some(_) => {}
                    None => rows.push(new),
                }
            }
            open.retain(|&remote| {
                rows.iter().any(|row| row.remote == remote && row.share() < least)
            });
        }
        Ok(rows)
    }

    /// Runs `garland balance` once, with these sizes in bytes and numbers of remote copies.
    pub fn once(&self, sizes: &[u64], remote: &[usize]) -> Result<Vec<Row>, Failure> {
        let list = |numbers: Vec<String>| numbers.join(",");
        let nodes = self.group.pairs.iter().flatten().map(|name| format!("lab:{name}"));
        let nodes = format!("{}:/", nodes.collect::<Vec<_>>().join(","));
        let bytes = list(sizes.iter().map(u64::to_string).collect());
        let remote = list(remote.iter().map(usize::to_string).collect());
        self.lab.go_on()?;
        let words = ["balance", &nodes, "--sizes", &bytes, "--remote", &remote, "--rounds", "1"];
        let more = ["--block-size", &self.experiment.job.block, "--no-fsync"];
        let report: Report = self.lab.ask(&[&words[..], &more[..]].concat())?;
        let row = |point| Row::new(self.topology, self.group.name, &self.flows, point);
        report.points.into_iter().map(row).collect()
    }
}
