//! `screenshots`: makes the pictures of reports in `docs/images`, after it has run the commands
//! they show.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use garland_testkit::{Browser, Scratch, random_file};
use serde_json::{Value, json};

/// The names of runs and their commands, in the order of execution.
const STEPS: &[(&str, &str)] = &[
    ("", "lab up --nodes 8 --rate 100mbit"),
    ("copy", "cp --quiet file lab:n[1-8]:/file"),
    ("ping", "ping --sweep lab:n[1-2]"),
    ("balance", "balance lab:n[1-8] --sizes 2MB,16MB"),
    ("", "lab down"),
    ("", "lab up farm.toml"),
    ("farm1", "farm run jobs lab:n[1-1] --slots 1 --quiet"),
    ("farm2", "farm run jobs lab:n[1-2] --slots 1 --quiet"),
    ("farm4", "farm run jobs lab:n[1-4] --slots 1 --quiet"),
    ("farm8", "farm run jobs lab:n[1-8] --slots 1 --quiet"),
    ("", "lab down"),
    ("", "lab up --nodes 8 --rate 100mbit --fault slow:n5/eth0=40mbit"),
    ("slow", "cp --quiet file lab:n[1-8]:/file"),
    ("wires", "wires lab:n[1-8]"),
    ("", "lab down"),
    ("", "lab up rails.toml"),
    ("rails", "cp --quiet file lab:n[1-4]:/file"),
    ("", "lab down"),
    ("", "lab up racks.toml"),
    ("racks", "cp --quiet file lab:n[1-6]:/file"),
    ("", "lab down"),
    ("scenario", "scenario run beowulf-pairs-1996 --scale 0.05"),
];

const RAILS: &str = "version = 1\nname = \"two-rails\"\n[topology]\nshape = \"rail\"\nnodes = 5\n\
     rails = 2\nrate = \"100mbit\"\n";

/// Two racks, joined by wires of half of the rate.
const RACKS: &str = "version = 1\nname = \"two-racks\"\n[topology]\nshape = \"leaf-spine\"\n\
     nodes = \"n[0-6]\"\nleaves = 2\nspines = 1\nrate = \"100mbit\"\nuplink = \"50mbit\"\n";

/// A topology whose nodes have a share of a processor each, so that eight of them fit on two.
const FARM: &str = "version = 1\nname = \"switch100\"\n[topology]\nshape = \"switch\"\nnodes = \"n[0-8]\"\n\
     rate = \"100mbit\"\n[[topology.node]]\nnames = \"n[1-8]\"\ncpu = 0.2\n";

/// A job of about half a second on a fifth of a processor.
const JOB: &str = "i=0; while [ $i -lt 80000 ]; do i=$((i+1)); done\n";

