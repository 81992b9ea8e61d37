//! `bench farm`: empty jobs by `garland farm run` and by other tools, to measure the overhead per
//! job; and jobs that compute, whose time is compared with the lower bound for jobs that cannot be
//! split.

mod encodes;
mod place;
mod staging;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use xtask::clock::Watch;

use self::place::{LAB, Place};
use super::cluster::Cluster;
use super::contest::{self, Benchmark, Contest, Figure, Goal, Heading, Setting, Tool};

/// Upper limit of the encodes' time divided by the lower bound for jobs that cannot be split: an
/// efficiency of 95 %.
const ENCODES: f64 = 1.05;

/// Writes the list of jobs, and builds both labs.
fn make(setting: &Setting<'_>) -> Result<Place> {
    let jobs = setting.words.count("--jobs")?;
    let mut cluster = Cluster::in_folder(&std::env::temp_dir(), LAB)?;
    fs::write(cluster.folder.join("jobs"), "true\n".repeat(jobs))
        .context("failed to write the list of jobs")?;
    cluster.raise(
        "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-2]\"\nrate = \"1gbit\"\n",
    )?;
    staging::prepare(&cluster)?;
    Ok(Place { cluster, encodes: encodes::prepare()?, jobs })
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
    places: &[contest::Place { make, contests: &CONTESTS }],
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

const CONTESTS: [Contest<Place>; 5] = [
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
        title: "Staging of 10,000 files of 1 KiB, 25 in and 25 out a job",
        unit: "ms a file",
        goal: Goal::Below(1.0),
        tools: &[staging::STAGING],
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
    measure: |place| farm(place, &["local[1-2]"]),
};

const IN_LAB: Tool<Place> =
    Tool { measure: |place| farm(place, &["lab:n[1-2]", "--lab", LAB]), ..GARLAND };

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

fn farm(place: &Place, nodes: &[&str]) -> Result<Figure> {
    let words = [&["farm", "run", "jobs", "--slots", "1", "--quiet"], nodes].concat();
    let (seconds, _) = place.cluster.garland(&words)?;
    Ok(each(place, seconds))
}

fn by(place: &Place, words: &[&str]) -> Result<Figure> {
    let watch = Watch::start();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(&place.cluster.folder).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("failed to start {}", words[0]))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", words[0], String::from_utf8_lossy(&output.stderr));
    }
    Ok(each(place, watch.read().as_secs_f64()))
}

/// Returns milliseconds per job of a run that took `seconds`.
fn each(place: &Place, seconds: f64) -> Figure {
    Figure::from_mean(seconds * 1e3 / place.jobs as f64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
