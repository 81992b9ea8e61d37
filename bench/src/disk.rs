//! `bench disk`: `garland disk` and fio run equal jobs on one disk, one right after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::contest::{self, Benchmark, Contest, Figure, Goal, Heading, Setting, Tool};
use super::options::size;
use super::peers::garland_program;
use super::source;

/// Longest time of a measurement in seconds.
const SECONDS: &str = "2";

/// Largest difference from fio's figures, as a share of them.
const NEAR: f64 = 0.05;

/// The directory and the file size of the measurements.
pub(crate) struct Place {
    folder: PathBuf,
    /// Whether the directory existed before.
    was_there: bool,
    size: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Garland creates these directories itself, so they may be missing after an error.
        for left in ["state", "local1"] {
            let _ = fs::remove_dir_all(self.folder.join(left));
        }
        if !self.was_there
            && let Err(error) = fs::remove_dir(&self.folder)
        {
            eprintln!("failed to remove {}: {error}", self.folder.display());
        }
    }
}

impl Place {
    /// Creates the directory that the arguments name.
    fn make(setting: &Setting<'_>) -> Result<Self> {
        let words = setting.words;
        let default = || setting.root.join(words.value("--folder"));
        let folder = words.given("--folder").map_or_else(default, PathBuf::from);
        let was_there = folder.exists();
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        Ok(Self { folder, was_there, size: words.value("--size").to_owned() })
    }

    /// Writes a file of the test's size and removes it, if the job uses the page cache. Memory that
    /// has been free for some seconds may have been returned to the host of a virtual machine;
    /// getting it back costs the job two seconds per GiB.
    fn warm(&self, job: &Job) -> Result<()> {
        if job.mode != "buffered" {
            return Ok(());
        }
        let path = self.folder.join("warm");
        let wrote = source::write(&path, size(&self.size)?);
        let removed = fs::remove_file(&path);
        wrote.and(removed.with_context(|| format!("failed to remove {}", path.display())))
    }

    /// Returns the path of fio's file, which is new for every job, as Garland's is.
    fn fio_file(&self) -> PathBuf {
        self.folder.join("fio")
    }
}

/// A job that both tools run.
#[derive(Clone, Copy)]
struct Job {
    title: &'static str,
    direction: &'static str,
    pattern: &'static str,
    mode: &'static str,
    depth: &'static str,
    /// The further arguments of fio for the job.
    words: &'static [&'static str],
}

impl Job {
    /// Returns the figure for `rate` in bytes per second and `p50`, the median time of an operation
    /// in nanoseconds. If only one operation is in flight, the median time gives a second rate, on
    /// which disturbances have little effect.
    fn figure(&self, rate: f64, p50: Option<f64>) -> Figure {
        let block = if self.pattern == "random" { 4096.0 } else { 1_048_576.0 };
        let p50 = p50.filter(|&p50| p50 > 0.0 && self.mode != "buffered" && self.depth == "1");
        let median = p50.map(|p50| block / p50 * 1e3);
        Figure { median, ..Figure::from_mean(rate / 1e6) }
    }
}

const RING: &[&str] = &["--bs=4k", "--ioengine=io_uring", "--direct=1"];
const LONG_RING: &[&str] = &["--bs=1M", "--ioengine=io_uring", "--direct=1"];
/// The fio option that leaves out posix_fadvise(2), since copies do not call it either.
const PLAIN: &str = "--fadvise_hint=0";

