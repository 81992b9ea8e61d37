//! The farms and copies in the labs.

use std::fs;
use std::path::{Path, PathBuf};

use garland_analysis::farm::{Power, standing};
use garland_core::farm::{Outcome, Record};
use garland_core::printable;
use garland_core::units::{Rate, bytes};
use garland_farm::result::FarmResult;
use garland_results::head::Phases;
use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::{NodeId, Topology, bounds};

use super::job::{Farm, LoadKind, ONE};
use super::row::{CopyRow, Row, Scaling};
use super::wave;
use crate::predicted;
use crate::scenario_lab::{ScenarioLab, lab_nodes};
use crate::stage::Stage;

/// The rate of wires that do not slow down any encoder, in bits per second.
const UNHINDERED: u64 = 1_000_000_000;

/// The timeout of a copy, in seconds. A copy that reaches it has no figure.
const LONGEST_S: u64 = 15;

/// The script of a job: the encoder reads its standard input. If lame with libsndfile is given a
/// file name, it reads the whole file before it encodes, so the CPU idles while the wire is busy;
/// the encoder of 2004 did not do that.
const ENCODE: &str = "from=$1 to=$2; shift 2; exec \"$@\" - \"$to\" <\"$from\"";

/// The file name extension of encoded sound.
const MADE: &str = "mp3";

/// Runs the parts of the experiment in labs, with files of one scale.
pub struct FarmTrial<'a> {
    pub experiment: &'a Farm,
    pub stage: &'a Stage<'a>,
    /// The length of each job's sound file, in bytes.
    pub length: u64,
}

