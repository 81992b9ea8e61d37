//! Measurements: saved runs, and times that the user specifies.

use garland_analysis::forecast::Point;
use garland_core::units::Nanos;
use garland_fleet::inventory::LAB_PREFIX;
use garland_predict::Job;
use garland_results::copy::{CopyResult, SCHEMA as COPY};
use garland_results::head::NodeEnd;
use garland_results::kept::KeptResult;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_terminal::failure::Failure;
use serde::Deserialize;

/// Measured points, and facts about the measured work.
#[derive(Default)]
pub struct Measured {
    /// The measured times, each with its number of nodes.
    pub points: Vec<Point>,
    /// For each point, the name of its run, or `given` if the user specified it.
    pub sources: Vec<String>,
    /// The bytes of a copy, if the points are of copies.
    pub copied: Option<u64>,
    /// The number of jobs, if the points are of farms.
    pub jobs: Option<u32>,
    /// The bytes that all jobs received.
    pub bytes_in: u64,
    /// The bytes that all jobs sent back.
    pub bytes_out: u64,
    /// The jobs of the run with the fewest nodes, if that run has records of jobs.
    pub each: Vec<Job>,
    /// The CPU seconds of these jobs; 0 if unknown.
    pub cpu: f64,
    /// The number of nodes of each run of a copy, and the seconds that its set-up took.
    pub starts: Vec<(u32, f64)>,
    /// Whether all runs were on nodes of labs, which share the processors of this machine.
    pub is_emulated: bool,
    /// Messages about runs that were left out.
    pub notes: Vec<String>,
}

/// The fields of a farm's result that a forecast needs.
#[derive(Deserialize)]
struct KeptFarm {
    nodes: Vec<KeptNode>,
    /// Seconds until the end of the farm's last job.
    total: Option<f64>,
    jobs: Option<u32>,
    /// The number of jobs that were completed.
    done: Option<u32>,
    #[serde(default)]
    records: Vec<KeptRecord>,
}

#[derive(Deserialize)]
struct KeptNode {
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
}

#[derive(Deserialize)]
struct KeptRecord {
    #[serde(default)]
    bytes_in: u64,
    #[serde(default)]
    bytes_out: u64,
    started: Option<f64>,
    ended: Option<f64>,
    cpu: Option<f64>,
}

impl KeptRecord {
    fn job(&self) -> Option<Job> {
        let seconds = self.ended? - self.started?;
        let bytes_in = self.bytes_in as f64;
        let bytes_out = self.bytes_out as f64;
        (seconds >= 0.0).then_some(Job { bytes_in, seconds, bytes_out })
    }
}

/// The schema of a farm's result.
const FARM: &str = "garland.farm/2";

/// Copies count as the same work if the relative difference of their lengths is at most this.
const ALIKE: f64 = 0.01;

impl Measured {
    /// Reads the results of `runs`, and parses `points`.
    pub fn read(places: &Places, runs: &[String], points: &[String]) -> Result<Self, Failure> {
        let mut measured = Self { is_emulated: true, ..Self::default() };
        for asked in runs {
            let run = Run::find(places, asked, "result.json", "a result")?;
            measured.add(&run)?;
        }
        measured.is_emulated &= !measured.points.is_empty() && points.is_empty();
        for text in points {
            measured.points.push(point(text)?);
            measured.sources.push("given".to_owned());
        }
        Ok(measured)
    }

    /// Returns the seconds by which the set-up of a copy grows with each node, by least squares; 0
    /// with fewer than two node counts.
    pub fn starts_each(&self) -> f64 {
        let count = self.starts.len().max(1) as f64;
        let mean = |of: fn(&(u32, f64)) -> f64| self.starts.iter().map(of).sum::<f64>() / count;
        let nodes = mean(|start| f64::from(start.0));
        let seconds = mean(|start| start.1);
        let mut both = 0.0;
        let mut square = 0.0;
        for &(at, took) in &self.starts {
            let offset = f64::from(at) - nodes;
            both += offset * (took - seconds);
            square += offset * offset;
        }
        if square > 0.0 { (both / square).max(0.0) } else { 0.0 }
    }