/// A picture of a part of a report: the picture's name, the runs, the beginning of the part's
/// title.
type Shot = (&'static str, &'static [&'static str], &'static str);

const SHOTS: &[Shot] = &[
    ("answer", &["slow"], "file to 8 nodes"),
    ("chain", &["slow"], "The way of the bytes"),
    ("cables", &["racks"], "The way of the bytes"),
    ("timeline", &["copy"], "Timeline"),
    ("ledger", &["slow"], "Where the time went"),
    ("rates", &["copy"], "Rates over time"),
    ("topology", &["copy"], "Topology"),
    ("nics", &["rails"], "Rates over time"),
    ("pairs", &["wires"], "Pairs"),
    ("latency", &["ping"], "lab:n1 and lab:n2"),
    ("balance", &["balance"], "Balance of disks"),
    ("farm", &["farm8"], "The farm beside"),
    ("gantt", &["farm8"], "Timeline"),
    ("farms", &["farm1", "farm2", "farm4", "farm8"], "Farms beside"),
    ("forecast", &["farm1", "farm2", "farm4", "farm8"], "Forecast"),
    ("two", &["copy", "slow"], "Side by side"),
    ("paths", &["copy", "slow"], "Critical paths"),
    ("scenario", &["scenario"], "beowulf-pairs-1996"),
];

/// Variants of a picture: suffix of the name, dark mode, width, and whether the docs contain it.
const LOOKS: [(&str, bool, u32, bool); 4] = [
    ("light", false, 1000, true),
    ("dark-narrow", true, 390, true),
    ("dark", true, 1000, false),
    ("light-narrow", false, 390, false),
];

/// Largest height of a picture, in pixels.
const TALL: f64 = 800.0;

/// Makes the pictures in `directory` with the built program; all variants of each if `all`.
///
/// # Errors
/// If a run fails, or a report lacks a part.
pub(crate) fn make(program: &Path, folder: &Path, all: bool) -> Result<()> {
    let scratch = Scratch::new("screenshots");
    random_file(&scratch.path("file"), 64 << 20, 1);
    fs::write(scratch.path("jobs"), JOB.repeat(40))?;
    fs::write(scratch.path("rails.toml"), RAILS)?;
    fs::write(scratch.path("farm.toml"), FARM)?;
    fs::write(scratch.path("racks.toml"), RACKS)?;
    let garland = |words: &[&str]| -> Result<Value> {
        let mut command = Command::new(program);
        command.args(words).arg("--json").current_dir(scratch.folder());
        let output = command.env("GARLAND_STATE", scratch.state()).output()?;
        // The self-check of a lab with an injected fault is expected to fail.
        if !matches!(output.status.code(), Some(0 | 4)) {
            bail!(
                "`garland {}` failed: {}",
                words.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        serde_json::from_slice(&output.stdout)
            .context("failed to parse the result of garland as JSON")
    };
    let mut runs: HashMap<&str, String> = HashMap::new();
    for (name, words) in STEPS {
        eprintln!("garland {words}");
        let told = garland(&words.split(' ').collect::<Vec<_>>());
        if told.is_err() {
            // A failed run may have left a lab: remove it.
            let _ = garland(&["lab", "down"]);
        }
        let told = told?;
        let run = told["run"].as_str().unwrap_or_default().to_owned();
        runs.insert(name, run);
    }
    let mut browser = Browser::start(&scratch, 1000, 900);
    browser.call("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
    let taken = photograph(&mut browser, &scratch, &runs, folder, all, &garland);
    browser.end(&scratch);
    taken
}

/// Makes the pictures of the runs' reports in `folder`; all variants of each if `all`.
fn photograph(
    browser: &mut Browser,
    scratch: &Scratch,
    runs: &HashMap<&str, String>,
    folder: &Path,
    all: bool,
    garland: &dyn Fn(&[&str]) -> Result<Value>,
) -> Result<()> {
    for (name, of, title) in SHOTS {
        let of: Vec<&str> = of.iter().map(|run| runs[run].as_str()).collect();
        garland(&[&["report", "-o", "report.html"], &of[..]].concat())?;
        for (look, dark, width, stays) in LOOKS {
            if stays || all {
                browser.in_the_dark(dark);
                let png = shot(browser, &scratch.path("report.html"), title, width)?;
                fs::write(folder.join(format!("report-{name}-{look}.png")), png)?;
            }
        }
    }
    Ok(())
}

/// Returns a picture of the part of a report whose title begins with `title`, in a window of this
/// width.
fn shot(browser: &mut Browser, report: &Path, title: &str, width: u32) -> Result<Vec<u8>> {
    let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    browser.open(report);
    let words = format!(
        "(() => {{ const head = [...document.querySelectorAll('h1, h2, h3')].find((head) => head.textContent.startsWith('{title}')); \
         const fold = head?.closest('details'); if (fold) fold.open = true; \
         const whose = document.querySelector('.chart select, select'); \
         if ('{title}' === 'Rates over time' && whose) {{ whose.selectedIndex = Math.min(2, whose.length - 1); whose.dispatchEvent(new Event('change')); }} \
         const box = head?.parentElement.getBoundingClientRect(); \
         return box ? [box.left + scrollX, box.top + scrollY, box.width, box.height] : null; }})()"
    );
    // The first call makes the page draw the selection, the second one measures the result.
    browser.asked(&words);
    let place = browser.asked(&words);
    let number = |at: usize| {
        place[at].as_f64().with_context(|| format!("the report has no part titled {title}"))
    };
    let edge = 16.0;
    let left = (number(0)? - 8.0).max(0.0);
    let top = (number(1)? - 4.0).max(0.0);
    let width = number(2)? + edge;
    let height = number(3)?.min(TALL) + edge;
    Ok(browser.picture(left, top, width, height))
}