impl FarmTrial<'_> {
    /// Measures each load on one machine, one job after the other, with wires that cause no delay.
    /// All nodes do this at the same time, each with its own files: an emulated node is slower
    /// while others compute on the same CPUs, so the base of a comparison with three nodes must be
    /// measured with three.
    pub fn alone(&self, topology: &Topology, phases: &mut Phases) -> Result<Vec<Row>, Failure> {
        let mut topology = self.with_shares(topology);
        let fast = Some(Rate::from_bits_per_second(UNHINDERED));
        topology.media.iter_mut().for_each(|medium| medium.rate = fast);
        self.stage.in_lab(&topology, self.room(), phases, |lab, phases| {
            let sounds = self.sounds(lab)?;
            phases.end("set-up");
            let loads = self.experiment.job.load.iter();
            let rows = loads.map(|load| self.encode_alone(lab, load, &sounds)).collect();
            phases.end("one alone");
            rows
        })
    }

    fn encode_alone(
        &self,
        lab: &ScenarioLab<'_>,
        load: &LoadKind,
        sounds: &[PathBuf],
    ) -> Result<Row, Failure> {
        let row = self.each_alone(lab, load, sounds)?;
        // Placed as they will be; all nodes except the first read and write through the mount.
        let mounted = ask(lab, &self.mounted(load, sounds))?;
        are_equal(sounds, MADE)?;
        let rounds = sounds.len().div_ceil(self.experiment.job.nodes.len());
        let start_s = self.starting(lab, sounds)?;
        let each_s = (mounted.summary.total - start_s) / rounds as f64;
        Ok(Row { mounted_s: Some([start_s, each_s]), ..row })
    }

    /// Measures a load on each node alone, on all at the same time; the time is their mean.
    pub(super) fn each_alone(
        &self,
        lab: &ScenarioLab<'_>,
        load: &LoadKind,
        sounds: &[PathBuf],
    ) -> Result<Row, Failure> {
        let job = &self.experiment.job;
        garland_terminal::errln!("{ONE}, {} {} ...", load.name, job.called);
        let command = |node: &String| {
            let how = ["--data", "there"].map(str::to_owned);
            self.words(&lab_nodes(std::slice::from_ref(node)), load, &how, &own(node), sounds)
        };
        let commands: Vec<Vec<String>> = job.nodes.iter().map(command).collect();
        let (reports, busy) = lab.watch(|| lab.farms(&commands))?;
        let mut equal = true;
        for node in &job.nodes {
            equal &= are_equal(sounds, &own(node))?;
        }
        let seconds =
            reports.iter().map(|report| report.summary.total).sum::<f64>() / reports.len() as f64;
        let first = reports.into_iter().next();
        let first = first.ok_or_else(|| Failure::nothing("no node encoded a file"))?;
        let made = count_made(&first);
        let FarmResult { head, summary, .. } = first;
        let run = head.run.unwrap_or_default();
        Ok(Row {
            topology: ONE.to_owned(),
            load: load.name.clone(),
            seconds,
            losses: summary.losses,
            made,
            busy,
            equal,
            run,
            ..Row::default()
        })
    }

    /// Runs each load on all nodes, with all jobs at once.
    pub fn together(
        &self,
        topology: &Topology,
        scaling: &Scaling,
        ones: &[Row],
        phases: &mut Phases,
    ) -> Result<Vec<Row>, Failure> {
        let topology = scaling.of(&self.with_shares(topology));
        self.stage.in_lab(&topology, self.room(), phases, |lab, phases| {
            let sounds = self.sounds(lab)?;
            lab.check(0, self.reader(&topology))?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for (load, one) in self.experiment.job.load.iter().zip(ones) {
                let predicted_s = self.predicted(&topology, one)?;
                let row = self.encode(lab, &topology.name, load, one, &sounds)?;
                rows.push(Row { predicted_s: Some(predicted_s), ..row });
            }
            phases.end("encodes");
            Ok(rows)
        })
    }

    /// Copies a file through the mount. Processors have no limit, unlike for the encodes: a quarter
    /// of a second at the processors' limit would be half of a copy.
    pub fn copied(
        &self,
        topology: &Topology,
        scaling: &Scaling,
        phases: &mut Phases,
    ) -> Result<CopyRow, Failure> {
        let topology = scaling.of(topology);
        let whole = bytes::parse(&self.experiment.job.copy.bytes).map_err(Failure::usage)?;
        let length = ((whole as f64 * scaling.files) as u64).max(1);
        self.stage.in_lab(&topology, length.saturating_mul(2), phases, |lab, phases| {
            let to = self.reader(&topology);
            lab.check(0, to)?;
            phases.end("set-up");
            let source = lab.random_file("copied", length)?;
            let predicted_s = predicted::chain(&topology, lab.processors()?, &[0, to], length)?;
            garland_terminal::errln!("{}, a copy through the mount ...", topology.name);
            let (seconds, busy) = lab.watch(|| self.copy(lab, &source))?;
            let seconds =
                seconds.ok_or_else(|| Failure::nothing("the copy through the mount timed out"))?;
            let bound_s = bounds::seconds(&topology, &[(0, to)], length);
            phases.end("copies");
            let topology = topology.name.clone();
            Ok(CopyRow { topology, predicted_s, seconds, bound_s, bytes: length, busy })
        })
    }

    /// Runs the jobs of a load on all nodes over one topology.
    pub(super) fn encode(
        &self,
        lab: &ScenarioLab<'_>,
        topology: &str,
        load: &LoadKind,
        one: &Row,
        sounds: &[PathBuf],
    ) -> Result<Row, Failure> {
        let job = &self.experiment.job;
        garland_terminal::errln!("{topology}, {} {} ...", load.name, job.called);
        let words = self.mounted(load, sounds);
        let (report, busy) = lab.watch(|| ask(lab, &words))?;
        let carried = count_carried(&report, &lab_nodes(&job.nodes[..1]));
        let jobs_s = times(&report.records);
        let made = count_made(&report);
        let FarmResult { head, summary, .. } = report;
        let run = head.run.unwrap_or_default();
        let (power, _) = self.experiment.power();
        let power = Power { one: power, all: power * job.nodes.len() as f64 };
        let worth = standing(one.seconds, summary.total, power);
        Ok(Row {
            topology: topology.to_owned(),
            load: load.name.clone(),
            seconds: summary.total,
            spread: summary.spread,
            jobs_s,
            equivalent: worth.map(|worth| worth.equivalent),
            difference: worth.map(|worth| worth.difference),
            losses: summary.losses,
            carried,
            made,
            busy,
            equal: are_equal(sounds, MADE)?,
            run,
            ..Row::default()
        })
    }

    /// Returns the seconds of a farm that mounts the files on all nodes and runs one empty job on
    /// each.
    fn starting(&self, lab: &ScenarioLab<'_>, sounds: &[PathBuf]) -> Result<f64, Failure> {
        let nodes = &self.experiment.job.nodes;
        let mut words: Vec<String> =
            ["--engine", "agents", "--data", "mount", "--all-at-once"].map(str::to_owned).into();
        words.extend([lab_nodes(nodes), "--".to_owned(), "true".to_owned(), ":::".to_owned()]);
        let some = sounds.iter().take(nodes.len());
        words.extend(some.map(|path| path.to_string_lossy().into_owned()));
        Ok(ask(lab, &words)?.summary.total)
    }

    /// Returns the arguments of a farm that starts all jobs at once and mounts the files of the
    /// first node.
    fn mounted(&self, load: &LoadKind, sounds: &[PathBuf]) -> Vec<String> {
        let how = self.experiment.placed().map(str::to_owned).collect::<Vec<_>>();
        self.words(&lab_nodes(&self.experiment.job.nodes), load, &how, MADE, sounds)
    }

    /// Returns the arguments of a farm that encodes `sounds` on these nodes. The outputs have the
    /// extension `made`.
    fn words(
        &self,
        nodes: &str,
        load: &LoadKind,
        how: &[String],
        made: &str,
        sounds: &[PathBuf],
    ) -> Vec<String> {
        let job = &self.experiment.job;
        let mut words = ["--engine", "agents", "--unit", &job.unit].map(str::to_owned).to_vec();
        words.extend(how.iter().cloned());
        let made = format!("{{.}}.{made}");
        words.extend(["--out".to_owned(), made, nodes.to_owned(), "--".to_owned()]);
        words.extend(["sh", "-c", ENCODE, "sh", "{in}", "{out}"].map(str::to_owned));
        words.push(job.program.clone());
        words.extend(load.words.iter().cloned());
        words.push(":::".to_owned());
        words.extend(sounds.iter().map(|path| path.to_string_lossy().into_owned()));
        words
    }

    /// Returns the seconds of a job on the copying node that reads `source` through the mount;
    /// `None` if it timed out.
    pub(super) fn copy(
        &self,
        lab: &ScenarioLab<'_>,
        source: &Path,
    ) -> Result<Option<f64>, Failure> {
        lab.go_on()?;
        let nodes = lab_nodes(std::slice::from_ref(&self.experiment.job.copy.to));
        let source = source.to_string_lossy();
        let limit = format!("{LONGEST_S}s");
        let words = ["--engine", "agents", "--data", "mount", "--tries", "1"];
        let more = ["--timeout", &limit, &nodes];
        let job = ["--", "sh", "-c", "cat \"$0\" >/dev/null", "{in}", ":::", &source];
        let report = lab.farm(&[&words[..], &more[..], &job[..]].concat())?;
        match (report.summary.spread, report.summary.jobs.failures.first()) {
            (Some(spread), _) => Ok(Some(spread.slowest)),
            (None, Some(one)) if one.reason == Outcome::Timeout.to_string() => Ok(None),
            (None, one) => {
                let reason = one.map_or("no result", |one| &one.reason);
                Err(Failure::nothing(format!("the copy through the mount failed: {reason}")))
            }
        }
    }

    /// Writes the sound files of all jobs, with equal contents.
    pub(super) fn sounds(&self, lab: &ScenarioLab<'_>) -> Result<Vec<PathBuf>, Failure> {
        let path = |at: usize| lab.files().join(format!("track{:02}.wav", at + 1));
        let first = path(0);
        wave::write(&first, self.length)?;
        let mut paths = vec![first.clone()];
        for at in 1..self.experiment.job.jobs {
            let next = path(at);
            fs::copy(&first, &next)
                .or_nothing(format!("cannot create {}", printable::path(&next)))?;
            paths.push(next);
        }
        Ok(paths)
    }

    /// Returns `topology` with the CPU limit of the job at all nodes.
    pub(super) fn with_shares(&self, topology: &Topology) -> Topology {
        let mut topology = topology.clone();
        let share = (self.experiment.job.share * 1000.0).round() as u32;
        topology.nodes.iter_mut().for_each(|node| node.cpu = Some(share));
        topology
    }

    /// Returns the node that copies through the mount.
    pub(super) fn reader(&self, topology: &Topology) -> NodeId {
        topology.node(&self.experiment.job.copy.to).unwrap_or_default()
    }

    /// Returns the space that sound files, outputs and the copied file need at most, in bytes.
    pub(super) fn room(&self) -> u64 {
        let jobs = self.experiment.job.jobs as u64;
        self.length.saturating_mul(jobs + 8).saturating_mul(2)
    }
}

