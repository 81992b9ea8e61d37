//! A copy of 1 GiB to twenty nodes that already have it. The files are on a disk, since memory is
//! too small.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Copies, build_cluster, copy};
use crate::contest::{Figure, Setting, Tool};
use crate::source;

const LAB: &str = "bench-again";
const NODES: u32 = 20;
const BYTES: u64 = 1 << 30;

const ABOUT: &str = "garland cp of a file that all nodes have, to nodes whose agents are up";

pub(crate) const SECONDS: Tool<Copies> =
    Tool { name: "garland", about: ABOUT, need: None, measure: seconds };

pub(crate) const CARRIED: Tool<Copies> = Tool { name: "garland", measure: carried, ..SECONDS };

/// Builds the lab, and copies the file to all nodes.
pub(crate) fn make(_: &Setting<'_>) -> Result<Copies> {
    let topology = "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-20]\"\n";
    let cluster = build_cluster(&std::env::temp_dir(), LAB, topology, NODES)?;
    let source = cluster.folder.join("source");
    source::write(&source, BYTES)?;
    let place = Copies { cluster, other: None, source, list: format!("lab:n[1-{NODES}]") };
    eprintln!("1 GiB to 20 nodes, for the first time");
    let _ = place.once_more()?;
    Ok(place)
}

impl Copies {
    fn once_more(&self) -> Result<f64> {
        let (seconds, _) = copy(&self.cluster, LAB, &self.source, &self.list, &[])?;
        Ok(seconds)
    }

    /// Returns bytes that the switch has carried.
    fn carried(&self) -> Result<f64> {
        let (_, said) = self.cluster.garland(&["lab", "status", "--json"])?;
        let status: Value =
            serde_json::from_slice(&said).context("failed to read the lab's state")?;
        status["labs"][0]["media"][0]["carried"]
            .as_f64()
            .context("the lab's state has no count of carried bytes")
    }
}

fn seconds(place: &Copies) -> Result<Figure> {
    place.once_more().map(Figure::from_mean)
}

fn carried(place: &Copies) -> Result<Figure> {
    let before = place.carried()?;
    let _ = place.once_more()?;
    Ok(Figure::from_mean((place.carried()? - before) / f64::from(1 << 20)))
}
