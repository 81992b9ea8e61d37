//! Copies within nodes and between them, more and more over the network, over several topologies:
//! the disk/net balance test of 1996.

mod row;
mod table;
mod upgrade;

use garland_core::units::{Rate, bytes};
use garland_topology::{NodeId, Topology};
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::pairs::{Group, Wire};
use super::sections::Sections;
use crate::scenario_lab::{AGAIN, ScenarioLab};
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
pub use row::Row;
pub use table::Table;
use upgrade::Upgrade;

/// What is done and compared.
pub type Balance = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `balance`.
    pub kind: Kind,
    /// The lengths of the files.
    pub sizes: Vec<String>,
    /// What share of them is copied, unless the user says another.
    pub scale: f64,
    /// How many copies are remote.
    pub remote: Vec<usize>,
    /// Bytes of a block.
    pub block: String,
    /// How fast each node's disk is.
    pub disk: String,
    /// The pairs by their wire; each topology is run with those that it has.
    pub wire: Vec<Group>,
    /// Which forecasts are tried.
    pub upgrade: Option<Upgrade>,
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least rate of all copies together, as a share of what wires and disks allow.
    pub least_of_bound: f64,
    /// Rates that differ by less than this share are equal.
    pub equal: f64,
    /// The share by which what was tried may differ from its forecast.
    pub forecast: f64,
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Over which topology.
    pub topology: String,
    /// By which wire.
    pub wire: Wire,
    /// For files of this length.
    pub size: String,
    /// With so many remote copies the topology is at its best.
    pub best: Option<usize>,
    /// MB/s of all copies.
    pub rate: f64,
}

