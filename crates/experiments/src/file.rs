//! The scenario file: a topology file with a question. A file that only describes a topology has
//! the answer in words; a scenario that can be rerun has a job, the error of its emulation and the
//! published rows, and its answer follows from what is measured. A scenario that compares
//! topologies has a list of their names instead of a topology:
//! `topologies = ["hub10", "mine.toml"]`.

use std::path::Path;

use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::file::parse;
use garland_topology::{Medium, Topology, scenarios};
use serde::{Deserialize, Serialize, Serializer};

use super::Experiment;

/// A question about topologies, its answer, and the experiment behind it.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// The scenario's name.
    pub name: String,
    /// The question that the scenario answers.
    pub question: String,
    /// Where the published figures come from.
    pub source: String,
    /// The answer to the question; `None` if the scenario has an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The file, or the name of a built-in scenario, by which other commands find the topology.
    #[serde(skip)]
    pub file: String,
    /// The topologies, in the order in which they are emulated; at least one.
    #[serde(serialize_with = "outlines")]
    pub topologies: Vec<Topology>,
    /// The experiment; `None` if the file only describes a topology.
    #[serde(flatten)]
    pub experiment: Option<Experiment>,
}

/// The format version that this release reads.
const VERSION: u32 = 1;

/// A file that names topologies instead of describing one. [`Experiment::parse`] reads the
/// sections after them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    version: u32,
    name: Option<String>,
    question: Option<String>,
    source: Option<String>,
    topologies: Vec<String>,
    #[serde(rename = "job")]
    _job: toml::Table,
    #[serde(rename = "emulation")]
    _emulation: toml::Table,
    #[serde(rename = "published", default)]
    _published: Vec<toml::Table>,
    #[serde(rename = "statement", default)]
    _statement: Vec<toml::Table>,
    #[serde(rename = "constant", default)]
    _constant: Vec<toml::Table>,
    #[serde(rename = "law", default)]
    _law: Vec<toml::Table>,
}

impl Scenario {
    fn parse(text: &str, path: &str) -> Result<Self, Failure> {
        let wrong = |error: toml::de::Error| Failure::usage(format!("{path}: {error}"));
        let table: toml::Table = toml::from_str(text).map_err(wrong)?;
        let sections = ["job", "emulation", "published", "statement", "constant", "law"];
        let is_run = sections.iter().any(|section| table.contains_key(*section));
        let several = table.contains_key("topologies");
        let experiment = (is_run || several).then(|| Experiment::parse(text, path)).transpose()?;
        let wanted = |key: &str, text: Option<String>| {
            text.ok_or_else(|| Failure::usage(format!("{path}: a scenario must have a `{key}`")))
        };
        let (name, words, answer, topologies) = if several {
            let file: Several = toml::from_str(text).map_err(wrong)?;
            file.check(path)?;
            let load = |name: &String| scenarios::load(&beside(name, path));
            let topologies = file.topologies.iter().map(load).collect::<Result<_, _>>()?;
            (file.name, [file.question, file.source], None, topologies)
        } else {
            let file = parse(text, path).map_err(Failure::usage)?;
            (Some(file.name), [file.question, file.source], file.answer, vec![file.topology])
        };
        let [question, source] = words;
        let answer = match (answer, &experiment) {
            (Some(_), Some(_)) => {
                let problem =
                    "a scenario with a [job] has no `answer`: it follows from what is measured";
                return Err(Failure::usage(format!("{path}: {problem}")));
            }
            (None, None) => Some(wanted("answer", None)?),
            (answer, _) => answer,
        };
        let scenario = Self {
            name: wanted("name", name)?,
            question: wanted("question", question)?,
            source: wanted("source", source)?,
            answer,
            file: path.to_owned(),
            topologies,
            experiment,
        };
        if let Some(experiment) = &scenario.experiment {
            let checked = experiment.check(&scenario.topologies);
            let checked = checked.and_then(|()| experiment.account(&scenario.name).check());
            checked.map_err(|wrong| Failure::usage(format!("{path}: {}", wrong.message())))?;
        }
        Ok(scenario)
    }

    /// Returns the experiment; an error if there is none.
    pub fn experiment(&self) -> Result<&Experiment, Failure> {
        self.experiment.as_ref().ok_or_else(|| {
            let name = &self.name;
            Failure::usage(format!(
                "scenario {name} cannot be run: it is a topology without a [job]"
            ))
            .hint(format!("to see what its wires allow, run garland net show {name}"))
        })
    }
}

impl Several {
    fn check(&self, path: &str) -> Result<(), Failure> {
        if self.version != VERSION {
            let version = self.version;
            return Err(Failure::usage(format!(
                "{path}: format version {version} is not supported; this release reads version {VERSION}"
            )));
        }
        if self.topologies.is_empty() {
            return Err(Failure::usage(format!("{path}: `topologies` is empty")));
        }
        Ok(())
    }
}

/// Returns the topology `name` of the scenario file `path`. A file name is relative to that file's
/// directory.
fn beside(name: &str, path: &str) -> String {
    let directory = Path::new(path).parent().filter(|_| scenarios::is_file(name));
    directory
        .map_or_else(|| name.to_owned(), |parent| parent.join(name).to_string_lossy().into_owned())
}

/// Serializes topologies for a result: nodes and media, without addresses and routes.
fn outlines<S: Serializer>(topologies: &[Topology], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Outline<'t> {
        name: &'t str,
        nodes: Vec<&'t str>,
        nics: usize,
        media: &'t [Medium],
    }
    serializer.collect_seq(topologies.iter().map(|topology| Outline {
        name: &topology.name,
        nodes: topology.nodes.iter().map(|node| node.name.as_str()).collect(),
        nics: topology.nics.len(),
        media: &topology.media,
    }))
}

