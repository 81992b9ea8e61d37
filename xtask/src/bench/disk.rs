//! `garland disk` beside fio: the same jobs on the same disk, in turns, so that both meet the same
//! mishaps.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::machine::{Machine, version};
use super::peers::garland_program;
use super::result::Spread;
use crate::ci::{Need, install};
use crate::clock::today;

const NEEDS: &[Need] = &[("fio", "fio")];

/// What can be said.
pub(crate) const USAGE: &str = "\
cargo xtask bench disk [FOLDER [SIZE [RUNS]]]

  FOLDER   on the disk to measure (target/bench-disk)
  SIZE     bytes of the file, such as 2GiB (1GiB)
  RUNS     turns of each (5)";

/// Seconds of a random measurement.
const SECONDS: &str = "4";

/// A job of both tools: direction, pattern, way, depth, and fio's words for it.
type Job = (&'static str, &'static str, &'static str, u64, &'static [&'static str]);

const JOBS: [Job; 8] = [
    ("write", "sequential", "buffered", 1, &["--bs=1M", "--ioengine=psync", "--end_fsync=1"]),
    ("read", "sequential", "buffered", 1, &["--bs=1M", "--ioengine=psync", "--invalidate=1"]),
    ("write", "sequential", "direct", 8, &["--bs=1M", "--ioengine=io_uring", "--direct=1"]),
    ("read", "sequential", "direct", 8, &["--bs=1M", "--ioengine=io_uring", "--direct=1"]),
    ("read", "random", "direct", 1, &["--bs=4k", "--ioengine=io_uring", "--direct=1"]),
    ("read", "random", "direct", 4, &["--bs=4k", "--ioengine=io_uring", "--direct=1"]),
    ("write", "random", "direct", 1, &["--bs=4k", "--ioengine=io_uring", "--direct=1"]),
    ("write", "random", "stable", 1, &["--bs=4k", "--ioengine=psync", "--fdatasync=1"]),
];

/// Runs it with these words.
///
/// # Errors
/// When a tool is missing or failed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    install(NEEDS)?;
    let given = |at: usize, or: &str| args.get(at).map_or(or, String::as_str).to_owned();
    let folder = given(0, &root.join("target/bench-disk").display().to_string());
    let (size, runs) = (given(1, "1GiB"), given(2, "5").parse::<usize>()?.max(1));
    fs::create_dir_all(&folder).with_context(|| format!("make {folder}"))?;
    let mut rates = vec![[Vec::new(), Vec::new()]; JOBS.len()];
    for turn in 1..=runs {
        println!("turn {turn} of {runs}");
        let result = garland(&folder, &size)?;
        for (job, rates) in JOBS.iter().zip(&mut rates) {
            rates[0].push(found(&result, job)?);
            rates[1].push(fio(&folder, &size, job)?);
        }
        let file = fio_file(&folder);
        fs::remove_file(&file).with_context(|| format!("remove {}", file.display()))?;
    }
    let text = table(&folder, &size, runs, rates);
    println!("{text}");
    let path = root.join(format!("benches/results/{}-disk.md", today()));
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

fn garland(folder: &str, size: &str) -> Result<Value> {
    let arguments = ["disk", "--json", "local1", "--depth", "64", "--local-root", folder];
    let time = format!("{SECONDS}s");
    let output = Command::new(garland_program()?)
        .args(arguments)
        .args(["--size", size, "--time", &time])
        .env("GARLAND_STATE", Path::new(folder).join("state"))
        .output()
        .context("start garland disk")?;
    if !output.status.success() {
        bail!("garland disk: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("read what garland disk found")
}

/// The rate of a job in bytes per second.
fn found(result: &Value, &(direction, pattern, way, depth, _): &Job) -> Result<f64> {
    let all = result["nodes"][0]["measurements"].as_array().context("no measurements")?;
    let is_it = |one: &&Value| {
        (&one["direction"], &one["pattern"]) == (&direction.into(), &pattern.into())
            && (&one["way"], &one["depth"]) == (&way.into(), &depth.into())
    };
    let rate = all.iter().find(is_it).and_then(|one| one["rate"].as_f64());
    rate.with_context(|| format!("garland didn't measure {pattern} {direction} {way} at {depth}"))
}

fn fio(folder: &str, size: &str, &(direction, pattern, _, depth, words): &Job) -> Result<f64> {
    let file = fio_file(folder);
    let random = pattern == "random";
    let kind = format!("--rw={}{direction}", if random { "rand" } else { "" });
    let output = Command::new("fio")
        .args(["--name=job", "--output-format=json", &kind, &format!("--size={size}")])
        .args([format!("--filename={}", file.display()), format!("--iodepth={depth}")])
        .arg(format!("--runtime={SECONDS}"))
        .args(words)
        .output()
        .context("start fio")?;
    if !output.status.success() {
        bail!("fio {kind}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let result: Value = serde_json::from_slice(&output.stdout).context("read what fio found")?;
    result["jobs"][0][direction]["bw_bytes"].as_f64().context("fio told no rate")
}

/// fio's file, laid out by its first job and used by all.
fn fio_file(folder: &str) -> PathBuf {
    Path::new(folder).join("fio")
}

fn table(folder: &str, size: &str, runs: usize, rates: Vec<[Vec<f64>; 2]>) -> String {
    let Machine { processor, cores, memory_mib, kernel, system, .. } = Machine::here();
    let mut text = format!(
        "# Disks: garland beside {}, {}\n\n{processor}, {cores} cores, {memory_mib} MiB, Linux \
         {kernel}, {system}. A file of {size} below `{folder}`, {runs} turns of both; medians, least \
         and most, in MB/s.\n\n| job | depth | garland | fio | ratio |\n|---|--:|--:|--:|--:|\n",
        version(&["fio", "--version"]),
        today(),
    );
    for ((direction, pattern, way, depth, _), [ours, theirs]) in JOBS.into_iter().zip(rates) {
        let (Some(ours), Some(theirs)) = (Spread::of(ours), Spread::of(theirs)) else { continue };
        let [one, two] = [ours, theirs].map(|Spread { median, min, max }| {
            format!("{:.1} ({:.1} to {:.1})", median / 1e6, min / 1e6, max / 1e6)
        });
        let ratio = ours.median / theirs.median;
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "| {pattern} {direction}, {way} | {depth} | {one} | {two} | {ratio:.2} |"
        );
    }
    text
}
