//! Small gets between two nodes, by size and by number in flight: the pgping tables of 2005.

mod depths;
mod job;
mod table;
#[cfg(test)]
mod tests;

use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use serde::Deserialize;

use super::stage::Stage;
use crate::scenario_lab::ScenarioLab;
pub use job::Ping;
use job::{Job, Point, Transport};
pub use table::Table;
use table::{Row, predict};
#[cfg(test)]
pub use tests::ideal;

/// The fields of `garland.ping/2` that are read.
#[derive(Deserialize)]
struct PingReport {
    pairs: Vec<PairReport>,
}

#[derive(Deserialize)]
struct PairReport {
    points: Vec<Point>,
}

impl Ping {
    /// Runs the experiment: measures gets over every transport.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let scale = stage.scale.unwrap_or(1.0);
        let count = ((f64::from(self.job.count) * scale) as u32).max(1);
        let mut rows = Vec::new();
        for topology in stage.topologies {
            rows.extend(stage.in_lab(topology, 0, phases, |lab, phases| {
                phases.end("set-up");
                let transports = self.job.transports.iter();
                let rows: Vec<_> = transports
                    .map(|&transport| {
                        garland_terminal::errln!(
                            "{}: gets over {} ...",
                            topology.name,
                            transport.name()
                        );
                        self.rows(lab, transport, count)
                    })
                    .collect::<Result<_, Failure>>()?;
                phases.end("gets");
                Ok(rows)
            })?);
        }
        let mut rows = rows.concat();
        predict(self, &mut rows);
        Ok(Table::new(self, (), rows))
    }

    /// Measures the lines of one transport.
    fn rows(
        &self,
        lab: &ScenarioLab<'_>,
        transport: Transport,
        count: u32,
    ) -> Result<Vec<Row>, Failure> {
        let Job { sizes: [least, most], deep_size, in_flight: [few, many], .. } = self.job;
        let sizes = [least.to_string(), most.to_string()];
        let depths = ["-b".to_owned(), format!("{few}..{many}"), deep_size.to_string()];
        let nodes = format!("lab:{},lab:{}", self.job.from, self.job.to);
        let count = count.to_string();
        let ping = |count: &str, words: &[String]| {
            let mut all = vec!["ping", &nodes, "-f", "get", "--transport", transport.name()];
            all.extend(["-n", count, "--time", "10", "--wait", self.job.wait.name()]);
            all.extend(words.iter().map(String::as_str));
            lab.waiting(|| lab.ask::<PingReport>(&all))
        };
        let mut rows = Vec::new();
        for (deep, words) in [(false, &sizes[..]), (true, &depths[..])] {
            let (_, set_up) = ping("1", &sizes[..1])?;
            let (report, waited) = ping(&count, words)?;
            let waited = waited.beyond(set_up);
            let known = rows.len();
            let points = report.pairs.into_iter().flat_map(|pair| pair.points);
            let row = |point| Row { transport, deep, predicted_ns: None, waited, point };
            rows.extend(points.map(row));
            if rows.len() == known {
                let transport = transport.name();
                return Err(Failure::nothing(format!("no get was measured over {transport}")));
            }
        }
        Ok(rows)
    }
}
