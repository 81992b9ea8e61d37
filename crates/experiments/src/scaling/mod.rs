//! The same jobs on more and more nodes that share a wire: few node counts are measured, more are forecast
//! from these, and then tried.

mod table;

use std::fmt::Write as _;

use garland_core::cluster::nodelist::fold;
use garland_core::units::bytes;
use garland_topology::{MediumKind, Topology};
use serde::{Deserialize, Serialize};

use super::experiment::{Kind, Stage};
use super::sections::{Sections, only};
use crate::scenario_lab::ScenarioLab;
use garland_farm::result::Summary;
use garland_results::head::Phases;
use garland_terminal::failure::{Failure, OrFailure};
pub use table::{Row, Table};

/// What is done and compared.
pub type Scaling = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `scaling`.
    pub kind: Kind,
    /// How many jobs.
    pub jobs: usize,
    /// What each reads from the head.
    pub bytes_in: String,
    /// What each writes there.
    pub bytes_out: String,
    /// Seconds that jobs take beside, in turn.
    pub lengths: Vec<f64>,
    /// Node counts that are measured.
    pub measured: Vec<u32>,
    /// Node counts that are forecast from these.
    pub forecast: Vec<u32>,
}

/// What counts as reproduced, beside intervals that hold what comes of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// How far powers may be from the published ones, as a share of these.
    pub power: f64,
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// With so many nodes.
    pub nodes: u32,
    /// The work of so many without any loss.
    pub power: f64,
}

/// What is read of a `garland.farm/1`.
#[derive(Deserialize)]
struct Report {
    run: String,
    #[serde(flatten)]
    summary: Summary,
}

/// What is read of a `garland.forecast/1`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScalingForecast {
    /// The curve, by a law.
    forecast: Answer,
    /// The same jobs one by one, where the simulator is right about what was measured.
    simulated: Vec<Simulated>,
}

/// Jobs one by one, on so many nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Simulated {
    nodes: u32,
    seconds: f64,
}

/// What is read of its answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    curve: Vec<At>,
    knee: Option<Knee>,
}

/// A node count of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct At {
    nodes: u32,
    seconds: f64,
    interval: Option<(f64, f64)>,
}

/// Where more nodes stop to bring anything.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Knee {
    nodes: f64,
    resource: String,
}

