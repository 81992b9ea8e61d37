//! Sentences about the figures of a farm.

use super::job::{Farm, ONE};
use super::row::{Row, SuspectRow, share_of_one};
use garland_farm::result::{Unit, took};

impl Farm {
    /// Returns the power of a machine in 2004, as a number and its unit.
    pub(super) fn power(&self) -> (f64, String) {
        match self.job.unit.parse() {
            Ok(Unit::Named(power, name)) => (power, name),
            _ => (1.0, self.job.unit.clone()),
        }
    }

    /// Returns the published time of a topology and a load as a share of that of one machine;
    /// `None` if either was not published.
    pub(super) fn share_then(&self, topology: &str, load: &str) -> Option<f64> {
        let one = self.published(ONE, Some(load))?.slowest;
        Some(self.published(topology, Some(load))?.slowest / one)
    }

    /// Returns a sentence such as `a cluster of 3 PCs at 300 MHz over p2p-star equals one PC of 820 MHz for
    /// 24 encodes`.
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

/// Returns a sentence for each row that says whether the emulation agrees with the published figures.
pub fn agreement(experiment: &Farm, rows: &[Row]) -> Vec<String> {
    let allowed = experiment.tolerance.of_one;
    let mut said = Vec::new();
    for row in rows.iter().filter(|row| row.topology != ONE) {
        let (Some(now), Some(then)) =
            (share_of_one(rows, row), experiment.share_then(&row.topology, &row.load))
        else {
            continue;
        };
        let is_riddle = experiment
            .published(&row.topology, Some(&row.load))
            .is_some_and(|published| published.riddle);
        let (name, load) = (&row.topology, &row.load);
        let figures = format!(
            "{name}, {load}: {:.1} % of one PC's time, published {:.1} %",
            now * 100.0,
            then * 100.0
        );
        let verdict = match (now - then).abs() <= allowed {
            true => "they agree".to_owned(),
            false if is_riddle => "this is part of the riddle below".to_owned(),
            false => "they do not agree".to_owned(),
        };
        said.push(format!("{figures}: {verdict}; {}", held_up(row)));
    }
    said
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

/// Returns the sentence that answers the riddle.
pub fn answer(suspects: &[SuspectRow]) -> String {
    let (some, others): (Vec<&SuspectRow>, Vec<&SuspectRow>) =
        suspects.iter().filter(|row| row.suspect.is_some()).partition(|row| row.reproduces);
    let list = |rows: &[&SuspectRow]| {
        rows.iter().filter_map(|row| row.suspect.clone()).collect::<Vec<_>>().join("; ")
    };
    match (some.is_empty(), others.is_empty()) {
        (true, true) => "no fault was tested".to_owned(),
        (true, false) => format!("none of these reproduces the ratio: {}", list(&others)),
        (false, true) => format!("each of these reproduces the ratio: {}", list(&some)),
        (false, false) => {
            format!("the ratio is reproduced by {}; not by {}", list(&some), list(&others))
        }
    }
}
