//! The tools of `bench trees`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use xtask::clock::Watch;

use super::stage::{LAB, Stage};
use crate::contest::{self, Figure};

/// A tool of this benchmark.
pub(super) type Tool = contest::Tool<Stage>;

pub(super) const GARLAND: Tool = Tool {
    name: "garland",
    about: "garland cp -r --no-fsync to nodes whose agents are up",
    need: None,
    measure: garland,
};

pub(super) const FILES: Tool = Tool { name: "garland-limit", ..GARLAND };

pub(super) const LIMIT: Tool = Tool {
    name: "file-system",
    about: "bench/peers/files.c: files under a hidden name that are renamed, or without a name that \
            are linked in, by 1, 2 and 4 threads for all nodes together; the best of these",
    need: Some(("gcc", "cc")),
    measure: limit,
};

pub(super) const TAR: Tool = Tool {
    name: "tar-tee",
    about: "tar c, and on every node nc | tee >(nc to the next) | tar x",
    need: Some(("netcat-openbsd", "nc.openbsd")),
    measure: tar,
};

pub(super) const RSYNC: Tool = Tool {
    name: "rsync",
    about: "every node pulls from a daemon on the head at the same time, -a --whole-file",
    need: Some(("rsync", "rsync")),
    measure: rsync,
};

fn garland(stage: &Stage) -> Result<Figure> {
    let tree = stage.tree();
    let target = format!("{}:/", stage.list());
    let words = ["cp", "-q", "-r", "--lab", LAB, "--no-fsync", &tree.to_string_lossy(), &target];
    let seconds = stage.garland(&words)?;
    let copies = (1..=stage.nodes).map(|node| Ok(stage.root(node)?.join("tree")));
    stage.compare(&copies.collect::<Result<Vec<_>>>()?)?;
    Ok(stage.rate(seconds))
}

fn limit(stage: &Stage) -> Result<Figure> {
    let mut best = f64::INFINITY;
    for threads in [1, 2, 4] {
        for way in ["rename", "link"] {
            best = best.min(stage.make_files(threads, way)?);
        }
    }
    Ok(stage.rate(best))
}

fn tar(stage: &Stage) -> Result<Figure> {
    const PORT: u16 = 7004;
    let mut nodes = Vec::new();
    for node in (1..=stage.nodes).rev() {
        let pass_on = if node == stage.nodes {
            String::new()
        } else {
            format!("tee >(nc.openbsd -N {} {PORT}) | ", stage.address(node + 1)?)
        };
        let line =
            format!("nc.openbsd -l {PORT} | {pass_on}tar xf - -C {}", stage.dir(node).display());
        nodes.push(stage.start(node, line)?.listens(PORT)?);
    }
    let watch = Watch::start();
    let line = format!("tar cf - tree | nc.openbsd -N {} {PORT}", stage.address(1)?);
    stage.start(0, line)?.finish()?;
    for node in nodes {
        node.finish()?;
    }
    let seconds = watch.read().as_secs_f64();
    stage.compare(&copies(stage))?;
    Ok(stage.rate(seconds))
}

fn rsync(stage: &Stage) -> Result<Figure> {
    const PORT: u16 = 873;
    let folder = stage.folder.display();
    let configuration = stage.folder.join("rsyncd.conf");
    let text = format!(
        "use chroot = no\nuid = root\ngid = root\nreverse lookup = no\n[bench]\npath = {folder}\n"
    );
    fs::write(&configuration, text).context("failed to write rsyncd.conf")?;
    let line = format!("exec rsync --daemon --no-detach --config {}", configuration.display());
    let daemon = stage.start(0, line)?.listens(PORT)?;
    let head = stage.address(0)?;
    let watch = Watch::start();
    let pull = |node: usize| {
        let to = stage.dir(node);
        let from = format!("rsync://{head}/bench/tree");
        stage.start(node, format!("exec rsync -a --whole-file {from} {}/", to.display()))
    };
    let pulls = (1..=stage.nodes).map(pull).collect::<Result<Vec<_>>>()?;
    for pull in pulls {
        pull.finish()?;
    }
    let seconds = watch.read().as_secs_f64();
    drop(daemon);
    stage.compare(&copies(stage))?;
    Ok(stage.rate(seconds))
}

/// Returns the nodes' copies of the tree by tools that aren't confined to a node's root.
fn copies(stage: &Stage) -> Vec<PathBuf> {
    (1..=stage.nodes).map(|node| stage.dir(node).join("tree")).collect()
}
