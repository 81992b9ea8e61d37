//! A load on growing numbers of nodes of one topology, in which no wire is shared. Small numbers
//! are measured; the times on larger ones are forecast from them, and then tried.

use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use serde::Serialize;

use super::job::Growth;
use super::row::{Row, Scaling};
use super::trial::FarmTrial;
use crate::scaling::{CountRow, Curve, ScalingForecast, forecast};

/// The times on growing numbers of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Grown {
    /// A row for each number of nodes. That of one node has its files itself.
    pub rows: Vec<CountRow>,
    /// The forecast from the numbers that were measured first; `None` if these do not allow one.
    pub prediction: Option<ScalingForecast>,
    /// Whether all outputs were equal.
    pub equal: bool,
}

impl Grown {
    /// Returns the curve of the numbers of nodes; `growth` says which of them were forecast.
    pub fn curve<'a>(&'a self, growth: &'a Growth) -> Curve<'a> {
        Curve { rows: &self.rows, prediction: self.prediction.as_ref(), tried: &growth.forecast }
    }
}

impl FarmTrial<'_> {
    /// Runs the load on growing numbers of nodes; `None` if the job has none.
    pub fn growth(&self, scaling: &Scaling, phases: &mut Phases) -> Result<Option<Grown>, Failure> {
        let growth = self.experiment.job.growth.as_ref();
        let found = growth.and_then(|growth| Some((growth, self.experiment.load(&growth.load)?)));
        let Some((growth, load)) = found else { return Ok(None) };
        let topology = scaling.of(&self.with_shares(self.stage.topology(&growth.topology)?));
        self.stage.in_lab(&topology, self.room(), phases, |lab, phases| {
            let sounds = self.sounds(lab)?;
            lab.check(0, self.reader(&topology))?;
            phases.end("set-up");
            // As many work alone at the same time as work together at last: see `alone`.
            let all = self.experiment.on(&growth.nodes);
            let one = FarmTrial { experiment: &all, ..*self }.each_alone(lab, load, &sounds)?;
            let mut grown = Vec::new();
            let on = |nodes: u32| match nodes {
                1 => Ok(one.clone()),
                more => {
                    let some = self.experiment.on(&growth.nodes[..more as usize]);
                    let trial = FarmTrial { experiment: &some, ..*self };
                    garland_terminal::errln!("{more} nodes:");
                    trial.encode(lab, &topology.name, load, &one, &sounds)
                }
            };
            for &nodes in &growth.measured {
                grown.push((nodes, on(nodes)?));
            }
            phases.end("measured");
            let counts = [&growth.measured[..], &growth.forecast].concat();
            let prediction = forecast(lab, None, &counts, &rows(&grown))?;
            phases.end("forecast");
            for &nodes in &growth.forecast {
                grown.push((nodes, on(nodes)?));
            }
            phases.end("tried");
            let equal = grown.iter().all(|(_, row)| row.equal);
            Ok(Some(Grown { rows: rows(&grown), prediction, equal }))
        })
    }
}

fn rows(grown: &[(u32, Row)]) -> Vec<CountRow> {
    let of = |(nodes, row): &(u32, Row)| CountRow {
        nodes: *nodes,
        seconds: row.seconds,
        busy: row.busy,
        run: row.run.clone(),
    };
    grown.iter().map(of).collect()
}