const JOBS: [Job; 8] = [
    Job {
        title: "Sequential write, buffered, fsync at its end",
        direction: "write",
        pattern: "sequential",
        mode: "buffered",
        depth: "1",
        words: &["--bs=1M", "--ioengine=psync", PLAIN, "--end_fsync=1"],
    },
    Job {
        title: "Sequential read, buffered, cold",
        direction: "read",
        pattern: "sequential",
        mode: "buffered",
        depth: "1",
        words: &["--bs=1M", "--ioengine=psync", PLAIN, "--invalidate=1"],
    },
    Job {
        title: "Sequential write, direct, 8 in flight",
        direction: "write",
        pattern: "sequential",
        mode: "direct",
        depth: "8",
        words: LONG_RING,
    },
    Job {
        title: "Sequential read, direct, 8 in flight",
        direction: "read",
        pattern: "sequential",
        mode: "direct",
        depth: "8",
        words: LONG_RING,
    },
    Job {
        title: "Random read, direct, 1 in flight",
        direction: "read",
        pattern: "random",
        mode: "direct",
        depth: "1",
        words: RING,
    },
    Job {
        title: "Random read, direct, 4 in flight",
        direction: "read",
        pattern: "random",
        mode: "direct",
        depth: "4",
        words: RING,
    },
    Job {
        title: "Random write, direct, 1 in flight",
        direction: "write",
        pattern: "random",
        mode: "direct",
        depth: "1",
        words: RING,
    },
    Job {
        title: "Random write, fdatasync after each",
        direction: "write",
        pattern: "random",
        mode: "stable",
        depth: "1",
        words: &["--bs=4k", "--ioengine=psync", PLAIN, "--fdatasync=1"],
    },
];

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Place> = Benchmark {
    bench: Heading { schema: "garland.bench-disk/1", name: "disk", title: "Disks" },
    // A round takes about 50 s.
    rounds: "5",
    options: &[
        ("--folder", "target/bench-disk", "a directory on the disk to measure"),
        ("--size", "1GiB", "size of the test file"),
    ],
    needs: &[],
    sandboxed: false,
    time: Duration::from_secs(240),
    places: &[contest::Place {
        make: Place::make,
        contests: &[
            contest::<0>(),
            contest::<1>(),
            contest::<2>(),
            contest::<3>(),
            contest::<4>(),
            contest::<5>(),
            contest::<6>(),
            contest::<7>(),
        ],
    }],
    notes,
};

fn notes(setting: &Setting<'_>, place: &Place) -> Result<Vec<String>> {
    let medians = "median: the block size divided by the median time of an operation, if one is in \
                   flight; mean: bytes divided by the whole time";
    Ok(vec![
        medians.to_owned(),
        format!(
            "a file of {} below `{}` ({}), written right before each job; at most {SECONDS} s \
         per job; 1 MiB per operation if the job is sequential, else 4 KiB",
            place.size,
            place.folder.strip_prefix(setting.root).unwrap_or(&place.folder).display(),
            system(&place.folder),
        ),
    ])
}

/// Returns the contest of job `J`.
const fn contest<const J: usize>() -> Contest<Place> {
    Contest::rate(
        JOBS[J].title,
        Goal::Near(NEAR),
        &[
            Tool {
                name: "garland",
                about: "`garland disk --only JOB`",
                need: None,
                measure: |place| garland(place, &JOBS[J]),
            },
            Tool {
                name: "fio",
                about: "`psync` for buffered jobs, without advice to the kernel; `io_uring --direct=1` for \
                        direct ones",
                need: Some(("fio", "fio")),
                measure: |place| fio_anew(place, &JOBS[J]),
            },
        ],
    )
}

/// Returns the type and the source of the file system of `directory`, or of its nearest existing
/// ancestor, as `ext4 on /dev/vda1`; `unknown` if df(1) fails.
fn system(folder: &Path) -> String {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let words = ["--output=fstype,source", "--"];
    let output = Command::new("df").args(words).arg(there).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = said.ok().and_then(|said| said.lines().nth(1).map(str::to_owned));
    line.map_or("unknown".to_owned(), |line| {
        line.split_whitespace().collect::<Vec<_>>().join(" on ")
    })
}

