//! The scenario file: a question, a topology, a job, published rows and the answer in words.

use garland_core::units::{Rate, bytes};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The scenarios that come with Garland, by name: the files in `scenarios/`.
const OWN: [(&str, &str); 1] =
    [("dolly-2005", include_str!("../../../../scenarios/dolly-2005.toml"))];

/// The version of the form.
const VERSION: u32 = 1;

/// One experiment.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    version: u32,
    /// Its name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// Where the published figures come from.
    pub source: String,
    /// What it answers.
    pub answer: String,
    /// What is emulated.
    pub topology: Topology,
    /// What is done.
    pub job: Job,
    /// What counts as reproduced.
    pub tolerance: Tolerance,
    /// What was published.
    pub published: Vec<Published>,
}

/// What is emulated.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Nodes beside the head.
    pub nodes: u32,
    /// What joins them.
    pub shape: ShapeName,
    /// The rate of every wire.
    pub rate: String,
}

/// The shapes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShapeName {
    /// Full duplex, store and forward.
    Switch,
}

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The file's length.
    pub bytes: String,
    /// To how many nodes.
    pub receivers: Vec<u32>,
    /// By which tools.
    pub steps: Vec<Tool>,
}

/// What copies the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// The script of 2005, written anew: named pipes, tee and netcat.
    Pipes,
    /// Garland, its agents started for the copy.
    Cold,
    /// Garland with agents that stay.
    Up,
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The most that a copy with agents up may take, as a multiple of the wire's own time.
    pub up_over_limit: f64,
}

/// A row as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// To how many nodes.
    pub receivers: u32,
    /// Seconds of the whole command, least and most.
    pub seconds: [f64; 2],
    /// MByte/s of the best.
    pub rate: f64,
}

impl Scenario {
    fn parse(text: &str) -> Result<Self, Failure> {
        let scenario: Self = toml::from_str(text).map_err(Failure::usage)?;
        if scenario.version != VERSION {
            let version = scenario.version;
            return Err(Failure::usage(format!(
                "the scenario has version {version}, not {VERSION}"
            )));
        }
        Ok(scenario)
    }

    /// The file's length in bytes, `scale` times the scenario's.
    pub fn length(&self, scale: f64) -> Result<u64, Failure> {
        let full = bytes::parse(&self.job.bytes).map_err(Failure::usage)?;
        Ok((full as f64 * scale) as u64)
    }

    /// The rate of every wire.
    pub fn rate(&self) -> Result<Rate, Failure> {
        self.topology.rate.parse().map_err(Failure::usage)
    }

    /// The published row for so many receivers.
    pub fn published(&self, receivers: u32) -> Option<&Published> {
        self.published.iter().find(|row| row.receivers == receivers)
    }
}

impl Tool {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipes => "pipe script",
            Self::Cold => "garland, cold",
            Self::Up => "garland, up",
        }
    }
}

/// The scenarios that come with Garland.
pub fn all() -> Result<Vec<Scenario>, Failure> {
    OWN.iter().map(|(_, text)| Scenario::parse(text)).collect()
}

/// The text of a scenario that comes with Garland.
pub fn text(name: &str) -> Option<&'static str> {
    OWN.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// The scenario `name`: one that comes with Garland, or a file.
pub fn find(name: &str) -> Result<Scenario, Failure> {
    if let Some(scenario) = all()?.into_iter().find(|scenario| scenario.name == name) {
        return Ok(scenario);
    }
    let text = std::fs::read_to_string(name).map_err(|_| {
        Failure::usage(format!("there is no scenario {name}")).hint("garland scenario list")
    })?;
    Scenario::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_read() {
        for (scenario, (name, _)) in all().unwrap().into_iter().zip(OWN) {
            assert_eq!(scenario.name, name);
            assert!(scenario.length(1.0).unwrap() > 0);
            assert!(scenario.rate().unwrap().bits_per_second() > 0);
            let most = scenario.job.receivers.iter().max().unwrap();
            assert!(*most <= scenario.topology.nodes, "{}", scenario.name);
            for receivers in &scenario.job.receivers {
                assert!(scenario.published(*receivers).is_some(), "{receivers} is published");
            }
        }
    }
}
