//! Four nodes with two NICs each.

use std::path::Path;

use anyhow::Result;

use super::{Copies, build_cluster};
use crate::contest::{Setting, Tool};
use crate::{memory, source};

const LAB: &str = "bench-rails";
const NODES: u32 = 4;
const BYTES: u64 = 1 << 30;

pub(crate) const BOTH: Tool<Copies> = Tool {
    name: "two-rails",
    about: "garland cp --whole --no-fsync over both NICs of every node",
    need: None,
    measure: |place| place.measure(LAB, &["--rails", "2"]),
};

pub(crate) const ONE: Tool<Copies> = Tool {
    name: "one-rail",
    about: "garland cp --whole --no-fsync over the first NIC of every node",
    need: None,
    measure: |place| place.measure(LAB, &["--rails", "1"]),
};

/// Builds the lab.
pub(crate) fn make(_: &Setting<'_>) -> Result<Copies> {
    memory::check_room(BYTES, NODES as usize)?;
    let topology =
        "version = 1\n[topology]\nshape = \"rail\"\nnodes = 5\nrails = 2\nrate = \"1gbit\"\n";
    let cluster = build_cluster(Path::new("/dev/shm"), LAB, topology, NODES)?;
    let source = cluster.folder.join("source");
    source::write(&source, BYTES)?;
    Ok(Copies { cluster, other: None, source, list: format!("lab:n[1-{NODES}]") })
}
