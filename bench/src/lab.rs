//! `bench lab`: measures the time of building, checking and removing labs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::contest::Usage;
use super::kept::Head;
use super::peers::garland_program;
use super::result::Spread;
use super::{Bench, chain};
use xtask::clock::Watch;
use xtask::packages::{Need, install};

/// Packages that labs need.
const NEEDS: &[Need] = &[("iproute2", "ip"), ("nftables", "nft")];

/// The benchmark.
pub(crate) struct Labs;

/// A lab, and the limits of its times.
struct Case {
    name: &'static str,
    /// The arguments of `garland lab up`.
    words: &'static [&'static str],
    /// Whether `garland lab up` runs its self-check.
    checked: bool,
    /// Upper limits in seconds: of building (and checking) the lab, and of removing it.
    goals: [f64; 2],
}

const CASES: [Case; 2] = [
    Case {
        name: "switch of 64 nodes",
        words: &["--nodes", "63", "--rate", "100mbit"],
        checked: false,
        goals: [3.0, 2.0],
    },
    // 16 nodes, and one more namespace for the media.
    Case {
        name: "routed mesh, 17 namespaces, with its self-check",
        words: &["routed-mesh", "--check"],
        checked: true,
        goals: [15.0, 2.0],
    },
];

/// The JSON file.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    head: Head,
    rows: Vec<Row>,
}

/// The times of one lab.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    command: String,
    /// Whether `up_s` includes the self-check.
    checked: bool,
    /// Seconds of the whole commands `garland lab up` and `garland lab down`, one for each run.
    up_s: Vec<f64>,
    down_s: Vec<f64>,
    goals_s: [f64; 2],
    /// Number of runs that were repeated because the self-check found a fault.
    faults: usize,
}

impl Bench for Labs {
    fn usage(&self) -> Usage {
        Usage { name: "lab", options: vec![("--runs", "5", "runs of each lab")] }
    }

    fn run(&self, root: &Path, args: &[String]) -> Result<()> {
        let words = self.usage().parse(args)?;
        let runs = words.count("--runs")?;
        install(NEEDS)?;
        chain::build(root)?;
        let state = std::env::temp_dir().join(format!("garland-bench-lab-{}", std::process::id()));
        let rows = CASES.iter().map(|case| row(case, runs, &state)).collect::<Result<Vec<_>>>();
        let removed = fs::remove_dir_all(&state);
        let rows = rows?;
        removed.with_context(|| format!("failed to remove {}", state.display()))?;
        let report = Report { head: Head::new("garland.bench-lab/1", "lab", args), rows };
        report.head.keep(root, &report, markdown(&report)?, words.write)?;
        let missed = report.rows.iter().filter(|row| !row.holds());
        let missed: Vec<_> = missed.map(|row| row.name).collect();
        if !missed.is_empty() {
            bail!("slower than the goal: {}", missed.join(", "));
        }
        Ok(())
    }
}

fn row(case: &Case, runs: usize, state: &Path) -> Result<Row> {
    let mut row = Row {
        name: case.name,
        command: format!("garland lab up {}", case.words.join(" ")),
        checked: case.checked,
        up_s: Vec::new(),
        down_s: Vec::new(),
        goals_s: case.goals,
        faults: 0,
    };
    while row.up_s.len() < runs {
        let (up, code) = garland(state, &[&["lab", "up"], case.words].concat())?;
        let (down, ended) = garland(state, &["lab", "down"])?;
        eprintln!("{}: up {up:.2} s, down {down:.2} s", case.name);
        match (code, ended) {
            (0, 0) => {
                row.up_s.push(up);
                row.down_s.push(down);
            }
            // A busy machine can make a self-check fail, so try again; a faulty lab fails every time.
            (4, 0) if row.faults < runs => row.faults += 1,
            _ => bail!(
                "`{}` ended with exit code {code}, `garland lab down` with {ended}",
                row.command
            ),
        }
    }
    Ok(row)
}

/// Runs garland. Returns the time of the whole command in seconds and its exit code.
fn garland(state: &Path, words: &[&str]) -> Result<(f64, i32)> {
    let program = garland_program()?;
    let watch = Watch::start();
    let status = Command::new(program)
        .args(words)
        .env("GARLAND_STATE", state)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("failed to start garland {}", words.join(" ")))?;
    let seconds = watch.read().as_secs_f64();
    Ok((
        seconds,
        status
            .code()
            .with_context(|| format!("`garland {}` was killed: {status}", words.join(" ")))?,
    ))
}

impl Row {
    fn holds(&self) -> bool {
        let spreads = [&self.up_s, &self.down_s].map(|all| Spread::of(all.clone()));
        let below = |(spread, goal): (&Option<Spread>, f64)| {
            spread.is_some_and(|spread| spread.median < goal)
        };
        spreads.iter().zip(self.goals_s).all(below)
    }
}

fn markdown(report: &Report) -> Result<String> {
    let head = &report.head;
    let mut text = format!("# Building and removing labs: {}\n\n{head}\n", head.date);
    writeln!(text, "- times: seconds of the whole commands, median (minimum - maximum)\n")?;
    writeln!(text, "| lab | command | up, s | goal | down, s | goal | runs | repeated |")?;
    writeln!(text, "|---|---|---|---|---|---|---|---|")?;
    for row in &report.rows {
        let [up, down] = [&row.up_s, &row.down_s].map(|all| {
            Spread::of(all.clone()).map_or_else(
                || "-".to_owned(),
                |Spread { median, min, max }| format!("{median:.2} ({min:.2} - {max:.2})"),
            )
        });
        let ([up_goal, down_goal], runs) = (row.goals_s, row.up_s.len());
        writeln!(
            text,
            "| {} | `{}` | {up} | {up_goal} | {down} | {down_goal} | {runs} | {} |",
            row.name, row.command, row.faults
        )?;
    }
    Ok(text)
}
