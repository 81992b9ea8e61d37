//! The sections of a broadcast scenario.

use garland_analysis::grade::Published;
use garland_core::units::bytes;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::condition::{Setting, TimeCondition};
use crate::sections::{Kind, Sections, only, refuse};

/// The sections of a broadcast scenario's file.
pub type Broadcast = Sections<Job, PublishedRow>;

/// Section `[job]`: the copies that are measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `broadcast`.
    pub kind: Kind,
    /// The length of the file, such as `86.4MB`.
    pub bytes: String,
    /// The numbers of receiving nodes; each tool copies to each number of nodes.
    pub receivers: Vec<u32>,
    /// The tools, in the table's order.
    pub steps: Vec<Tool>,
    /// The length of a file that Garland copies after each of its copies, with agents that are
    /// started for it and with standing ones: so short that starting them is what counts. `None` to
    /// copy none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<String>,
    /// The conditions of the time: the script runs with each of them alone, and with all together;
    /// dolly's chain runs with disks of the time, and Garland with slow starts.
    #[serde(default, rename = "condition", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<TimeCondition>,
}

/// A tool that copies the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// A chain of named pipes, tee and netcat, like the script of 2005.
    Pipes,
    /// A chain that begins and ends as dolly 0.57 does, to the published numbers of nodes only.
    Dolly,
    /// Garland with agents that are started by the copy itself.
    Cold,
    /// Garland with agents that were started before the copy.
    Up,
}

impl Tool {
    /// Returns whether conditions of the time change what the tool does: disks of the time change
    /// dolly's chain, slow starts also Garland's agents, and everything else the script.
    pub fn is_changed_by(self, setting: &Setting) -> bool {
        match self {
            Self::Pipes => !setting.is_disk(),
            Self::Dolly => setting.is_disk(),
            Self::Cold | Self::Up => setting.is_slow_start(),
        }
    }

    /// Returns the tool's name for the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipes => "pipe script",
            Self::Dolly => "dolly's chain",
            Self::Cold => "garland, cold",
            Self::Up => "garland, up",
        }
    }
}

/// Entry of `[[published]]`: a published row.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The tool that copied; by default the script.
    #[serde(default = "script")]
    pub tool: Tool,
    /// Number of nodes that receive the file.
    pub receivers: u32,
    /// Seconds of the whole command.
    pub seconds: Published,
    /// Rate in MB/s.
    pub rate: Published,
    /// Seconds of the transfer, as the tool reported them; `None` if it reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Published>,
    /// Rate in MB/s, as the tool reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_rate: Option<Published>,
}

fn script() -> Tool {
    Tool::Pipes
}

impl Broadcast {
    /// Returns the conditions that are put into the lab one after the other: each alone, and, if
    /// there are several that change the script, all of these together.
    pub fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let all = &self.job.conditions;
        let alone = all.iter().map(|one| Setting::combine(std::slice::from_ref(one)));
        let of_script: Vec<_> = all.iter().filter(|one| !one.is_disk()).cloned().collect();
        let together = (of_script.len() > 1).then(|| Setting::combine(&of_script));
        alone.chain(together).collect()
    }

    /// Checks that the topology has enough nodes for each number of receivers, and that the length
    /// of the file can be parsed.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        for text in [&self.job.bytes].into_iter().chain(&self.job.short) {
            bytes::parse(text).map_err(Failure::usage)?;
        }
        self.settings()?;
        let topology = only(topologies, "a broadcast")?;
        let others = topology.nodes.len() - 1;
        let beyond = |some: &&u32| !(1..=others).contains(&(**some as usize));
        match self.job.receivers.iter().find(beyond) {
            Some(some) => refuse(format!(
                "`receivers` has {some}, but there are only {others} nodes besides the head"
            )),
            None => Ok(()),
        }
    }

    /// Returns the published row of a tool for this number of receivers; `None` if there is none.
    pub fn published(&self, tool: Tool, receivers: u32) -> Option<&PublishedRow> {
        self.published.iter().find(|row| row.tool == tool && row.receivers == receivers)
    }

    /// Returns the numbers of nodes that a tool copies to.
    pub fn receivers(&self, tool: Tool) -> Vec<u32> {
        let is_run =
            |receivers: &u32| tool != Tool::Dolly || self.published(tool, *receivers).is_some();
        self.job.receivers.iter().copied().filter(is_run).collect()
    }
}
