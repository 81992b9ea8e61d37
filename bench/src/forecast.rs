//! `bench forecast`: compares the simulator's predictions with measurements in labs, for copies and
//! farms.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use xtask::packages::{Need, install};

use super::chain;
use super::contest::Usage;
use super::kept::Head;
use super::peers::garland_program;
use super::runnable::Runnable;

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

/// Upper limits of the median and of the largest error, as shares of the emulated figure.
const GOALS: [f64; 2] = [0.05, 0.15];

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
    name: String,
    /// The question that it asks.
    about: String,
    predictions: Vec<Prediction>,
}

/// A scenario's name and question.
#[derive(Clone)]
struct Scenario {
    name: String,
    about: String,
}

/// The fields of a scenario's file that are read.
#[derive(Deserialize)]
struct ScenarioFile {
    question: String,
    job: Option<toml::Table>,
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
    /// Whether the emulation was not what it says, so that the prediction does not count.
    #[serde(default)]
    void: bool,
}

impl Prediction {
    /// Returns the error as a share of the emulated figure; above 0 if the prediction was too high.
    fn error(&self) -> f64 {
        self.predicted / self.emulated - 1.0
    }
}

impl Runnable for Forecasts {
    fn usage(&self) -> Usage {
        let kept = "run nothing: read the results of the last `garland scenario run --all`\n\
                    \x20                             from the subdirectories of DIR";
        let options = vec![("--of", "NAME,...", "only these scenarios"), ("--kept", "DIR", kept)];
        Usage { name: "forecast", options }
    }

    fn run(&self, root: &Path, args: &[String]) -> Result<()> {
        let words = self.usage().parse(args)?;
        let all = with_jobs(root)?;
        let of = |name: &str| {
            let found = all.iter().find(|scenario| scenario.name == name).cloned();
            found.with_context(|| format!("unknown scenario `{name}`"))
        };
        let wanted = match words.given("--of") {
            Some(_) => words.parsed("--of", |names| names.split(',').map(of).collect())?,
            None => all.clone(),
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
        let (median, worst) = errors(&scenarios).context("no prediction counts")?;
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

/// Returns all scenarios that have a job, by name: none is left out.
fn with_jobs(root: &Path) -> Result<Vec<Scenario>> {
    let folder = root.join("scenarios");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let mut all = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let text = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let file: ScenarioFile =
            toml::from_str(&text).with_context(|| format!("failed to parse {}", path.display()))?;
        let name = path.file_stem().context("a file has a name")?.to_string_lossy().into_owned();
        all.extend(file.job.map(|_| Scenario { name, about: file.question }));
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Reads the predictions of the last run of each scenario below `directory`, whose subdirectories'
/// names sort by time.
fn all_kept(folder: &Path, wanted: &[Scenario]) -> Result<Vec<Section>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path().join("result.json"))).collect::<Result<_>>()?;
    runs.sort();
    let told =
        |path: &PathBuf| serde_json::from_slice::<ScenarioResult>(&fs::read(path).ok()?).ok();
    let all: Vec<ScenarioResult> = runs.iter().rev().filter_map(told).collect();
    let part = |Scenario { name, about }: &Scenario| {
        let found = all.iter().find(|told| told.scenario.name == *name);
        let found =
            found.with_context(|| format!("{} contains no run of {name}", folder.display()))?;
        let name = name.clone();
        let about = about.clone();
        Ok(Section { name, about, predictions: found.predictions.clone() })
    };
    wanted.iter().map(part).collect()
}

/// Runs these scenarios one after another, and returns their predictions.
fn all_run(root: &Path, wanted: &[Scenario]) -> Result<Vec<Section>> {
    install(NEEDS)?;
    chain::build(root)?;
    let state = std::env::temp_dir().join(format!("garland-bench-forecast-{}", std::process::id()));
    let told = |Scenario { name, about }: &Scenario| {
        eprintln!("{name} ...");
        let predictions = read_predictions(name, &state)?;
        Ok(Section { name: name.clone(), about: about.clone(), predictions })
    };
    let scenarios = wanted.iter().map(told).collect::<Result<Vec<_>>>();
    let removed = fs::remove_dir_all(&state);
    let scenarios = scenarios?;
    removed.with_context(|| format!("failed to remove {}", state.display()))?;
    Ok(scenarios)
}

fn read_predictions(name: &str, state: &Path) -> Result<Vec<Prediction>> {
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

/// Returns the median and the largest of the absolute errors; `None` if no prediction counts.
fn errors(parts: &[Section]) -> Option<(f64, f64)> {
    let all = parts.iter().flat_map(|part| &part.predictions).filter(|one| !one.void);
    let mut errors: Vec<f64> = all.map(|one| one.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let worst = *errors.last()?;
    let low = errors[(errors.len() - 1) / 2];
    let high = errors[errors.len() / 2];
    Some((f64::midpoint(low, high), worst))
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
        writeln!(text, "\n## {}: {}\n", part.name, part.about)?;
        let Some((median, worst)) = errors(std::slice::from_ref(part)) else {
            writeln!(text, "No prediction counts.")?;
            continue;
        };
        writeln!(text, "Median error {:.1} %, largest {:.1} %.\n", median * 1e2, worst * 1e2)?;
        writeln!(text, "| what | unit | predicted | emulated | error |")?;
        writeln!(text, "|---|---|--:|--:|--:|")?;
        for one in &part.predictions {
            writeln!(
                text,
                "| {} | {} | {:.2} | {:.2} | {:+.1} %{} |",
                one.what,
                one.unit,
                one.predicted,
                one.emulated,
                one.error() * 1e2,
                if one.void { ", void" } else { "" }
            )?;
        }
    }
    Ok(text)
}
