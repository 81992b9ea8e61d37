//! Runs network tools in the namespaces of a lab.

use std::process::Command;

use serde::Deserialize;

use crate::counters::Counters;
use crate::step::Place;
use crate::tool::Tool;
use crate::{Lab, LabError};

impl Lab {
    /// Runs a tool with the batch `lines` in the namespaces of `place`.
    pub(crate) fn batch(&self, tool: Tool, place: &Place, lines: &str) -> Result<(), LabError> {
        self.run(tool, tool.batch()?, place, lines).map(drop)
    }

    /// Reads the counters of the media.
    pub(crate) fn counters(&self) -> Result<Counters, LabError> {
        let links = self.query(Tool::Ip, &["-j", "-s", "link", "show"])?;
        let queues = self.query(Tool::Tc, &["-j", "-s", "qdisc", "show"])?;
        Ok(Counters::new(links, queues))
    }

    /// Runs a tool in the namespace of the media, and parses its JSON output.
    fn query<T: for<'a> Deserialize<'a>>(&self, tool: Tool, words: &[&str]) -> Result<T, LabError> {
        let mut command = Command::new(tool.find()?);
        command.args(words);
        let text = self.run(tool, command, &Place::Media, "")?;
        serde_json::from_slice(&text).map_err(|error| LabError::Tool {
            tool: tool.name(),
            place: Place::Media.to_string(),
            reason: format!("its output cannot be parsed: {error}"),
        })
    }

    fn run(
        &self,
        tool: Tool,
        mut command: Command,
        place: &Place,
        input: &str,
    ) -> Result<Vec<u8>, LabError> {
        let entry = match place {
            Place::Media => self.media_entry()?,
            Place::Node(node) => self.entry(node)?,
        };
        entry.attach(&mut command);
        tool.run(command, input, &place.to_string())
    }
}
