//! A farm of encodes with mounted files on three nodes of a lab, each with half a processor, compared with
//! the bound of whole jobs.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Place;
use crate::contest::Tool;

/// Number of encodes: eight for each node.
const JOBS: usize = 24;

/// Bytes of sound of each: half a minute of 16-bit stereo at 44 100 samples per second.
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

/// The time of all encodes as a multiple of the bound of whole jobs.
pub(super) const ENCODES: Tool<Place> = Tool {
    name: "garland-encodes",
    about: "`garland farm run NODES --data mount -- lame ... ::: FILES`",
    need: None,
    measure: encode,
};

/// Builds the lab, and writes the sound files.
pub(super) fn prepare(place: &Place) -> Result<()> {
    let topology = place.folder.join("encodes.toml");
    fs::write(&topology, TOPOLOGY).context("write the encodes' topology")?;
    place.garland(&["lab", "up", &topology.display().to_string(), "--lab", LAB])?;
    let first = sound(&place.folder, 0);
    write_noise(&first).with_context(|| format!("make {first}"))?;
    (1..JOBS).try_for_each(|at| {
        let next = sound(&place.folder, at);
        fs::hard_link(&first, &next).with_context(|| format!("make {next}"))
    })
}

/// Takes the lab down.
pub(super) fn end(place: &Place) -> Result<()> {
    place.garland(&["lab", "down", "--lab", LAB]).map(drop)
}

fn sound(folder: &Path, at: usize) -> String {
    folder.join(format!("sound{at:02}.pcm")).display().to_string()
}

/// Writes noise, which gives an encoder its full work; equal at every call.
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

fn encode(place: &Place) -> Result<f64> {
    let sounds: Vec<String> = (0..JOBS).map(|at| sound(&place.folder, at)).collect();
    let words = ["farm", "run", "lab:n[1-3]", "--lab", LAB, "--slots", "1", "--data", "mount"];
    let more = ["--overwrite", "--out", "{.}.mp3", "--json", "--"];
    let lame = ["lame", "-r", "--quiet", "-s", "44.1", "-q", "0", "-b", "320"];
    let files = ["{in}", "{out}", ":::"];
    let sounds = sounds.iter().map(String::as_str);
    let words: Vec<&str> =
        [&words[..], &more, &lame, &files].concat().into_iter().chain(sounds).collect();
    let said = place.garland(&words)?;
    let result: Value = serde_json::from_slice(&said).context("read what the farm says")?;
    let seconds = |value: &Value| value.as_f64().context("a farm tells its seconds");
    Ok(seconds(&result["total"])? / seconds(&result["losses"]["whole_jobs"])?)
}
