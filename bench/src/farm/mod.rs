//! `bench farm`: empty jobs by `garland farm run` and by other tools, to measure the overhead per job; and
//! jobs that compute, whose time is compared with the lower bound for jobs that cannot be split.

mod encodes;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::contest::{self, Benchmark, Contest, Figure, Goal, Heading, Setting, Tool};
use super::peers::garland_program;
use xtask::clock::Watch;

/// Node lists: agents on this machine, and the nodes of the benchmark's lab.
const HERE: &str = "local[1-2]";
const LAB: &str = "lab:n[1-2]";

/// Upper limit of the encodes' time divided by the lower bound for jobs that cannot be split: an efficiency
/// of 95 %.
const ENCODES: f64 = 1.05;

/// The directory of the measurements, and the number of empty jobs.
pub(crate) struct Place {
    folder: PathBuf,
    jobs: usize,
}

impl Place {
    /// Creates the directory, writes the list of jobs, and builds both labs.
    fn make(setting: &Setting<'_>) -> Result<Self> {
        let jobs = setting.words.count("--jobs")?;
        let name = format!("garland-bench-farm-{}", std::process::id());
        let place = Self { folder: std::env::temp_dir().join(name), jobs };
        fs::create_dir_all(&place.folder).context("failed to create the benchmark's directory")?;
        fs::write(place.list(), "true\n".repeat(jobs))
            .context("failed to write the list of jobs")?;
        place.garland(&["lab", "up", "--nodes", "2", "--rate", "1gbit"])?;
        encodes::prepare(&place)?;
        Ok(place)
    }

    fn list(&self) -> PathBuf {
        self.folder.join("jobs")
    }

    /// Runs garland with a state directory of the benchmark, and returns its standard output.
    fn garland(&self, words: &[&str]) -> Result<Vec<u8>> {
        let mut command = Command::new(garland_program()?);
        command.args(words).current_dir(&self.folder);
        done(command.env("GARLAND_STATE", self.folder.join("state")))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let down = [self.garland(&["lab", "down"]).map(drop), encodes::end(self)];
        let removed = fs::remove_dir_all(&self.folder)
            .with_context(|| format!("failed to remove {}", self.folder.display()));
        for error in down.into_iter().chain([removed]).filter_map(Result::err) {
            eprintln!("{error:#}");
        }
    }
}

/// Runs a command, and returns its standard output; any exit code but 0 is an error.
fn done(command: &mut Command) -> Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("failed to start {program}"))?;
    if !output.status.success() {
        bail!("`{program}` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Place> = Benchmark {
    bench: Heading { schema: "garland.bench-farm/1", name: "farm", title: "Farms of jobs" },
    // A round takes about a minute.
    rounds: "5",
    options: &[("--jobs", "10000", "number of empty jobs")],
    needs: &[("iproute2", "ip"), ("fuse3", "fusermount3"), ("lame", "lame")],
    sandboxed: false,
    time: Duration::from_secs(300),
    places: &[contest::Place { make: Place::make, contests: &CONTESTS }],
    notes: |_, place| {
        Ok(vec![
            format!("{} jobs, each runs `true`; the time of the whole command per job", place.jobs),
            "Garland: two agents, one processor each, with records of all jobs in its journal; xargs and \
             GNU parallel: two jobs at a time, without records"
                .to_owned(),
            "encodes: each encodes half a minute of noise by `lame -q 0`, on nodes with half a processor \
             each, files through the mount; the time from the start of the run to the end of its last job, \
             divided by the least time in which the nodes could run these jobs without splitting one"
                .to_owned(),
        ])
    },
};

const CONTESTS: [Contest<Place>; 4] = [
    Contest {
        title: "Jobs on this machine, beside xargs",
        unit: "ms a job",
        goal: Goal::AtMost(1.3),
        tools: &[GARLAND, XARGS],
    },
    Contest {
        title: "Jobs on this machine, beside GNU parallel",
        unit: "ms a job",
        goal: Goal::AtMost(0.5),
        tools: &[GARLAND, PARALLEL],
    },
    Contest {
        title: "Jobs on two nodes of a lab",
        unit: "ms a job",
        goal: Goal::Below(1.0),
        tools: &[IN_LAB],
    },
    Contest {
        title: "24 encodes on three nodes of a lab, beside what whole jobs take",
        unit: "times",
        goal: Goal::Below(ENCODES),
        tools: &[encodes::ENCODES],
    },
];

const GARLAND: Tool<Place> = Tool {
    name: "garland",
    about: "`garland farm run jobs NODES --slots 1`",
    need: None,
    measure: |place| farm(place, HERE),
};

const IN_LAB: Tool<Place> = Tool { measure: |place| farm(place, LAB), ..GARLAND };

const XARGS: Tool<Place> = Tool {
    name: "xargs",
    about: "`xargs --arg-file=jobs -P2 -n1 true`",
    need: Some(("findutils", "xargs")),
    measure: |place| by(place, &["xargs", "--arg-file=jobs", "-P2", "-n1", "true"]),
};

const PARALLEL: Tool<Place> = Tool {
    name: "parallel",
    about: "`parallel --jobs 2 --arg-file jobs`",
    need: Some(("parallel", "parallel")),
    measure: |place| {
        by(place, &["parallel", "--plain", "--will-cite", "--jobs", "2", "--arg-file", "jobs"])
    },
};

fn farm(place: &Place, nodes: &str) -> Result<Figure> {
    each(place, || place.garland(&["farm", "run", "jobs", nodes, "--slots", "1", "--quiet"]))
}

fn by(place: &Place, words: &[&str]) -> Result<Figure> {
    each(place, || done(Command::new(words[0]).args(&words[1..]).current_dir(&place.folder)))
}

/// Runs `work`, and returns its time in milliseconds per job.
fn each(place: &Place, work: impl FnOnce() -> Result<Vec<u8>>) -> Result<Figure> {
    let watch = Watch::start();
    work()?;
    Ok(Figure::of(watch.read().as_secs_f64() * 1e3 / place.jobs as f64))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
