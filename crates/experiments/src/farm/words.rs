//! Sentences about the figures of a farm.

use garland_analysis::grade::Published;
use garland_farm::result::{Unit, took};

use super::job::{Farm, ONE};
use super::row::Row;

impl Farm {
    /// Returns the power of a machine in 2004, as a number and its unit.
    pub(super) fn power(&self) -> (f64, String) {
        match self.job.unit.parse() {
            Ok(Unit::Named(power, name)) => (power, name),
            _ => (1.0, self.job.unit.clone()),
        }
    }

    /// Returns the published time of a row as percent of that of `base`; `None` if that was not
    /// published.
    pub(super) fn rebased(&self, row: &Row, base: &Row) -> Option<&Published> {
        let then = self.published(&row.topology, Some(&row.load))?;
        match base.topology.as_str() {
            ONE => then.percent.as_ref(),
            base => then.rebased.get(base),
        }
    }

    /// Returns a sentence such as
    /// `a cluster of 3 PCs at 300 MHz over p2p-star equals one PC of 820 MHz for 24 encodes`.
    pub(super) fn sentence(&self, topology: &str, equivalent: f64) -> String {
        let (power, unit) = self.power();
        let job = &self.job;
        format!(
            "a cluster of {} PCs at {power:.0} {unit} over {topology} equals one PC of {:.0} {unit} for {} {}",
            job.nodes.len(),
            equivalent.floor(),
            job.jobs,
            job.called
        )
    }
}

/// Returns a sentence for each row about the largest loss of its time.
pub fn losses(rows: &[Row]) -> impl Iterator<Item = String> {
    let rows = rows.iter().filter(|row| row.topology != ONE);
    rows.map(|row| format!("{}, {}: {}", row.topology, row.load, held_up(row)))
}

/// Returns a clause about the largest loss of time of a row: its cause and its duration.
fn held_up(row: &Row) -> String {
    let Some(losses) = &row.losses else { return "the losses of time are unknown".to_owned() };
    let most = losses.causes.iter().max_by(|one, two| one.1.total_cmp(&two.1));
    match most.filter(|(_, seconds)| *seconds > 0.01 * losses.whole) {
        Some((cause, seconds)) => {
            let name = serde_json::to_value(cause).unwrap_or_default();
            let words = name.as_str().unwrap_or_default().replace('-', " ");
            format!("the largest loss is {words}, {} of {}", took(*seconds), took(losses.whole))
        }
        None => "almost no time is lost".to_owned(),
    }
}