/// Runs a farm, and returns its result. A failed job is an error.
fn ask(lab: &ScenarioLab<'_>, words: &[String]) -> Result<FarmResult, Failure> {
    lab.farm_done(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the file name extension of the outputs that `node` makes when it works alone.
fn own(node: &str) -> String {
    format!("{node}.{MADE}")
}

/// Returns whether all outputs are equal, as their sources are, and removes them. `made` is their
/// extension. A missing output is an error.
fn are_equal(sounds: &[PathBuf], made: &str) -> Result<bool, Failure> {
    let mut first: Option<Vec<u8>> = None;
    let mut equal = true;
    for path in sounds.iter().map(|path| path.with_extension(made)) {
        let made = fs::read(&path).or_nothing(format!("cannot read {}", printable::path(&path)))?;
        equal &= !made.is_empty() && first.as_ref().is_none_or(|first| *first == made);
        first.get_or_insert(made);
        fs::remove_file(&path).or_nothing(format!("cannot remove {}", printable::path(&path)))?;
    }
    Ok(equal)
}

/// Returns the mean number of bytes that a job wrote.
fn count_made(report: &FarmResult) -> f64 {
    let all: u64 = report.records.iter().map(|record| record.bytes_out).sum();
    all as f64 / report.records.len().max(1) as f64
}

/// Returns the seconds of each job that was done, from its start to its end.
fn times(records: &[Record]) -> Vec<f64> {
    let done = records.iter().filter_map(|record| Some(record.ended? - record.started?));
    done.collect()
}

/// Returns the bytes carried by the NICs of `server` (the node with the files), and the bytes of
/// inputs and outputs of jobs on all other nodes.
fn count_carried(report: &FarmResult, server: &str) -> [u64; 2] {
    let elsewhere = report.records.iter().filter(|record| record.node.as_deref() != Some(server));
    let nics = report.nodes.iter().filter(|node| node.name == server).flat_map(|node| &node.nics);
    let wires = nics.map(|nic| nic.sent + nic.received).sum();
    [wires, elsewhere.map(|record| record.bytes_in + record.bytes_out).sum()]
}
