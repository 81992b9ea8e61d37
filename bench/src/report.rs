//! `bench report`: measures the time of making and of opening the report of a copy to twenty nodes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use garland_testkit::{Browser, Scratch, random_file};
use xtask::clock::Watch;

use super::contest::{self, Benchmark, Contest, Figure, Goal, Heading, Setting, Tool};
use super::peers::garland_program;

/// The size of the copied file in bytes.
const BYTES: u64 = 256 << 20;

/// JavaScript that returns the time of the first paint, in milliseconds since the page began to
/// load.
const FIRST_PAINT: &str = "new Promise((done) => new PerformanceObserver((list) => \
     done(list.getEntries()[0].startTime)).observe({ type: 'paint', buffered: true }))";

const CONTESTS: [Contest<Place>; 2] = [
    Contest {
        title: "A report of a copy to 20 nodes, with its whole timeline",
        unit: "s",
        goal: Goal::Below(2.0),
        tools: &[Tool {
            name: "garland",
            about: "`garland report`, the whole command",
            need: None,
            measure: made,
        }],
    },
    Contest {
        title: "The same, opened",
        unit: "s",
        goal: Goal::Below(1.0),
        tools: &[Tool {
            name: "garland",
            about: "the first paint in a headless chromium that has just been started",
            need: None,
            measure: seen,
        }],
    },
];

/// A state directory with the run of the copy.
pub(crate) struct Place {
    scratch: Scratch,
}

impl Place {
    /// Copies a file to twenty nodes of a lab, and removes the lab.
    fn make(_: &Setting<'_>) -> Result<Self> {
        let place = Self { scratch: Scratch::new("bench-report") };
        random_file(&place.scratch.path("file"), BYTES, 20);
        place.garland("lab up --nodes 20 --rate 1gbit")?;
        let copied = place.garland("cp --quiet file lab:n[1-20]:/file");
        place.garland("lab down")?;
        copied?;
        // The report must exist even if `--only` leaves out the contest that makes it.
        made(&place)?;
        Ok(place)
    }

    fn garland(&self, words: &str) -> Result<()> {
        let mut command = Command::new(garland_program()?);
        command.args(words.split(' ')).current_dir(self.scratch.folder());
        let output = command.env("GARLAND_STATE", self.scratch.state()).output()?;
        if !output.status.success() {
            bail!("`garland {words}` failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.scratch.path("report.html")
    }
}

fn made(place: &Place) -> Result<Figure> {
    let watch = Watch::start();
    place.garland("report -o report.html")?;
    Ok(Figure::from_mean(watch.read().as_secs_f64()))
}

fn seen(place: &Place) -> Result<Figure> {
    let mut browser = Browser::start(&place.scratch, 1200, 900);
    browser.open(&place.file());
    let painted = browser.asked(FIRST_PAINT).as_f64();
    browser.end(&place.scratch);
    Ok(Figure::from_mean(painted.context("chromium did not report a first paint")? / 1e3))
}

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Place> = Benchmark {
    bench: Heading { schema: "garland.bench-report/1", name: "report", title: "Reports" },
    rounds: "5",
    options: &[],
    needs: &[("iproute2", "ip"), ("chromium", "chromium")],
    sandboxed: false,
    time: Duration::from_secs(60),
    places: &[contest::Place { make: Place::make, contests: &CONTESTS }],
    notes: |_, place| {
        let size = fs::metadata(place.file()).context("failed to inspect the report")?.len();
        Ok(vec![format!(
            "a copy of {} MiB to 20 nodes of a lab at 1 Gbit/s; its report has {size} bytes",
            BYTES >> 20
        )])
    },
};

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
