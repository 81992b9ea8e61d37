//! `bench forecast`: compares the simulator's predictions with measurements in labs, for copies and farms.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::chain;
use super::kept::keep;
use super::machine::Machine;
use super::peers::garland_program;
use xtask::clock::today;
use xtask::packages::{Need, install};

/// Packages that the scenarios need.
const NEEDS: &[Need] = &[
    ("iproute2", "ip"),
    ("nftables", "nft"),
    ("netcat-openbsd", "nc"),
    ("fuse3", "fusermount3"),
    ("lame", "lame"),
];

pub(crate) const USAGE: &str = "\
cargo xtask bench forecast [options]

  --of NAME,...               only these scenarios
  --kept DIR                  run nothing: read the results of the last `garland scenario run --all`
                              from the subdirectories of DIR
  --no-write                  print only, leave benches/results/ alone";

/// The scenarios, and the subject of each.
const ALL: [Scenario; 6] = [
    ("dolly-2005", "a chain to 1, 2, 5, 10 and 20 nodes"),
    ("openmosix-copy-2004", "a copy over a hub, a switch and a star"),
    ("beowulf-pairs-1996", "pairs over bonded, routed and switched hubs"),
    ("pvfs2-cp-2007", "a stripe in operations, with pauses"),
    ("openmosix-2004", "a farm of 24 jobs over a hub, a switch and a star"),
    ("fifteen-of-24", "a farm on 16 and 24 nodes, from 1, 2, 4 and 8"),
];

/// Upper limits of the median and of the largest error, as shares of the emulated figure.
const GOALS: [f64; 2] = [0.05, 0.10];

/// The JSON file.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    date: String,
    command: String,
    machine: Machine,
    goals: [f64; 2],
    median: f64,
    worst: f64,
    scenarios: Vec<Section>,
}

/// A scenario and its predictions.
#[derive(Serialize)]
struct Section {
    name: &'static str,
    about: &'static str,
    predictions: Vec<Prediction>,
}

/// The fields of a `garland.scenario/2` result that are read.
#[derive(Deserialize)]
struct ScenarioResult {
    scenario: Named,
    predictions: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Clone, Deserialize, Serialize)]
struct Prediction {
    what: String,
    unit: String,
    predicted: f64,
    emulated: f64,
}

impl Prediction {
    /// Returns the error as a share of the emulated figure; above 0 if the prediction was too high.
    fn error(&self) -> f64 {
        self.predicted / self.emulated - 1.0
    }
}

/// Runs the benchmark.
///
/// # Errors
/// If an argument is wrong, a scenario cannot be run, or the errors exceed their limits.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let Options { wanted, kept, write } = options(args)?;
    let scenarios = match &kept {
        Some(folder) => all_kept(folder, &wanted)?,
        None => all_run(root, &wanted)?,
    };
    let (median, worst) = errors(&scenarios)?;
    let report = Report {
        schema: "garland.bench-forecast/1",
        date: today(),
        command: match kept {
            Some(_) => {
                "garland scenario run --all; cargo xtask bench forecast --kept DIR".to_owned()
            }
            None => format!("cargo xtask bench forecast {}", args.join(" ")).trim().to_owned(),
        },
        machine: Machine::here(),
        goals: GOALS,
        median,
        worst,
        scenarios,
    };
    let text = markdown(&report)?;
    println!("{text}");
    if write {
        keep(root, (&report.date, "forecast"), &report, text)?;
    }
    if median > GOALS[0] || worst > GOALS[1] {
        bail!(
            "goals missed: the median error is {:.1} %, the largest {:.1} %",
            median * 1e2,
            worst * 1e2
        );
    }
    Ok(())
}

/// The parsed arguments.
struct Options {
    wanted: Vec<Scenario>,
    kept: Option<PathBuf>,
    write: bool,
}

/// A scenario's name and subject.
type Scenario = (&'static str, &'static str);

fn options(args: &[String]) -> Result<Options> {
    let (mut wanted, mut kept, mut write) = (ALL.to_vec(), None, true);
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--no-write" => write = false,
            "--kept" => {
                let folder = words
                    .next()
                    .with_context(|| format!("`--kept` needs a directory\n\n{USAGE}"))?;
                kept = Some(PathBuf::from(folder));
            }
            "--of" => {
                let names = words
                    .next()
                    .with_context(|| format!("`--of` needs names of scenarios\n\n{USAGE}"))?;
                let find = |name: &str| ALL.into_iter().find(|(known, _)| *known == name);
                let find = |name| {
                    find(name).with_context(|| format!("unknown scenario `{name}`\n\n{USAGE}"))
                };
                wanted = names.split(',').map(find).collect::<Result<_>>()?;
            }
            _ => bail!("unknown argument `{word}`\n\n{USAGE}"),
        }
    }
    Ok(Options { wanted, kept, write })
}

