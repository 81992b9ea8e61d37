//! The scenario file: a topology file with a question and the answer in words, and for those that
//! are rerun as they were published a job, a tolerance and the published rows.

use garland_core::cluster::topology::file::parse;
use garland_core::cluster::topology::{Medium, Topology};
use garland_core::units::bytes;
use serde::{Deserialize, Serialize, Serializer};

use crate::failure::Failure;

/// The scenarios that come with Garland, by name: the files in `scenarios/`.
const OWN: [(&str, &str); 11] = [
    ("dolly-2005", include_str!("../../../../scenarios/dolly-2005.toml")),
    ("hub10", include_str!("../../../../scenarios/hub10.toml")),
    ("switch100", include_str!("../../../../scenarios/switch100.toml")),
    ("p2p-star", include_str!("../../../../scenarios/p2p-star.toml")),
    ("p2p-16", include_str!("../../../../scenarios/p2p-16.toml")),
    ("p2p-joined", include_str!("../../../../scenarios/p2p-joined.toml")),
    ("bonded-dual-net", include_str!("../../../../scenarios/bonded-dual-net.toml")),
    ("routed-mesh", include_str!("../../../../scenarios/routed-mesh.toml")),
    ("routed-mesh-two-routes", include_str!("../../../../scenarios/routed-mesh-two-routes.toml")),
    ("switched-mesh", include_str!("../../../../scenarios/switched-mesh.toml")),
    (
        "switched-mesh-two-routes",
        include_str!("../../../../scenarios/switched-mesh-two-routes.toml"),
    ),
];

/// A topology with a question.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// Where the published figures come from.
    pub source: String,
    /// What it answers.
    pub answer: String,
    /// What is emulated.
    #[serde(serialize_with = "outline")]
    pub topology: Topology,
    /// What is done and compared; none when the topology is all there is.
    #[serde(flatten)]
    pub experiment: Option<Experiment>,
}

/// What is done in a topology, and compared.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Experiment {
    /// What is done.
    pub job: Job,
    /// What counts as reproduced.
    pub tolerance: Tolerance,
    /// What was published.
    pub published: Vec<Published>,
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
    fn parse(text: &str, path: &str) -> Result<Self, Failure> {
        let file = parse(text, path).map_err(Failure::usage)?;
        let wanted = |key: &str, text: Option<String>| {
            text.ok_or_else(|| Failure::usage(format!("{path}: a scenario needs `{key}`")))
        };
        let scenario = Self {
            name: file.name,
            question: wanted("question", file.question)?,
            source: wanted("source", file.source)?,
            answer: wanted("answer", file.answer)?,
            topology: file.topology,
            experiment: Experiment::parse(text, path)?,
        };
        let others = scenario.topology.nodes.len() - 1;
        let receivers = scenario.experiment.iter().flat_map(|experiment| &experiment.job.receivers);
        match receivers.into_iter().find(|some| !(1..=others).contains(&(**some as usize))) {
            Some(some) => Err(Failure::usage(format!(
                "{path}: a job for {some} receivers, but there are {others} nodes beside the head"
            ))),
            None => Ok(scenario),
        }
    }

    /// What is done, if anything is.
    pub fn experiment(&self) -> Result<&Experiment, Failure> {
        self.experiment.as_ref().ok_or_else(|| {
            let name = &self.name;
            Failure::usage(format!("scenario {name} is a topology without a [job]: nothing is run"))
        })
    }
}

impl Experiment {
    /// The experiment's sections, all or none; the others were read already.
    fn parse(text: &str, path: &str) -> Result<Option<Self>, Failure> {
        let wrong = |error: toml::de::Error| Failure::usage(format!("{path}: {error}"));
        let table: toml::Table = toml::from_str(text).map_err(wrong)?;
        let sections = ["job", "tolerance", "published"];
        if sections.iter().any(|section| table.contains_key(*section)) {
            toml::from_str(text).map(Some).map_err(wrong)
        } else {
            Ok(None)
        }
    }

    /// The file's length in bytes, `scale` times the scenario's.
    pub fn length(&self, scale: f64) -> Result<u64, Failure> {
        let full = bytes::parse(&self.job.bytes).map_err(Failure::usage)?;
        Ok((full as f64 * scale) as u64)
    }

    /// The published row for so many receivers.
    pub fn published(&self, receivers: u32) -> Option<&Published> {
        self.published.iter().find(|row| row.receivers == receivers)
    }
}

/// A topology in a result: its nodes and media, without every address and route.
fn outline<S: Serializer>(topology: &Topology, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Outline<'t> {
        nodes: Vec<&'t str>,
        nics: usize,
        media: &'t [Medium],
    }
    let nodes = topology.nodes.iter().map(|node| node.name.as_str()).collect();
    Outline { nodes, nics: topology.nics.len(), media: &topology.media }.serialize(serializer)
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
    OWN.iter().map(|(name, text)| Scenario::parse(text, &format!("{name}.toml"))).collect()
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
    Scenario::parse(&text, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_read() {
        for (scenario, (name, _)) in all().unwrap().iter().zip(OWN) {
            assert_eq!(scenario.name, name);
            for text in [&scenario.question, &scenario.source, &scenario.answer] {
                assert!(!text.trim().is_empty(), "{name}");
            }
            let Some(experiment) = &scenario.experiment else {
                continue;
            };
            assert!(experiment.length(1.0).unwrap() > 0);
            for receivers in &experiment.job.receivers {
                assert!(experiment.published(*receivers).is_some(), "{receivers} is published");
            }
        }
    }

    #[test]
    fn no_scenario_is_left_out() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let files = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let mut own = OWN.map(|(name, _)| format!("{name}.toml"));
        files.sort();
        own.sort();
        assert_eq!(files, own);
    }

    #[test]
    fn a_job_needs_its_nodes_and_all_its_sections() {
        let (_, text) = OWN[0];
        let more = text.replacen("receivers = [1,", "receivers = [21,", 1);
        assert!(Scenario::parse(&more, "x.toml").is_err());
        let less = text.replacen("[tolerance]\n", "", 1);
        assert!(Scenario::parse(&less, "x.toml").is_err());
        let unasked = text.replacen("question", "answer2", 1);
        assert!(Scenario::parse(&unasked, "x.toml").is_err());
    }
}