/// Returns all built-in scenarios.
pub fn all() -> Result<Vec<Scenario>, Failure> {
    scenarios::OWN
        .iter()
        .map(|(name, text)| {
            let scenario = Scenario::parse(text, &format!("{name}.toml"))?;
            Ok(Scenario { file: (*name).to_owned(), ..scenario })
        })
        .collect()
}

/// Finds the scenario `name`: a built-in one, or a file.
pub fn find(name: &str) -> Result<Scenario, Failure> {
    if let Some(scenario) = all()?.into_iter().find(|scenario| scenario.name == name) {
        return Ok(scenario);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let why = garland_sys::error::reason(&error);
        Failure::usage(format!("no scenario is named {name}, and the file cannot be read: {why}"))
            .hint("to list the scenarios, run garland scenario list")
    })?;
    let scenario = Scenario::parse(&text, name)?;
    // An absolute path is that of a file for certain, whatever its name is.
    let file = std::path::absolute(name).or_nothing(format!("cannot find {name}"))?;
    Ok(Scenario { file: file.to_string_lossy().into_owned(), ..scenario })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast::Tool;

    #[test]
    fn every_scenario_can_be_read() {
        for (scenario, (name, _)) in all().unwrap().iter().zip(scenarios::OWN) {
            assert_eq!(scenario.name, name);
            assert_eq!(scenario.answer.is_some(), scenario.experiment.is_none(), "{name}");
            for text in [&scenario.question, &scenario.source] {
                assert!(!text.trim().is_empty(), "{name}");
            }
            if let Some(Experiment::Broadcast(broadcast)) = &scenario.experiment {
                for receivers in &broadcast.job.receivers {
                    assert!(
                        broadcast.published(Tool::Pipes, *receivers).is_some(),
                        "{receivers} is published"
                    );
                }
            }
        }
    }

    #[test]
    fn no_scenario_is_left_out() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = files.filter(|name| name != "facts.toml").collect();
        let mut own = scenarios::OWN.map(|(name, _)| format!("{name}.toml"));
        files.sort();
        own.sort();
        assert_eq!(files, own);
    }

    #[test]
    fn a_job_needs_its_nodes_and_all_its_sections() {
        let (_, text) = scenarios::OWN[0];
        let more = text.replacen("receivers = [1,", "receivers = [21,", 1);
        assert!(Scenario::parse(&more, "x.toml").is_err());
        let less = text.replacen("[emulation]\n", "", 1);
        assert!(Scenario::parse(&less, "x.toml").is_err());
        let unknown = text.replacen("\"broadcast\"", "\"broadcasts\"", 1);
        assert!(Scenario::parse(&unknown, "x.toml").is_err());
        let unasked = text.replacen("question", "answer2", 1);
        assert!(Scenario::parse(&unasked, "x.toml").is_err());
        let told = text.replacen("question", "answer = \"x\"\nquestion", 1);
        let told = Scenario::parse(&told, "x.toml").unwrap_err();
        assert!(told.message().contains("follows from what is measured"), "{}", told.message());
    }

    #[test]
    fn a_comparison_of_topologies_needs_their_nodes_and_rates() {
        let copy = scenarios::text("openmosix-copy-2004").unwrap();
        let pairs = scenarios::text("beowulf-pairs-1996").unwrap();
        let balance = scenarios::text("beowulf-1996").unwrap();
        let farm = scenarios::text("openmosix-2004").unwrap();
        assert!(Scenario::parse(copy, "x.toml").is_ok());
        for (text, from, to, problem) in [
            (copy, "to = \"n2\"", "to = \"n9\"", "hub10 has no node n9"),
            (copy, "to = \"n2\"", "to = \"srv\"", "no wire with a rate from its head to srv"),
            (copy, "\"hub10\", ", "", "hub10 is published, but not in `topologies`"),
            (copy, "\"hub10\", ", "\"hub11\", ", "hub11"),
            (copy, "version = 1", "version = 2", "version 2"),
            (pairs, "\"n15\"", "\"n14\"", "n14 is in two pairs"),
            (pairs, "\"n15\"", "\"n16\"", "no node n16"),
            (pairs, "counts = [1,", "counts = [0,", "must be above 0"),
            (pairs, "counts = [1,", "counts = [9,", "9 pairs are needed"),
            (pairs, "name = \"local\"", "name = \"remote\"", "its kind of wire in bonded-dual-net"),
            (balance, "remote = [0,", "remote = [8,", "there are only 7 pairs"),
            (balance, "\"2.06MB/s\"", "\"0MB/s\"", "`disk` must be above 0"),
            (balance, "\"2MB\", ", "", "2MB are published, but not in `sizes`"),
            (balance, "best = 1", "best = 9", "has 9, which is not in `remote`"),
            (balance, "block = \"", "block = \"x", "x16KiB"),
            (farm, "measured = [1, 2, 3]", "measured = [2, 3]", "must list 1 node"),
            (farm, "measured = [1, 2, 3]", "measured = [1, 5]", "there are only 4 in `nodes`"),
            (farm, "forecast = [4]", "forecast = [3]", "4 nodes of p2p-star are published, but"),
            (farm, "\"n3\", \"n4\"]", "\"n3\", \"n5\"]", "p2p-star has no node n5"),
        ] {
            assert!(text.contains(from), "{from}");
            let failure = Scenario::parse(&text.replacen(from, to, 1), "x.toml").unwrap_err();
            assert!(failure.message().contains(problem), "{}", failure.message());
        }
    }
}
