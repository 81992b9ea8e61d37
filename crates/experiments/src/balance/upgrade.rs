//! Tests forecasts in labs with faster disks or wires.

use garland_core::units::Rate;
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::Serialize;

use super::balances::room;
use super::job::Balance;
use super::row::Row;
use crate::stage::Stage;

/// What is twice as fast in a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Faster {
    /// The disk of every node.
    Disks,
    /// The rate of every medium.
    Wires,
}

/// A forecast rate and the rate that was measured in a lab with faster disks or wires, in bytes per
/// second.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// What was twice as fast.
    pub faster: Faster,
    /// Number of remote copies.
    pub remote: usize,
    /// The rate that was forecast.
    pub forecast: f64,
    /// The rate that was measured.
    pub rate: f64,
}

impl Faster {
    /// Returns `topology` with the rates of its disks or wires doubled.
    fn of(self, topology: &Topology) -> Topology {
        let twice =
            |rate: Rate| Rate::from_bits_per_second(rate.bits_per_second().saturating_mul(2));
        let mut topology = topology.clone();
        match self {
            Self::Disks => topology.nodes.iter_mut().for_each(|one| one.disk = one.disk.map(twice)),
            Self::Wires => topology.media.iter_mut().for_each(|one| one.rate = one.rate.map(twice)),
        }
        topology
    }

    /// Returns the name for tables: `disks` or `wires`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disks => "disks",
            Self::Wires => "wires",
        }
    }

    fn forecast(self, row: &Row) -> f64 {
        match self {
            Self::Disks => row.disk_twice,
            Self::Wires => row.network_twice,
        }
    }
}

impl Balance {
    /// Tests the forecasts in `rows` for files of the first size. Returns no results without
    /// `[job.upgrade]`.
    pub(super) fn try_upgrades(
        &self,
        stage: &Stage<'_>,
        sizes: &[u64],
        rows: &[Row],
    ) -> Result<Vec<Tried>, Failure> {
        let sizes = &sizes[..1];
        let Some(upgrade) = &self.job.upgrade else { return Ok(Vec::new()) };
        let named = |topology: &&Topology| topology.name == upgrade.topology;
        let Some(topology) = stage.topologies.iter().find(named) else { return Ok(Vec::new()) };
        let mut tried = Vec::new();
        for faster in [Faster::Disks, Faster::Wires] {
            let topology = faster.of(&self.with_disks(topology)?);
            garland_terminal::errln!("{} with {} twice as fast ...", topology.name, faster.name());
            let needed = room(&topology, sizes);
            let mut phases = Phases::since_now();
            let found = stage.in_lab(&topology, needed, &mut phases, |lab, _| {
                // Test only the first group that fits.
                let test = self.tests(lab, &topology)?.into_iter().next();
                test.map_or(Ok(Vec::new()), |test| test.once(sizes, &upgrade.remote))
            })?;
            for new in found {
                let before = rows.iter().find(|row| {
                    (&row.topology, row.wire) == (&new.topology, new.wire)
                        && (row.size, row.remote) == (new.size, new.remote)
                });
                let Some(before) = before else { continue };
                let remote = new.remote;
                let rate = new.rate;
                tried.push(Tried { faster, remote, forecast: faster.forecast(before), rate });
            }
        }
        Ok(tried)
    }
}