    /// Returns whether all points took at least as long as `least` says for their nodes. Processors
    /// are those of this machine, which may be slower than those of the runs: then a note says that
    /// they are not considered.
    pub fn allows(&mut self, name: &str, least: impl Fn(u32) -> f64) -> bool {
        let is_possible = |point: &Point| point.seconds >= least(point.nodes);
        let all = self.points.iter().all(is_possible);
        if !all {
            self.notes.push(format!(
                "the {name} are not considered: the points are faster than this machine's would allow"
            ));
        }
        all
    }

    fn add(&mut self, run: &Run) -> Result<(), Failure> {
        let kept = KeptResult::read(run)?;
        let name = run.name();
        match kept.schema() {
            COPY => self.add_copy(name, &kept.parse()?),
            FARM => self.add_farm(name, &kept.parse()?),
            schema => Err(Failure::usage(format!("cannot forecast from {name} ({schema})"))
                .hint(format!("use runs of {COPY} or {FARM}; give other times by --points"))),
        }
    }

    fn add_farm(&mut self, name: &str, kept: &KeptFarm) -> Result<(), Failure> {
        let (Some(total), Some(jobs)) = (kept.total, kept.jobs) else {
            return Err(Failure::usage(format!("the result of {name} lacks the time of its jobs")));
        };
        if kept.done != Some(jobs) {
            self.notes.push(format!("{name} is left out: not all of its {jobs} jobs were done"));
            return Ok(());
        }
        if self.copied.is_some() || self.jobs.is_some_and(|before| before != jobs) {
            return Err(Failure::usage(format!(
                "{name} had {jobs} jobs, unlike the runs listed before it: these are not runs of the same work"
            )));
        }
        self.jobs = Some(jobs);
        let sum = |of: fn(&KeptRecord) -> u64| kept.records.iter().map(of).sum::<u64>();
        self.bytes_in = sum(|record| record.bytes_in);
        self.bytes_out = sum(|record| record.bytes_out);
        let nodes = kept.nodes.iter().filter(|node| node.end.is_ok()).count();
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        if self.points.iter().all(|point| point.nodes > nodes) {
            self.each = kept.records.iter().filter_map(KeptRecord::job).collect();
            self.cpu = kept.records.iter().filter_map(|record| record.cpu).sum();
        }
        self.is_emulated &= kept.nodes.iter().all(|node| is_emulated(&node.name));
        self.points.push(Point { nodes, seconds: total });
        self.sources.push(name.to_owned());
        Ok(())
    }

    fn add_copy(&mut self, name: &str, kept: &CopyResult) -> Result<(), Failure> {
        if self.jobs.is_some() {
            return Err(Failure::usage(format!(
                "{name} is a copy, but the runs before it are farms"
            )));
        }
        let ok = kept.nodes.iter().filter(|node| node.end.is_ok()).count();
        if ok < kept.nodes.len() || ok == 0 {
            let of = kept.nodes.len();
            self.notes.push(format!("{name} is left out: {ok} of {of} nodes got the file"));
            return Ok(());
        }
        if kept.already > 0 {
            self.notes.push(format!(
                "{name} is left out: nodes had {} bytes of the file already",
                kept.already
            ));
            return Ok(());
        }
        if let Some(before) = self.copied
            && (kept.bytes as f64 - before as f64).abs() > before as f64 * ALIKE
        {
            return Err(Failure::usage(format!(
                "{name} copied {} bytes, but the runs before it {before}: these are not runs of the same work",
                kept.bytes
            )));
        }
        self.copied = self.copied.or(Some(kept.bytes));
        let nodes = u32::try_from(ok).unwrap_or(u32::MAX);
        self.is_emulated &= kept.nodes.iter().all(|node| is_emulated(&node.name));
        let set_up = kept.head.phases.iter().filter(|phase| phase.name == "set-up");
        let set_up: u64 = set_up.map(|phase| phase.ns).sum();
        self.starts.push((nodes, Nanos(set_up).as_secs_f64()));
        self.points.push(Point { nodes, seconds: Nanos(kept.head.elapsed_ns).as_secs_f64() });
        self.sources.push(name.to_owned());
        Ok(())
    }
}

