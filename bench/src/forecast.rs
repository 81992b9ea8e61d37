//! `bench forecast`: compares the simulator's predictions with measurements in labs, for copies and farms.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::contest::Usage;
use super::kept::Head;
use super::peers::garland_program;
use super::{Runnable, chain};
use xtask::packages::{Need, install};

/// Packages that the scenarios need.
const NEEDS: &[Need] = &[
    ("iproute2", "ip"),
    ("nftables", "nft"),
    ("netcat-openbsd", "nc"),
    ("fuse3", "fusermount3"),
    ("lame", "lame"),
];

/// The benchmark.
pub(crate) struct Forecasts;

/// The scenarios, and the subject of each.
const ALL: [Scenario; 8] = [
    ("dolly-2005", "a chain to 1, 2, 5, 10 and 20 nodes"),
    ("openmosix-copy-2004", "a copy over a hub, a switch and a star"),
    ("beowulf-pairs-1996", "pairs over bonded, routed and switched hubs"),
    ("pvfs2-cp-2007", "a stripe in operations, with pauses"),
    ("openmosix-2004", "a farm of 24 jobs over a hub, a switch and a star, and on a fourth node"),
    ("fifteen-of-24", "a farm on 16, 20 and 24 nodes, from 1, 2, 4 and 8"),
    ("p2p-16", "a farm on 8 and 15 nodes of a star, from 1, 2 and 4"),
    ("p2p-joined", "the same on two joined stars"),
];

/// Upper limits of the median and of the largest error, as shares of the emulated figure.
const GOALS: [f64; 2] = [0.05, 0.10];

/// The JSON file.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    head: Head,
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

/// The fields of a `garland.scenario/3` result that are read.
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

/// A scenario's name and subject.
type Scenario = (&'static str, &'static str);

impl Runnable for Forecasts {
    fn usage(&self) -> Usage {
        let kept = "run nothing: read the results of the last `garland scenario run --all`\n\
                    \x20                             from the subdirectories of DIR";
        let options = vec![("--of", "NAME,...", "only these scenarios"), ("--kept", "DIR", kept)];
        Usage { name: "forecast", options }
    }

    fn run(&self, root: &Path, args: &[String]) -> Result<()> {
        let words = self.usage().parse(args)?;
        let wanted = match words.given("--of") {
            Some(_) => words.parsed("--of", |names| names.split(',').map(scenario).collect())?,
            None => ALL.to_vec(),
        };
        let mut head = Head::new("garland.bench-forecast/1", "forecast", args);
        let scenarios = match words.given("--kept") {
            Some(folder) => {
                "garland scenario run --all; cargo xtask bench forecast --kept DIR"
                    .clone_into(&mut head.command);
                all_kept(Path::new(folder), &wanted)?
            }
            None => all_run(root, &wanted)?,
        };
        let (median, worst) = errors(&scenarios)?;
        let report = Report { head, goals: GOALS, median, worst, scenarios };
        report.head.keep(root, &report, markdown(&report)?, words.write)?;
        if median > GOALS[0] || worst > GOALS[1] {
            bail!(
                "goals missed: the median error is {:.1} %, the largest {:.1} %",
                median * 1e2,
                worst * 1e2
            );
        }
        Ok(())
    }
}

fn scenario(name: &str) -> Result<Scenario> {
    let found = ALL.into_iter().find(|(known, _)| *known == name);
    found.with_context(|| format!("unknown scenario `{name}`"))
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
        .args(["scenario", "run", name, "--quick", "--json"])
        .env("GARLAND_STATE", state)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start garland scenario run {name}"))?;
    // Code 4: a file differed from its source; the predictions are valid.
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
    let head = &report.head;
    let mut text = format!("# Predictions and measurements in labs: {}\n\n{head}\n", head.date);
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
