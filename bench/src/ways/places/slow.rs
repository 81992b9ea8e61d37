//! Two labs of twenty nodes: one has a node with a slow wire, the other has none.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Copies, build_cluster, copy};
use crate::contest::{Figure, Setting, Tool};
use crate::{memory, source};

const LABS: [&str; 2] = ["bench-slow", "bench-alike"];
const NODES: u32 = 20;
const BYTES: u64 = 512 << 20;

/// The node with the slow wire.
const SLOW: &str = "lab:n10";

pub(crate) const WITH: Tool<Copies> = Tool {
    name: "one-slow",
    about: "garland cp --whole --no-fsync, one of the nodes on a wire of 100 Mbit/s",
    need: None,
    measure: |place| others(place, 0),
};

pub(crate) const WITHOUT: Tool<Copies> = Tool {
    name: "none-slow",
    about: "garland cp --whole --no-fsync, all nodes on equal wires",
    need: None,
    measure: |place| others(place, 1),
};

/// Builds both labs.
pub(crate) fn make(_: &Setting<'_>) -> Result<Copies> {
    memory::check_room(BYTES, NODES as usize)?;
    let lab = |name, rate: &str| {
        let topology = format!(
            "version = 1\n[topology]\nshape = \"explicit\"\nnodes = \"n[0-{NODES}]\"\n\
             rate = \"1gbit\"\n[[topology.medium]]\nname = \"lan\"\nkind = \"switch\"\n\
             [[topology.medium]]\nname = \"own\"\nkind = \"switch\"\nrate = \"{rate}\"\n\
             [[topology.uplink]]\nfrom = \"own\"\nto = \"lan\"\n\
             [[topology.nic]]\nnodes = \"n[0-9],n[11-{NODES}]\"\nmedium = \"lan\"\n\
             address = \"10.9.0.[1-{NODES}]/24\"\n\
             [[topology.nic]]\nnodes = \"n10\"\nmedium = \"own\"\naddress = \"10.9.0.99/24\"\n"
        );
        build_cluster(Path::new("/dev/shm"), name, &topology, NODES)
    };
    let slow = lab(LABS[0], "100mbit")?;
    let alike = lab(LABS[1], "1gbit")?;
    let source = slow.folder.join("source");
    source::write(&source, BYTES)?;
    let list = format!("lab:n[1-{NODES}]");
    Ok(Copies { cluster: slow, other: Some(alike), source, list })
}

/// Returns the rate in MB/s until the last of the other nodes has the whole file.
fn others(place: &Copies, which: usize) -> Result<Figure> {
    let own = if which == 0 { Some(&place.cluster) } else { place.other.as_ref() };
    let own = own.context("the second lab is missing")?;
    let (_, result) = copy(own, LABS[which], &place.source, &place.list, &["--whole"])?;
    // Memory is too small for the files of both labs.
    for node in 1..=NODES {
        fs::remove_file(own.root(&format!("n{node}"))?.join("x"))
            .context("failed to remove a copy")?;
    }
    let nodes = result["nodes"].as_array().context("the result of garland cp has no nodes")?.iter();
    let rates = nodes.filter(|node| node["name"] != SLOW).map(|node| node["rate"].as_f64());
    let rates: Vec<f64> = rates
        .collect::<Option<_>>()
        .context("the result of garland cp has a node without a rate")?;
    Ok(Figure::from_mean(rates.into_iter().fold(f64::INFINITY, f64::min) / 1e6))
}
