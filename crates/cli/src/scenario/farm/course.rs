//! The runs in the labs.

use std::fs;
use std::path::{Path, PathBuf};

use garland_core::cluster::nodelist::fold;
use garland_core::cluster::topology::{NodeId, Topology, bounds};
use garland_core::units::bytes;

use super::row::{CopyRow, Row, Scaling, SuspectRow};
use super::told::Told;
use super::{Farm, Load, ONE, wave};
use crate::failure::{Failure, OrFailure};
use crate::result::Phases;
use crate::scenario::Stage;
use crate::scenario::bench::Bench;

/// The ending of what an encoder makes.
const MADE: &str = "mp3";

/// What is run, and how much of it.
pub struct Course<'a> {
    pub experiment: &'a Farm,
    pub stage: &'a Stage<'a>,
    /// Bytes of each job's sound.
    pub length: u64,
}

impl Course<'_> {
    /// All loads on the first node alone, one job after the other.
    pub fn alone(&self, topology: &Topology, phases: &mut Phases) -> Result<Vec<Row>, Failure> {
        let topology = self.with_shares(topology);
        let first = &self.experiment.job.nodes[..1];
        self.stage.in_lab(&topology, self.room(), phases, |bench, phases| {
            let sounds = self.sounds(bench)?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for load in &self.experiment.job.load {
                let how = ["--data", "there"].map(str::to_owned);
                let row = self.encode(bench, ONE, (first, load), &how, &sounds)?;
                self.keep(bench, &row)?;
                rows.push(row);
            }
            phases.end("one alone");
            Ok(rows)
        })
    }

    /// All loads on all nodes, all jobs at once, and the copy.
    pub fn together(
        &self,
        topology: &Topology,
        scaling: &Scaling,
        ones: &[Row],
        phases: &mut Phases,
    ) -> Result<(Vec<Row>, CopyRow), Failure> {
        let topology = scaling.of(&self.with_shares(topology));
        let nodes = &self.experiment.job.nodes;
        self.stage.in_lab(&topology, self.room(), phases, |bench, phases| {
            let sounds = self.sounds(bench)?;
            let to = self.reader(&topology);
            bench.check(0, to)?;
            phases.end("set-up");
            let mut rows = Vec::new();
            for (load, one) in self.experiment.job.load.iter().zip(ones) {
                let mut how = ["--data", "mount", "--placement", "mosix", "--all-at-once"]
                    .map(str::to_owned)
                    .to_vec();
                let base = self.kept(one).display().to_string();
                how.extend(["--base".to_owned(), base]);
                rows.push(self.encode(bench, &topology.name, (nodes, load), &how, &sounds)?);
            }
            phases.end("encodes");
            let whole = bytes::parse(&self.experiment.job.copy.bytes).map_err(Failure::usage)?;
            let length = ((whole as f64 * scaling.files) as u64).max(1);
            let source = bench.random_file("copied", length)?;
            eprintln!("{}, a copy through the mount ...", topology.name);
            let seconds = self.copy(bench, &source)?;
            let bound_s = bounds::seconds(&topology, &[(0, to)], length);
            phases.end("copies");
            let topology = topology.name.clone();
            Ok((rows, CopyRow { topology, seconds, bound_s, bytes: length }))
        })
    }

    /// Copies over the two networks of the riddle, at the rates they had, with nothing wrong and with
    /// every suspect.
    pub fn suspects(&self, phases: &mut Phases) -> Result<Vec<SuspectRow>, Failure> {
        let riddle = &self.experiment.job.riddle;
        let fast = self.rates(&riddle.fast, phases)?;
        let slow = self.rates(&riddle.slow, phases)?;
        let published = |name: &str| {
            self.experiment.published(name, None).map_or(0.0, |published| published.slowest)
        };
        let wanted = published(&riddle.fast) / published(&riddle.slow).max(1e-9);
        let factor = self.experiment.tolerance.riddle;
        let row = |((suspect, slow), (_, fast)): ((Option<String>, f64), (_, f64))| {
            let found = slow / fast.max(1e-9);
            let near = found < 1.0 && found > wanted / factor && found < wanted * factor;
            SuspectRow { suspect, slow, fast, reproduces: near }
        };
        Ok(slow.into_iter().zip(fast).map(row).collect())
    }

    /// The rates of the copy over the topology `name`: with nothing wrong, and with each suspect that can
    /// be there; with one that can't the same as with nothing.
    fn rates(
        &self,
        name: &str,
        phases: &mut Phases,
    ) -> Result<Vec<(Option<String>, f64)>, Failure> {
        let riddle = &self.experiment.job.riddle;
        let mut topologies = self.stage.topologies.iter();
        let topology = topologies.find(|one| one.name == name);
        let topology = topology.ok_or_else(|| Failure::usage(format!("there is no {name}")))?;
        let length = bytes::parse(&riddle.bytes).map_err(Failure::usage)?;
        let is_hub = name == riddle.fast;
        self.stage.in_lab(topology, length.saturating_mul(2), phases, |bench, phases| {
            let source = bench.random_file("copied", length)?;
            let to = &self.experiment.job.copy.to;
            let congestion =
                format!("sysctl -qw net.ipv4.tcp_congestion_control={}", riddle.congestion);
            for node in [&self.experiment.job.nodes[0], to] {
                on_node(bench, node, &congestion)?;
            }
            phases.end("set-up");
            let rate = || Ok::<_, Failure>(length as f64 / self.copy(bench, &source)?);
            eprintln!("{name} as it should be, a copy through the mount ...");
            let healthy = rate()?;
            let mut rates = vec![(None, healthy)];
            for suspect in &riddle.suspect {
                let words = suspect.words();
                if is_hub && !suspect.can_be_on_hub() {
                    rates.push((Some(words), healthy));
                    continue;
                }
                eprintln!("{name}, {words} ...");
                let wire = topology.nics_of(self.reader(topology)).next();
                let wire = wire.and_then(|(_, nic)| topology.media[nic.medium].rate);
                on_node(bench, to, &suspect.script(wire.unwrap_or_default()))?;
                rates.push((Some(words), rate()?));
                on_node(bench, to, &suspect.undo())?;
            }
            phases.end("suspects");
            Ok(rates)
        })
    }

    /// The jobs of a load on these nodes.
    fn encode(
        &self,
        bench: &Bench<'_>,
        topology: &str,
        (nodes, load): (&[String], &Load),
        how: &[String],
        sounds: &[PathBuf],
    ) -> Result<Row, Failure> {
        let job = &self.experiment.job;
        eprintln!("{topology}, {} {} ...", load.name, job.called);
        bench.go_on()?;
        let mut words: Vec<String> =
            ["farm", "run", "--engine", "agents"].map(str::to_owned).into();
        words.extend(["--unit".to_owned(), job.unit.clone()]);
        words.extend(how.iter().cloned());
        let made = format!("{{.}}.{MADE}");
        words.extend(["--out".to_owned(), made, lab_nodes(nodes), "--".to_owned()]);
        words.push(job.program.clone());
        words.extend(load.words.iter().cloned());
        words.extend(["{in}", "{out}", ":::"].map(str::to_owned));
        words.extend(sounds.iter().map(|path| path.to_string_lossy().into_owned()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let told: Told = bench.ask(&words)?;
        let summary = told.summary;
        Ok(Row {
            topology: topology.to_owned(),
            load: load.name.clone(),
            seconds: summary.total,
            spread: summary.spread,
            equivalent: summary.standing.map(|standing| standing.equivalent),
            difference: summary.standing.map(|standing| standing.difference),
            losses: summary.losses,
            equal: are_equal(sounds)?,
            run: told.run,
        })
    }

    /// Keeps a run of one machine beyond its lab, whose state goes with it.
    fn keep(&self, bench: &Bench<'_>, row: &Row) -> Result<(), Failure> {
        let from = bench.places()?.folder("runs")?.join(&row.run);
        let to = self.kept(row);
        fs::create_dir_all(&to).or_nothing(format!("making {}", to.display()))?;
        for name in ["result.json", "records.jsonl"] {
            fs::copy(from.join(name), to.join(name)).or_nothing(format!("keeping {name}"))?;
        }
        Ok(())
    }

    /// Where a run of one machine is kept.
    fn kept(&self, row: &Row) -> PathBuf {
        self.stage.run.folder().join(&row.run)
    }

    /// Seconds of a job that reads `source` through the mount, at the node that copies.
    fn copy(&self, bench: &Bench<'_>, source: &Path) -> Result<f64, Failure> {
        bench.go_on()?;
        let nodes = lab_nodes(std::slice::from_ref(&self.experiment.job.copy.to));
        let source = source.to_string_lossy();
        let words = ["farm", "run", "--engine", "agents", "--data", "mount", &nodes];
        let job = ["--", "sh", "-c", "cat \"$0\" >/dev/null", "{in}", ":::", &source];
        let told: Told = bench.ask(&[&words[..], &job[..]].concat())?;
        let ran = told.summary.spread.map(|spread| spread.slowest);
        ran.ok_or_else(|| Failure::nothing("the copy through the mount failed"))
    }

    /// All jobs' files of sound, alike.
    fn sounds(&self, bench: &Bench<'_>) -> Result<Vec<PathBuf>, Failure> {
        let path = |at: usize| bench.folder().join(format!("track{:02}.wav", at + 1));
        let first = path(0);
        wave::write(&first, self.length)?;
        let mut paths = vec![first.clone()];
        for at in 1..self.experiment.job.jobs {
            let next = path(at);
            fs::copy(&first, &next).or_nothing(format!("making {}", next.display()))?;
            paths.push(next);
        }
        Ok(paths)
    }

    /// The topology with the nodes' shares of a processor.
    fn with_shares(&self, topology: &Topology) -> Topology {
        let mut topology = topology.clone();
        let share = (self.experiment.job.share * 1000.0).round() as u32;
        topology.nodes.iter_mut().for_each(|node| node.cpu = Some(share));
        topology
    }

    /// The place of the node that copies.
    fn reader(&self, topology: &Topology) -> NodeId {
        topology.node(&self.experiment.job.copy.to).unwrap_or_default()
    }

    /// Bytes that sounds, what is made of them, and the copy take.
    fn room(&self) -> u64 {
        let jobs = self.experiment.job.jobs as u64;
        self.length.saturating_mul(jobs + 8).saturating_mul(2)
    }
}

/// `lab:srv,lab:n[2-3]`.
fn lab_nodes(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("lab:{name}")).collect();
    fold(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs a shell's script in a node's place in the network.
fn on_node(bench: &Bench<'_>, node: &str, script: &str) -> Result<(), Failure> {
    bench.garland(&["lab", "exec", node, "--", "sh", "-ec", script]).map(drop)
}

/// Whether all results are there, and alike as their sources are; removes them.
fn are_equal(sounds: &[PathBuf]) -> Result<bool, Failure> {
    let mut first: Option<Vec<u8>> = None;
    let mut equal = true;
    for path in sounds.iter().map(|path| path.with_extension(MADE)) {
        let made = fs::read(&path).or_nothing(format!("reading {}", path.display()))?;
        equal &= !made.is_empty() && first.as_ref().is_none_or(|first| *first == made);
        first.get_or_insert(made);
        fs::remove_file(&path).or_nothing(format!("removing {}", path.display()))?;
    }
    Ok(equal)
}