fn garland(place: &Place, job: &Job) -> Result<Figure> {
    let Job { direction, pattern, mode, depth, .. } = *job;
    place.warm(job)?;
    let output = Command::new(garland_program()?)
        .args(["disk", "--json", "local1", "--depth", depth, "--size", &place.size])
        .args(["--only", &[direction, pattern, mode].join(","), "--local-root"])
        .arg(&place.folder)
        .args(["--time", &format!("{SECONDS}s")])
        .env("GARLAND_STATE", place.folder.join("state"))
        .output()
        .context("failed to start garland disk")?;
    if !output.status.success() {
        bail!("`garland disk` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let result: Value = serde_json::from_slice(&output.stdout)
        .context("failed to parse the result of garland disk")?;
    found(&result, job)
}

/// Returns the figure of `job` from Garland's result.
fn found(result: &Value, job: &Job) -> Result<Figure> {
    let all = result["nodes"][0]["measurements"]
        .as_array()
        .context("the result of garland disk has no measurements")?;
    let depth: u64 = job.depth.parse()?;
    let is_it = |one: &&Value| {
        one["direction"] == job.direction
            && one["pattern"] == job.pattern
            && one["mode"] == job.mode
            && one["depth"] == depth
    };
    let one = all.iter().find(is_it).unwrap_or(&Value::Null);
    let rate = one["rate"].as_f64();
    let rate =
        rate.with_context(|| format!("the result of garland disk lacks the job: {}", job.title))?;
    Ok(job.figure(rate, one["times"]["p50"].as_f64()))
}

/// Runs fio on a new file, since Garland writes one for every test.
fn fio_anew(place: &Place, job: &Job) -> Result<Figure> {
    let file = place.fio_file();
    place.warm(job)?;
    let laid_out = match (job.direction, job.pattern, job.mode) {
        ("write", "sequential", "buffered") => Ok(Figure::default()),
        _ => fio(place, &JOBS[0]),
    };
    let figure = laid_out.and_then(|_| fio(place, job));
    let removed = fs::remove_file(&file);
    let figure = figure?;
    removed.with_context(|| format!("failed to remove {}", file.display()))?;
    Ok(figure)
}

fn fio(place: &Place, job: &Job) -> Result<Figure> {
    let random = if job.pattern == "random" { "rand" } else { "" };
    let kind = format!("--rw={random}{}", job.direction);
    let output = Command::new("fio")
        .args([
            "--name=job",
            // Write unchanged buffers, as Garland does.
            "--scramble_buffers=0",
            "--output-format=json",
            "--lat_percentiles=1",
            &kind,
            &format!("--size={}", place.size),
        ])
        .args([format!("--filename={}", place.fio_file().display())])
        .args([format!("--iodepth={}", job.depth), format!("--runtime={SECONDS}")])
        .args(job.words)
        .output()
        .context("failed to start fio")?;
    if !output.status.success() {
        bail!("`fio {kind}` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let result: Value =
        serde_json::from_slice(&output.stdout).context("failed to parse the result of fio")?;
    let result = &result["jobs"][0];
    let rate =
        result[job.direction]["bw_bytes"].as_f64().context("the result of fio has no rate")?;
    let p50_of = |part: &str| result[part]["lat_ns"]["percentile"]["50.000000"].as_f64();
    let p50 = match job.mode {
        "stable" => p50_of(job.direction).zip(p50_of("sync")).map(|(write, sync)| write + sync),
        _ => p50_of(job.direction),
    };
    Ok(job.figure(rate, p50))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_found_among_others() {
        let one = |depth: u64, rate: f64| {
            json!({"direction": "read", "pattern": "random", "mode": "direct", "depth": depth, "rate": rate,
                "times": {"p50": 4096.0 * 1e3 / 5.0}})
        };
        let result = json!({"nodes": [{"measurements": [one(1, 2e6), one(4, 8e6)]}]});
        let figure = found(&result, &JOBS[5]).unwrap();
        assert_eq!((figure.mean, figure.median), (Some(8.0), None));
        let figure = found(&result, &JOBS[4]).unwrap();
        assert_eq!((figure.mean, figure.median), (Some(2.0), Some(5.0)));
        assert!(found(&result, &JOBS[6]).is_err());
    }

    #[test]
    fn every_folder_is_on_a_file_system() {
        assert!(system(Path::new("/no-such-folder/at-all")).contains(" on "));
    }
}
