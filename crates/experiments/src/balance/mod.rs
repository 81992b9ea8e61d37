//! Copies within and between nodes with a growing share of remote ones, over several topologies: the
//! disk/net balance test of 1996.

mod balances;
mod job;
mod row;
mod table;
mod upgrade;

use super::stage::Stage;
use balances::Balances;
use garland_commands::result::Phases;
use garland_results::failure::Failure;
pub use job::Balance;
use row::Row;
use table::Common;
pub use table::Table;

impl Balance {
    /// Measures every topology with every group of pairs that fits it.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let scale = stage.scale.unwrap_or(self.job.scale);
        let sizes = self.sizes(scale)?;
        let mut rows: Vec<Row> = Vec::new();
        for topology in stage.topologies {
            let topology = self.with_disks(topology)?;
            let lab = self.build(stage, &topology, &sizes)?;
            phases.end("set-up");
            // Without remote copies the kind of way makes no difference: measure that point once.
            let mut local: Vec<Row> = Vec::new();
            for group in &self.job.wire {
                let flows = group.flows(&topology).map_err(Failure::usage)?;
                if !group.fits(&topology, &flows) {
                    continue;
                }
                let balances =
                    Balances { experiment: self, lab: &lab, topology: &topology, group, flows };
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
            lab.end()?;
            phases.end("teardown");
        }
        let upgrades = self.try_upgrades(stage, &sizes, &rows)?;
        phases.end("upgrades");
        Ok(Table::new(self, Common { scale, sizes, upgrades }, rows))
    }
}