/// Returns whether a node is part of a lab.
fn is_emulated(name: &str) -> bool {
    name.starts_with(LAB_PREFIX)
}

/// Parses a point such as `4=395s`.
fn point(text: &str) -> Result<Point, Failure> {
    let wrong = || {
        Failure::usage(format!("{text:?} is not a measured point"))
            .hint("write nodes and time, such as 4=395s or 4=6:35")
    };
    let (nodes, time) = text.split_once('=').ok_or_else(wrong)?;
    let nodes = nodes.trim().parse().map_err(|_| wrong())?;
    Ok(Point { nodes, seconds: seconds(time).ok_or_else(wrong)? })
}

/// Parses times such as `90`, `90s`, `1.5ms`, `24:10`, `1:02:03` and `12m30s`; returns seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.contains(':') {
        let parts: Vec<f64> = text.split(':').map(plain).collect::<Option<_>>()?;
        let fine = parts.len() <= 3 && parts.iter().skip(1).all(|part| *part < 60.0);
        return fine.then(|| parts.iter().fold(0.0, |sum, part| sum * 60.0 + part));
    }
    if let Some((minutes, rest)) = text.split_once('m')
        && let Some(minutes) = plain(minutes)
        && !rest.starts_with('s')
    {
        let rest = rest.trim_start_matches("in").trim();
        let more = if rest.is_empty() { Some(0.0) } else { plain(rest.trim_end_matches('s')) };
        return Some(minutes * 60.0 + more?);
    }
    plain(text).or_else(|| Some(text.parse::<Nanos>().ok()?.as_secs_f64()))
}

/// Parses a number without sign or exponent.
fn plain(text: &str) -> Option<f64> {
    let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    sound.then(|| text.parse().ok())?
}

/// Parses node counts such as `1..64`, `8,16,24` or `1..4,8,16`; returns them sorted and without
/// duplicates.
pub fn counts(text: &str) -> Result<Vec<u32>, Failure> {
    /// The maximum number of node counts.
    const MAX_COUNTS: usize = 10_000;
    let wrong = |part: &str| {
        Failure::usage(format!("{part:?} is not a node count"))
            .hint("write counts and ranges, such as 1..64 or 8,16,24")
    };
    let mut counts = Vec::new();
    for part in text.split(',').map(str::trim) {
        let number = |word: &str| word.trim().parse::<u32>().map_err(|_| wrong(part));
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (number(first)?, number(last.trim_start_matches('='))?),
            None => (number(part)?, number(part)?),
        };
        if first == 0 || last < first {
            return Err(wrong(part));
        }
        if counts.len() + (last - first) as usize >= MAX_COUNTS {
            return Err(Failure::usage(format!("more than {MAX_COUNTS} node counts"))
                .hint("give fewer, such as 1,10,100,1000"));
        }
        counts.extend(first..=last);
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, expected) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("24:10", 1450.0),
            ("1:02:03", 3723.0),
            ("12m30s", 750.0),
            ("12m", 720.0),
            ("12.5min", 750.0),
            ("250ms", 0.25),
            ("0.5", 0.5),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "x", "-3", "1:99", "1e9", "nan", "1:2:3:4", "3 nodes", "m"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_ranges_and_lists() {
        assert_eq!(counts("1..4,8, 16").unwrap(), [1, 2, 3, 4, 8, 16]);
        assert_eq!(counts("24").unwrap(), [24]);
        for text in ["", "0", "4..1", "1..", "a", "1..100000"] {
            assert!(counts(text).is_err(), "{text}");
        }
    }
}
