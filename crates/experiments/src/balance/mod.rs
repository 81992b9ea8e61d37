//! Copies within and between nodes over several topologies, with an increasing share of remote
//! copies: the disk/net balance test of 1996.

mod balances;
mod job;
mod row;
mod table;
#[cfg(test)]
mod tests;
mod upgrade;

use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::Topology;

use super::predicted::Overtaking;
use super::stage::Stage;
use crate::scenario_lab::ScenarioLab;
use balances::room;
pub use job::Balance;
use row::Row;
use table::Common;
pub use table::Table;
#[cfg(test)]
pub use tests::ideal;

impl Balance {
    /// Measures every topology with every group of pairs that fits it.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let scale = stage.scale.unwrap_or(self.job.scale);
        let sizes = self.sizes(scale)?;
        let (mut rows, mut overtaking): (Vec<Row>, Vec<Overtaking>) = (Vec::new(), Vec::new());
        for topology in stage.topologies {
            let topology = self.with_disks(topology)?;
            let needed = room(&topology, &sizes);
            let (found, calibrated) = stage.in_lab(&topology, needed, phases, |lab, phases| {
                phases.end("set-up");
                let found = self.measure(lab, &topology, &sizes)?;
                phases.end("copies");
                Ok(found)
            })?;
            rows.extend(found);
            overtaking.extend(calibrated);
        }
        let upgrades = self.try_upgrades(stage, &sizes, &rows)?;
        phases.end("upgrades");
        Ok(Table::new(self, Common { scale, sizes, upgrades, overtaking }, rows))
    }

    /// Measures one topology. Returns the rows by kind of wire, size and number of remote copies,
    /// and what overtaking packets cost.
    fn measure(
        &self,
        lab: &ScenarioLab<'_>,
        topology: &Topology,
        sizes: &[u64],
    ) -> Result<(Vec<Row>, Vec<Overtaking>), Failure> {
        let mut overtaking = Vec::new();
        // Without remote copies the kind of wire makes no difference: measure that point once.
        let (mut rows, mut local): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
        for mut test in self.tests(lab, topology)? {
            overtaking.extend(test.calibrate(sizes[0])?);
            let mut found = test.measure(sizes, local.is_empty())?;
            match local.is_empty() {
                true => local = found.iter().filter(|row| row.remote == 0).cloned().collect(),
                false => {
                    let wire = test.group.name;
                    found.extend(local.iter().map(|row| Row { wire, ..row.clone() }));
                }
            }
            found.sort_by_key(|row| (row.size, row.remote));
            rows.extend(found);
        }
        Ok((rows, overtaking))
    }
}