impl Scaling {
    /// Whether there is one medium that all share, with nodes enough.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let topology = only(topologies, "the same jobs on more and more nodes")?;
        let job = &self.job;
        for text in [&job.bytes_in, &job.bytes_out] {
            bytes::parse(text).map_err(|error| error.to_string())?;
        }
        let medium = shape(topology).map(|(shape, _)| shape);
        medium.ok_or_else(|| format!("{} is no hub or switch with a rate", topology.name))?;
        let most = topology.nodes.len() - 1;
        let counts = || job.measured.iter().chain(&job.forecast);
        if let Some(beyond) = counts().find(|nodes| !(1..=most).contains(&(**nodes as usize))) {
            return Err(format!("{beyond} nodes, but there are {most} beside the head"));
        }
        if job.measured.len() < 2 || job.forecast.is_empty() || !job.measured.contains(&1) {
            return Err("`measured` has 1 and another count, and `forecast` one".to_owned());
        }
        let sound = |seconds: &f64| (0.0..3600.0).contains(seconds);
        if job.jobs == 0 || job.lengths.is_empty() || !job.lengths.iter().all(sound) {
            return Err(
                "`jobs` and `lengths` are one at least, of seconds below an hour".to_owned()
            );
        }
        match self.published.iter().find(|row| counts().all(|nodes| *nodes != row.nodes)) {
            Some(row) => Err(format!("{} nodes are published but not run", row.nodes)),
            None => Ok(()),
        }
    }

    /// Measures, forecasts, and tries.
    pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
        let topology = &stage.topologies[0];
        let scale = stage.scale.unwrap_or(1.0);
        stage.in_lab(topology, 1 << 24, phases, |bench, phases| {
            let list = self.list(bench, scale)?;
            bench.check(0, 1)?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for &nodes in &self.job.measured {
                rows.push(self.farm(bench, topology, nodes, &list)?);
            }
            phases.end("measured");
            let foretold = self.forecast(bench, topology, &rows)?;
            phases.end("forecast");
            for &nodes in &self.job.forecast {
                rows.push(self.farm(bench, topology, nodes, &list)?);
            }
            phases.end("tried");
            Ok(Table::new(self, scale, rows, foretold))
        })
    }

    /// The jobs' files, and the list that names them: all is smaller, or shorter, by `scale`.
    fn list(&self, bench: &ScenarioLab<'_>, scale: f64) -> Result<String, Failure> {
        let size = |text: &str| -> Result<u64, Failure> {
            Ok(((bytes::parse(text).map_err(Failure::usage)? as f64 * scale) as u64).max(1))
        };
        let (read, made) = (size(&self.job.bytes_in)?, size(&self.job.bytes_out)?);
        let mut text = String::new();
        let lengths = self.job.lengths.iter().cycle();
        for (job, seconds) in lengths.take(self.job.jobs).enumerate() {
            let source = bench.random_file(&format!("job{job:03}.in"), read)?;
            let source = source.display();
            let seconds = seconds * scale;
            // A list can't fail to be written into text.
            let _ = writeln!(
                text,
                "[[job]]\ncommand = \"cat {{in}} >/dev/null; sleep {seconds:.3}; head -c {made} {{in}} >{{out}}\"\n\
                 inputs = [\"{source}\"]\noutputs = [\"{source}.out\"]"
            );
        }
        let path = bench.folder().join("jobs.toml");
        std::fs::write(&path, text).or_nothing(format!("writing {}", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn farm(
        &self,
        bench: &ScenarioLab<'_>,
        topology: &Topology,
        nodes: u32,
        list: &str,
    ) -> Result<Row, Failure> {
        bench.go_on()?;
        garland_terminal::errln!("{nodes} nodes ...");
        let names = topology.nodes.iter().skip(1).take(nodes as usize);
        let names: Vec<String> = names.map(|node| format!("lab:{}", node.name)).collect();
        let names = fold(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let words = ["farm", "run", list, &names, "--data", "mount", "--slots", "1"];
        let Report { run, summary } = bench.ask_of_any(&[&words[..], &["--overwrite"]].concat())?;
        match summary.jobs.failures.first() {
            None => Ok(Row { nodes, seconds: summary.total, run }),
            Some(failed) => {
                let (job, reason) = (failed.job, &failed.reason);
                Err(Failure::nothing(format!("{nodes} nodes: job {job}: {reason}")))
            }
        }
    }

    fn forecast(
        &self,
        bench: &ScenarioLab<'_>,
        topology: &Topology,
        rows: &[Row],
    ) -> Result<ScalingForecast, Failure> {
        let none = || Failure::usage(format!("{} is no hub or switch", topology.name));
        let (shape, rate) = shape(topology).ok_or_else(none)?;
        let counts = self.job.measured.iter().chain(&self.job.forecast);
        let counts: Vec<String> = counts.map(u32::to_string).collect();
        let counts = counts.join(",");
        let mut words = vec!["forecast", "--topology", shape, "--rate", &rate, "--nodes", &counts];
        words.extend(rows.iter().map(|row| row.run.as_str()));
        bench.ask(&words)
    }

    /// The published figure of a node count.
    fn published(&self, nodes: u32) -> Option<&Published> {
        self.published.iter().find(|row| row.nodes == nodes)
    }
}

/// The words for a topology's only medium and its rate.
fn shape(topology: &Topology) -> Option<(&'static str, String)> {
    let [medium] = topology.media.as_slice() else { return None };
    let shape = match medium.kind {
        MediumKind::Hub { .. } => "hub",
        MediumKind::Switch { .. } => "switch",
        _ => return None,
    };
    Some((shape, format!("{}bit", medium.rate?.bits_per_second())))
}
