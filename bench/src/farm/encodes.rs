//! A farm of encodes: three nodes of a lab, each with half a processor, encode files through a
//! mount. The time is compared with the lower bound for jobs that cannot be split.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::place::Place;
use crate::cluster::Cluster;
use crate::contest::{Figure, Tool};
use crate::source;

/// Number of encodes: eight for each node.
const JOBS: usize = 24;

/// Bytes of each sound file: half a minute of 16-bit stereo at 44 100 samples per second.
const SOUND: u64 = 30 * 44_100 * 4;

/// The lab's name and topology.
const LAB: &str = "bench-encodes";
const TOPOLOGY: &str = "version = 1
[topology]
shape = \"switch\"
nodes = \"srv,n[1-3]\"
rate = \"1gbit\"
[[topology.node]]
names = \"n[1-3]\"
cpu = 0.5
";

/// Measures the time of all encodes, divided by the lower bound for jobs that cannot be split.
pub(super) const ENCODES: Tool<Place> = Tool {
    name: "garland-encodes",
    about: "`garland farm run NODES --data mount -- lame ... ::: FILES`",
    need: None,
    measure: encode,
};

/// Builds the lab, and writes the sound files into its directory.
pub(super) fn prepare() -> Result<Cluster> {
    let mut cluster = Cluster::in_folder(&std::env::temp_dir(), LAB)?;
    cluster.raise(TOPOLOGY)?;
    let first = sound(&cluster.folder, 0);
    // Noise is the most work for an encoder.
    source::write(Path::new(&first), SOUND)?;
    for at in 1..JOBS {
        let next = sound(&cluster.folder, at);
        fs::hard_link(&first, &next).with_context(|| format!("failed to create {next}"))?;
    }
    Ok(cluster)
}

fn sound(folder: &Path, at: usize) -> String {
    folder.join(format!("sound{at:02}.pcm")).display().to_string()
}

fn encode(Place { encodes: cluster, .. }: &Place) -> Result<Figure> {
    let sounds: Vec<String> = (0..JOBS).map(|at| sound(&cluster.folder, at)).collect();
    let words = ["farm", "run", "lab:n[1-3]", "--lab", LAB, "--slots", "1", "--data", "mount"];
    let more = ["--overwrite", "--out", "{.}.mp3", "--json", "--"];
    let lame = ["lame", "-r", "--quiet", "-s", "44.1", "-q", "0", "-b", "320"];
    let files = ["{in}", "{out}", ":::"];
    let sounds = sounds.iter().map(String::as_str);
    let words: Vec<&str> =
        [&words[..], &more, &lame, &files].concat().into_iter().chain(sounds).collect();
    let (_, said) = cluster.garland(&words)?;
    let result: Value =
        serde_json::from_slice(&said).context("failed to parse the result of garland farm run")?;
    let seconds =
        |value: &Value| value.as_f64().context("the result of garland farm run lacks a time");
    Ok(Figure::from_mean(seconds(&result["total"])? / seconds(&result["losses"]["whole_jobs"])?))
}
