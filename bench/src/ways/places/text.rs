//! Text to four nodes on a switch.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Copies, build_cluster};
use crate::contest::{Setting, Tool};
use crate::memory;

const LAB: &str = "bench-text";
const NODES: u32 = 4;
const BYTES: usize = 1 << 30;

pub(crate) const AUTO: Tool<Copies> = Tool {
    name: "auto",
    about: "garland cp --whole --no-fsync --compress auto",
    need: None,
    measure: |place| place.measure(LAB, &["--compress", "auto"]),
};

pub(crate) const PLAIN: Tool<Copies> = Tool {
    name: "none",
    about: "garland cp --whole --no-fsync, not compressed",
    need: None,
    measure: |place| place.measure(LAB, &["--compress", "none"]),
};

/// Builds the lab, and concatenates the repository's texts.
pub(crate) fn make(setting: &Setting<'_>) -> Result<Copies> {
    memory::check_room(BYTES as u64, NODES as usize)?;
    let topology =
        "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-4]\"\nrate = \"1gbit\"\n";
    let cluster = build_cluster(Path::new("/dev/shm"), LAB, topology, NODES)?;
    let source = cluster.folder.join("source");
    let mut texts = Vec::new();
    for folder in ["crates", "docs", "xtask", "scenarios"] {
        gather(&setting.root.join(folder), &mut texts)?;
    }
    ensure!(
        texts.len() > 1 << 20,
        "the repository has only {} bytes of text, too few for a source",
        texts.len()
    );
    let mut file = File::create(&source).context("failed to create the source")?;
    let mut left = BYTES;
    while left > 0 {
        let part = texts.len().min(left);
        file.write_all(&texts[..part]).context("failed to write the source")?;
        left -= part;
    }
    Ok(Copies { cluster, other: None, source, list: format!("lab:n[1-{NODES}]") })
}

/// Appends all regular files below a directory to `into`.
fn gather(folder: &Path, into: &mut Vec<u8>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            gather(&path, into)?;
        } else {
            let bytes =
                fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
            into.extend(bytes);
        }
    }
    Ok(())
}