/// Reads the predictions of the last run of each scenario below `directory`, whose subdirectories' names
/// sort by time.
fn all_kept(folder: &Path, wanted: &[Scenario]) -> Result<Vec<Section>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path().join("result.json"))).collect::<Result<_>>()?;
    runs.sort();
    let told =
        |path: &PathBuf| serde_json::from_slice::<ScenarioResult>(&fs::read(path).ok()?).ok();
    let all: Vec<ScenarioResult> = runs.iter().rev().filter_map(told).collect();
    let part = |&(name, about): &Scenario| {
        let found = all.iter().find(|told| told.scenario.name == name);
        let found =
            found.with_context(|| format!("{} contains no run of {name}", folder.display()))?;
        Ok(Section { name, about, predictions: found.predictions.clone() })
    };
    wanted.iter().map(part).collect()
}

/// Runs these scenarios one after another, and returns their predictions.
fn all_run(root: &Path, wanted: &[Scenario]) -> Result<Vec<Section>> {
    install(NEEDS)?;
    chain::build(root)?;
    let state = std::env::temp_dir().join(format!("garland-bench-forecast-{}", std::process::id()));
    let told = |&(name, about): &Scenario| {
        eprintln!("{name} ...");
        Ok(Section { name, about, predictions: predictions(name, &state)? })
    };
    let scenarios = wanted.iter().map(told).collect::<Result<Vec<_>>>();
    let removed = fs::remove_dir_all(&state);
    let scenarios = scenarios?;
    removed.with_context(|| format!("failed to remove {}", state.display()))?;
    Ok(scenarios)
}

fn predictions(name: &str, state: &Path) -> Result<Vec<Prediction>> {
    let output = Command::new(garland_program()?)
        .args(["scenario", "run", name, "--json"])
        .env("GARLAND_STATE", state)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start garland scenario run {name}"))?;
    // Code 4: the scenario was not reproduced; its predictions are valid.
    if !matches!(output.status.code(), Some(0 | 4)) {
        bail!("`garland scenario run {name}` failed: {}", output.status);
    }
    let told: ScenarioResult = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("failed to parse the result of garland scenario run {name}"))?;
    Ok(told.predictions)
}

/// Returns the median and the largest of the absolute errors.
fn errors(parts: &[Section]) -> Result<(f64, f64)> {
    let all = parts.iter().flat_map(|part| &part.predictions);
    let mut errors: Vec<f64> = all.map(|one| one.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let worst = *errors.last().context("the scenarios have no predictions")?;
    let (low, high) = (errors[(errors.len() - 1) / 2], errors[errors.len() / 2]);
    Ok((f64::midpoint(low, high), worst))
}

fn markdown(report: &Report) -> Result<String> {
    let mut text = format!("# Predictions and measurements in labs: {}\n\n", report.date);
    writeln!(text, "- command: `{}`", report.command)?;
    writeln!(text, "- machine: {}", report.machine)?;
    writeln!(
        text,
        "- all errors: median {:.1} % (goal {:.0}), largest {:.1} % (goal {:.0})",
        report.median * 1e2,
        report.goals[0] * 1e2,
        report.worst * 1e2,
        report.goals[1] * 1e2
    )?;
    for part in &report.scenarios {
        let (median, worst) = errors(std::slice::from_ref(part))?;
        writeln!(text, "\n## {}: {}\n", part.name, part.about)?;
        writeln!(text, "Median error {:.1} %, largest {:.1} %.\n", median * 1e2, worst * 1e2)?;
        writeln!(text, "| what | unit | predicted | emulated | error |")?;
        writeln!(text, "|---|---|--:|--:|--:|")?;
        for one in &part.predictions {
            writeln!(
                text,
                "| {} | {} | {:.2} | {:.2} | {:+.1} % |",
                one.what,
                one.unit,
                one.predicted,
                one.emulated,
                one.error() * 1e2
            )?;
        }
    }
    Ok(text)
}
