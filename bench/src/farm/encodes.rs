//! A farm of encodes: three nodes of a lab, each with half a processor, encode files through a mount. The
//! time is compared with the lower bound for jobs that cannot be split.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Place;
use crate::contest::{Figure, Tool};

/// Number of encodes: eight for each node.
const JOBS: usize = 24;

/// Bytes of each sound file: half a minute of 16-bit stereo at 44 100 samples per second.
const SOUND: usize = 30 * 44_100 * 4;

/// The lab's name and topology.
const LAB: &str = "encodes";
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

/// Builds the lab, and writes the sound files.
pub(super) fn prepare(place: &Place) -> Result<()> {
    let topology = place.folder.join("encodes.toml");
    fs::write(&topology, TOPOLOGY).context("failed to write the encodes' topology")?;
    place.garland(&["lab", "up", &topology.display().to_string(), "--lab", LAB])?;
    let first = sound(&place.folder, 0);
    write_noise(&first).with_context(|| format!("failed to create {first}"))?;
    (1..JOBS).try_for_each(|at| {
        let next = sound(&place.folder, at);
        fs::hard_link(&first, &next).with_context(|| format!("failed to create {next}"))
    })
}

/// Removes the lab.
pub(super) fn end(place: &Place) -> Result<()> {
    place.garland(&["lab", "down", "--lab", LAB]).map(drop)
}

fn sound(folder: &Path, at: usize) -> String {
    folder.join(format!("sound{at:02}.pcm")).display().to_string()
}

/// Writes noise, the most work for an encoder. Every call writes equal bytes.
fn write_noise(path: &str) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut noise: u32 = 1;
    for _ in 0..SOUND / 2 {
        // A linear congruential generator (Numerical Recipes).
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        file.write_all(&noise.to_le_bytes()[2..])?;
    }
    file.flush()
}

fn encode(place: &Place) -> Result<Figure> {
    let sounds: Vec<String> = (0..JOBS).map(|at| sound(&place.folder, at)).collect();
    let words = ["farm", "run", "lab:n[1-3]", "--lab", LAB, "--slots", "1", "--data", "mount"];
    let more = ["--overwrite", "--out", "{.}.mp3", "--json", "--"];
    let lame = ["lame", "-r", "--quiet", "-s", "44.1", "-q", "0", "-b", "320"];
    let files = ["{in}", "{out}", ":::"];
    let sounds = sounds.iter().map(String::as_str);
    let words: Vec<&str> =
        [&words[..], &more, &lame, &files].concat().into_iter().chain(sounds).collect();
    let said = place.garland(&words)?;
    let result: Value =
        serde_json::from_slice(&said).context("failed to parse the result of garland farm run")?;
    let seconds =
        |value: &Value| value.as_f64().context("the result of garland farm run lacks a time");
    Ok(Figure::of(seconds(&result["total"])? / seconds(&result["losses"]["whole_jobs"])?))
}
