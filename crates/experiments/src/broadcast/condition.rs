//! Conditions of the time, which are put into the lab's nodes.

use garland_analysis::grade::Condition;
use garland_core::units::{Rate, bytes};
use garland_terminal::failure::Failure;
use garland_topology::{Topology, Vintage};
use serde::{Deserialize, Serialize};

use crate::sections::refuse;

/// Entry of `[[job.condition]]`: a condition of the time at all nodes. The keys other than its name
/// and its source are those of `[[topology.node]]`. `disk` changes only dolly's chain, which ends
/// with a `sync`, `start` also Garland's agents, and the others only the script.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TimeCondition {
    /// The condition's name.
    name: String,
    /// Where its size comes from; without it, the condition explains nothing.
    source: Option<String>,
    copies: Option<String>,
    pipe: Option<String>,
    block: Option<String>,
    start: Option<String>,
    disk: Option<String>,
}

impl TimeCondition {
    fn vintage(&self) -> Result<Vintage, Failure> {
        let vintage = Vintage {
            copies: read(self.copies.as_deref(), str::parse)?,
            pipe: read(self.pipe.as_deref(), bytes::parse)?,
            block: read(self.block.as_deref(), bytes::parse)?,
            start: read(self.start.as_deref(), str::parse)?,
            ..Vintage::default()
        };
        match vintage.fault() {
            Some((key, reason)) => refuse(format!("{}: `{key}`: {reason}", self.name)),
            None if vintage == Vintage::default() && self.disk.is_none() => refuse(format!(
                "{} changes nothing: set copies, pipe, block, start or disk",
                self.name
            )),
            None => Ok(vintage),
        }
    }

    /// Returns the rate at which disks take what was written before, if this sets it.
    fn disk(&self) -> Result<Option<Rate>, Failure> {
        read(self.disk.as_deref(), str::parse)
    }

    /// Whether this changes dolly's chain, and not the script.
    pub fn is_disk(&self) -> bool {
        self.disk.is_some()
    }
}

fn read<T, E: ToString>(
    text: Option<&str>,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Failure> {
    text.map(read).transpose().map_err(|error| Failure::usage(error.to_string()))
}

/// One or several conditions that are put into a lab together.
#[derive(Clone, Debug)]
pub struct Setting {
    condition: Condition,
    vintage: Vintage,
    disk: Option<Rate>,
    /// The number of conditions.
    count: usize,
}

impl Setting {
    /// Puts `conditions` together. Their source is known if that of each is.
    pub fn combine(conditions: &[TimeCondition]) -> Result<Self, Failure> {
        let mut vintage = Vintage::default();
        let mut disk = None;
        for one in conditions {
            vintage = vintage.or(one.vintage()?);
            disk = disk.or(one.disk()?);
        }
        let names: Vec<&str> = conditions.iter().map(|one| one.name.as_str()).collect();
        let sources: Option<Vec<&str>> =
            conditions.iter().map(|one| one.source.as_deref()).collect();
        let condition =
            Condition::new(names.join(" + "), sources.map(|sources| sources.join("; ")));
        Ok(Self { condition, vintage, disk, count: conditions.len() })
    }

    /// Returns the conditions as one, for grades.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Returns whether this is one condition alone.
    pub fn is_alone(&self) -> bool {
        self.count == 1
    }

    /// Whether this is the disk of dolly's chain.
    pub fn is_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Whether programs start slowly, and nothing else is as it was.
    pub fn is_slow_start(&self) -> bool {
        self.is_alone() && self.vintage.start.is_some()
    }

    /// Returns `topology` with these conditions at all nodes.
    pub fn applied(&self, topology: &Topology) -> Topology {
        let mut topology = topology.clone();
        for node in &mut topology.nodes {
            node.vintage = self.vintage.or(node.vintage);
            node.disk = self.disk.or(node.disk);
        }
        topology
    }
}
