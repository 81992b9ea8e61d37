//! Parses the whole file: its keys and its topology.

use std::ops::Range;

use garland_core::form::{Section, document};
use serde::{Deserialize, Serialize};

use super::error::{Fault, TopologyFileError};
use super::shape;
use crate::{Topology, TopologyFault};

/// The contents of a topology file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyFile {
    /// The name in the file, or the file name without `.toml`.
    pub name: String,
    /// The question that a scenario answers; `None` if the file has none.
    pub question: Option<String>,
    /// Where the published figures of a scenario come from; `None` if the file does not say.
    pub source: Option<String>,
    /// The answer to the question; `None` if the file has none.
    pub answer: Option<String>,
    /// The topology, which has passed its check.
    pub topology: Topology,
}

/// The allowed keys; the last six are read by the experiment of a scenario.
const KEYS: [&str; 12] = [
    "version",
    "name",
    "question",
    "source",
    "answer",
    "topology",
    "job",
    "emulation",
    "published",
    "statement",
    "constant",
    "law",
];

/// Parses the text of a [topology file](super). `file_name` appears in messages; if the file has no
/// name, the topology is named `file_name` without directory and `.toml`.
///
/// # Errors
/// [`TopologyFileError`] says what is wrong, where, and what is allowed.
pub fn parse(text: &str, file_name: &str) -> Result<TopologyFile, TopologyFileError> {
    read(text, file_name).map_err(|fault| fault.in_file(text, file_name))
}

fn read(text: &str, file_name: &str) -> Result<TopologyFile, Fault> {
    let parsed = document(text, "topology file")?;
    let root = Section::new("the topology file", 0..0, parsed.get_ref(), &KEYS)?;
    let word = |key| Ok::<_, Fault>(root.text(key)?.map(|text| text.value.trim().to_owned()));
    let last = file_name.rsplit('/').next().unwrap_or(file_name);
    let name = word("name")?.unwrap_or_else(|| last.trim_end_matches(".toml").to_owned());
    let Some((table, span)) = root.table_at("topology")? else {
        return Err(root
            .missing("topology", "a section `[topology]` with `shape` and `nodes`")
            .into());
    };
    let (section, topology) = shape::read(text, &name, span, table)?;
    topology.check().map_err(|fault| Fault::new(place_of(&section, &fault), fault.into()))?;
    Ok(TopologyFile {
        name,
        question: word("question")?,
        source: word("source")?,
        answer: word("answer")?,
        topology,
    })
}

/// Returns the position of the key that most likely caused a fault.
fn place_of(section: &Section<'_>, fault: &TopologyFault) -> Range<usize> {
    let key = match fault {
        TopologyFault::Nodes(_) => "nodes",
        TopologyFault::Rate(_) => "rate",
        TopologyFault::Structure(_) => "shape",
    };
    section.span_of(key)
}
