//! What the kernel has counted in the media's namespace.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::plan::Place;
use crate::tool::Tool;
use crate::{Lab, LabError};

/// Counters of a port, as the kernel counts: without check sums, preambles and gaps, and the
/// headers of a large segment once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Bytes that came from the station.
    pub sent: u64,
    /// Bytes that went to the station.
    pub received: u64,
    /// Frames to the station that were lost because the port's buffer was full.
    pub lost: u64,
}

/// Counters of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct QueueCounters {
    /// Bytes that went through, as the kernel counts.
    #[serde(default)]
    pub(crate) bytes: u64,
    /// Frames that went through.
    #[serde(default)]
    pub(crate) packets: u64,
    /// Frames that found no room.
    #[serde(default)]
    pub(crate) drops: u64,
    /// Bytes that wait.
    #[serde(default)]
    pub(crate) backlog: u64,
}

/// Everything that is counted, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    ports: HashMap<String, PortCounters>,
    roots: HashMap<String, QueueCounters>,
}

impl Counters {
    /// What a port has carried.
    pub(crate) fn port(&self, device: &str) -> PortCounters {
        let lost = self.root(device).drops;
        PortCounters { lost, ..self.ports.get(device).copied().unwrap_or_default() }
    }

    /// What has gone through a device's outermost queue; nothing where it has none.
    pub(crate) fn root(&self, device: &str) -> QueueCounters {
        self.roots.get(device).copied().unwrap_or_default()
    }
}

/// The part of `ip -j -s link` that counts.
#[derive(Deserialize)]
struct Link {
    ifname: String,
    stats64: LinkStats,
}

#[derive(Deserialize)]
struct LinkStats {
    rx: Direction,
    tx: Direction,
}

#[derive(Deserialize)]
struct Direction {
    bytes: u64,
}

/// The part of `tc -j -s qdisc` that counts.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Queue {
    /// What it is: `tbf`, `htb`, `bfifo`.
    pub(crate) kind: String,
    /// The device, when all were asked for.
    #[serde(default)]
    pub(crate) dev: String,
    /// Whether it is the device's outermost.
    #[serde(default)]
    pub(crate) root: bool,
    /// What it has counted.
    #[serde(flatten)]
    pub(crate) counters: QueueCounters,
}

impl Lab {
    /// What the media have carried by now.
    pub(crate) fn counters(&self) -> Result<Counters, LabError> {
        let links: Vec<Link> = self.ask(Tool::Ip, &["-j", "-s", "link", "show"])?;
        let queues: Vec<Queue> = self.ask(Tool::Tc, &["-j", "-s", "qdisc", "show"])?;
        let ports = links.into_iter().map(|Link { ifname, stats64: LinkStats { rx, tx } }| {
            (ifname, PortCounters { sent: rx.bytes, received: tx.bytes, lost: 0 })
        });
        let roots = queues.into_iter().filter(|queue| queue.root);
        Ok(Counters {
            ports: ports.collect(),
            roots: roots.map(|queue| (queue.dev, queue.counters)).collect(),
        })
    }

    /// Asks a tool in the media's namespace; its answer is JSON.
    fn ask<T: for<'a> Deserialize<'a>>(&self, tool: Tool, words: &[&str]) -> Result<T, LabError> {
        let mut command = std::process::Command::new(tool.find()?);
        command.args(words);
        self.media_entry()?.attach(&mut command);
        let place = Place::Media.to_string();
        let text = tool.run(command, "", &place)?;
        serde_json::from_slice(&text).map_err(|error| LabError::Tool {
            tool: tool.name(),
            place,
            reason: format!("unknown output: {error}"),
        })
    }
}
