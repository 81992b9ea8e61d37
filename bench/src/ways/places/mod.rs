//! The labs, with their sources and tools.

pub(super) mod again;
pub(super) mod rails;
pub(super) mod siege;
pub(super) mod slow;
pub(super) mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::contest::Figure;

/// A lab, and the source of its copies.
pub(crate) struct Copies {
    cluster: Cluster,
    /// The lab for comparison, if there is one.
    other: Option<Cluster>,
    source: PathBuf,
    list: String,
}

/// Builds a lab of this topology in `above`, with standing agents on nodes `n1` to `n{nodes}`.
fn build_cluster(above: &Path, name: &'static str, topology: &str, nodes: u32) -> Result<Cluster> {
    let mut cluster = Cluster::in_folder(above, name)?;
    cluster.raise(topology).context("failed to set up the nodes")?;
    cluster.settle(&format!("lab:n[1-{nodes}]"))?;
    Ok(cluster)
}

/// Copies the source to the nodes of a lab in `list`. Returns the time of the whole command in
/// seconds, and its result.
fn copy(
    cluster: &Cluster,
    lab: &str,
    source: &Path,
    list: &str,
    more: &[&str],
) -> Result<(f64, Value)> {
    let source = source.to_string_lossy();
    let target = format!("{list}:/x");
    let words = ["cp", "--json", "-q", "--no-fsync", "--lab", lab, &source, &target];
    let (seconds, said) = cluster.garland(&[&words, more].concat())?;
    Ok((seconds, serde_json::from_slice(&said).context("failed to read the result")?))
}

impl Copies {
    /// Copies the whole source to all nodes of `lab`. Returns the rate in MB/s.
    fn measure(&self, lab: &str, more: &[&str]) -> Result<Figure> {
        let more = [&["--whole"], more].concat();
        let (seconds, result) = copy(&self.cluster, lab, &self.source, &self.list, &more)?;
        rate(&result, seconds)
    }
}

/// Returns the rate in MB/s of the bytes of `result` if they take `seconds`.
fn rate(result: &Value, seconds: f64) -> Result<Figure> {
    let bytes = result["bytes"].as_f64().context("the result of garland cp has no bytes")?;
    Ok(Figure::from_mean(bytes / 1e6 / seconds))
}
