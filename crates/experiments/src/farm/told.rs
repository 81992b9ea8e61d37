//! What is read of a `garland.farm/1`.

use serde::Deserialize;

use garland_farm::result::{NicTraffic, Summary};

/// A farm's run.
#[derive(Deserialize)]
pub struct Report {
    /// The name of its run.
    pub run: String,
    /// What it came to.
    #[serde(flatten)]
    pub summary: Summary,
    nodes: Vec<NodeTold>,
    records: Vec<RecordTold>,
}

#[derive(Deserialize)]
struct NodeTold {
    name: String,
    nics: Vec<NicTraffic>,
}

#[derive(Deserialize)]
struct RecordTold {
    node: Option<String>,
    bytes_in: u64,
    bytes_out: u64,
}

impl Report {
    /// Bytes that a job has made, on average.
    pub fn made(&self) -> f64 {
        let all: u64 = self.records.iter().map(|record| record.bytes_out).sum();
        all as f64 / self.records.len().max(1) as f64
    }

    /// Bytes that crossed the wires, by the NICs of the node `server` that has the files, and bytes of the
    /// files that the others' jobs have read and made.
    pub fn carried(&self, server: &str) -> [u64; 2] {
        let elsewhere = self.records.iter().filter(|record| record.node.as_deref() != Some(server));
        let nics = self.nodes.iter().filter(|node| node.name == server).flat_map(|node| &node.nics);
        let wires = nics.map(|nic| nic.sent + nic.received).sum();
        [wires, elsewhere.map(|record| record.bytes_in + record.bytes_out).sum()]
    }
}