impl Balance {
    /// Whether the nodes and wires are there, and all that is compared is measured.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let job = &self.job;
        for text in job.sizes.iter().chain([&job.block]) {
            bytes::parse(text).map_err(|error| error.to_string())?;
        }
        let pairs = job.wire.iter().map(|group| group.pairs.len()).min().unwrap_or(0);
        if let Some(many) = job.remote.iter().find(|&&remote| remote > pairs) {
            return Err(format!("`remote` has {many}, but there are {pairs} pairs"));
        }
        if job.sizes.is_empty() || job.remote.is_empty() || pairs == 0 {
            return Err("`sizes`, `remote` and `wire` have one entry at least".to_owned());
        }
        if job.disk.parse::<Rate>().map_err(|error| error.to_string())? == Rate::default() {
            return Err("`disk` is 0".to_owned());
        }
        Group::check_all(&job.wire, pairs, topologies)?;
        if let Some(row) = self.published.iter().find(|row| !job.sizes.contains(&row.size)) {
            return Err(format!("files of {} are published but not copied", row.size));
        }
        let is_run = |name: &str| topologies.iter().any(|topology| topology.name == name);
        if let Some(row) = self.published.iter().find(|row| !is_run(&row.topology)) {
            return Err(format!("{} is published but not run", row.topology));
        }
        let best = self.published.iter().filter_map(|row| row.best);
        let tried = job.upgrade.iter().flat_map(|upgrade| upgrade.remote.iter().copied());
        if let Some(missing) = best.chain(tried).find(|at| !job.remote.contains(at)) {
            return Err(format!("{missing} remote copies are compared, but not measured"));
        }
        match &job.upgrade {
            Some(upgrade) if !is_run(&upgrade.topology) => {
                Err(format!("an upgrade of {} is tried, but it is not run", upgrade.topology))
            }
            _ => Ok(()),
        }
    }

    /// Copies over every topology, by every group of pairs that it has.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let scale = stage.scale.unwrap_or(self.job.scale);
        let sizes = self.sizes(scale)?;
        let mut rows: Vec<Row> = Vec::new();
        for topology in stage.topologies {
            let topology = self.with_disks(topology)?;
            let bench = self.build(stage, &topology, &sizes)?;
            phases.end("set-up");
            // Whatever the wires between pairs, no copy is on them.
            let mut local: Vec<Row> = Vec::new();
            for group in &self.job.wire {
                let flows = group.flows(&topology).map_err(Failure::usage)?;
                if !group.fits(&topology, &flows) {
                    continue;
                }
                let balances =
                    Balances { experiment: self, bench: &bench, topology: &topology, group, flows };
                let mut found = balances.measure(&sizes, local.is_empty())?;
                match local.is_empty() {
                    true => local = found.iter().filter(|row| row.remote == 0).cloned().collect(),
                    false => found
                        .extend(local.iter().map(|row| Row { wire: group.name, ..row.clone() })),
                }
                found.sort_by_key(|row| (row.size, row.remote));
                rows.extend(found);
            }
            phases.end("copies");
            bench.end()?;
            phases.end("teardown");
        }
        let tried = self.try_upgrades(stage, &sizes, &rows)?;
        phases.end("upgrades");
        Ok(Table::new(self, (scale, sizes), rows, tried))
    }

    /// The lengths of the files at this scale.
    fn sizes(&self, scale: f64) -> Result<Vec<u64>, Failure> {
        let least = *garland_protocol::BALANCE_SIZES.start();
        let scaled = |text: &String| {
            let size = bytes::parse(text).map_err(Failure::usage)?;
            Ok(((size as f64 * scale) as u64).max(least))
        };
        self.job.sizes.iter().map(scaled).collect()
    }

    /// A topology whose nodes have the experiment's disks.
    fn with_disks(&self, topology: &Topology) -> Result<Topology, Failure> {
        let disk: Rate = self.job.disk.parse().map_err(Failure::usage)?;
        let mut topology = topology.clone();
        topology.nodes.iter_mut().for_each(|node| node.disk = Some(disk));
        Ok(topology)
    }

    /// The lab of `topology`, with room for all files.
    fn build<'s>(
        &self,
        stage: &'s Stage<'_>,
        topology: &Topology,
        sizes: &[u64],
    ) -> Result<ScenarioLab<'s>, Failure> {
        let nodes = topology.nodes.len() as u64;
        let longest = sizes.iter().copied().max().unwrap_or(0);
        let room = longest.saturating_mul(2).saturating_mul(nodes);
        ScenarioLab::build(stage.run, stage.interrupts, ScenarioLab::spec(topology), room)
    }
}

/// The balance tests in one lab, by pairs of one wire.
struct Balances<'a> {
    experiment: &'a Balance,
    bench: &'a ScenarioLab<'a>,
    topology: &'a Topology,
    group: &'a Group,
    flows: Vec<(NodeId, NodeId)>,
}

impl Balances<'_> {
    /// Measures all numbers of remote copies, none among them if `with_none`; points that are too
    /// slow again.
    fn measure(&self, sizes: &[u64], with_none: bool) -> Result<Vec<Row>, Failure> {
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
                "{name}: {open:?} remote on {} wire{again} ...",
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

    /// Runs `garland balance` with so many remote copies.
    fn once(&self, sizes: &[u64], remote: &[usize]) -> Result<Vec<Row>, Failure> {
        let list = |numbers: Vec<String>| numbers.join(",");
        let nodes = self.group.pairs.iter().flatten().map(|name| format!("lab:{name}"));
        let nodes = format!("{}:/", nodes.collect::<Vec<_>>().join(","));
        let bytes = list(sizes.iter().map(u64::to_string).collect());
        let remote = list(remote.iter().map(usize::to_string).collect());
        self.bench.go_on()?;
        let told: row::Report = self.bench.ask(&[
            "balance",
            &nodes,
            "--sizes",
            &bytes,
            "--remote",
            &remote,
            "--block-size",
            &self.experiment.job.block,
            "--rounds",
            "1",
            "--no-fsync",
        ])?;
        told.points.into_iter().map(|point| self.row(point)).collect()
    }
}
