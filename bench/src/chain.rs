//! `bench chain`: one file to N nodes by every tool, at every size and rate; `bench wires-of-today`
//! has other defaults.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use xtask::packages::{Need, install};

use super::contest::Usage;
use super::field::{DIR, Field};
use super::kept::Head;
use super::machine::{own_version, tell_version};
use super::memory;
use super::options::{Kind, Options, rate_text, size_text};
use super::peer::{Facts, Job, Peer};
use super::processes::Nodes;
use super::result::{Link, Report, Row, Sample, Tool};
use super::runnable::Runnable;
use super::{link, peers, profile, sandbox, source, table};

/// A run longer than this isn't repeated: its spread is small compared with its length.
const LONG: Duration = Duration::from_secs(60);
/// A tool that takes less than this part of the fastest relay's time is faster than possible.
const UNDER: f64 = 0.97;
/// Packages that the emulated cluster and the measurement of the link's goodput need.
const NEEDS: &[Need] = &[("iproute2", "ip"), ("procps", "sysctl"), ("iperf3", "iperf3")];

/// The benchmark, in one of its kinds.
pub(crate) struct Chain(pub(crate) Kind);

impl Runnable for Chain {
    fn usage(&self) -> Usage {
        Options::usage(self.0)
    }

    fn run(&self, root: &Path, args: &[String]) -> Result<()> {
        let prepare = |args: &[String]| {
            let options = Options::parse(self.0, args)?;
            install(NEEDS)?;
            if options.profile {
                install(&[profile::NEED])?;
            }
            let peers = chosen(&options)?;
            for peer in &peers {
                install(peer.facts().needs)?;
            }
            if peers.iter().any(|peer| peer.facts().name.starts_with("garland")) {
                build(root)?;
            }
            Ok(())
        };
        let name = self.usage().name;
        sandbox::enter(name, args, prepare, |run, args| measure(self.0, root, run, args))
    }
}

/// Builds the optimised program that users get.
pub(super) fn build(root: &Path) -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["build", "--quiet", "--release", "--locked", "--package", "garland"])
        .status()
        .context("failed to start cargo")?;
    let program = peers::garland_program()?;
    if !status.success() || !Path::new(&program).exists() {
        bail!("cargo build did not produce {program}: {status}");
    }
    Ok(())
}

fn chosen(options: &Options) -> Result<Vec<Box<dyn Peer>>> {
    let mut peers = peers::all(&options.congestion);
    for name in &options.peers {
        if !peers.iter().any(|peer| peer.facts().name == name) {
            let names: Vec<_> = peers.iter().map(|peer| peer.facts().name).collect();
            bail!("unknown peer `{name}`; the peers are: {}", names.join(","));
        }
    }
    if !options.peers.is_empty() {
        peers.retain(|peer| options.peers.iter().any(|name| name == peer.facts().name));
    }
    Ok(peers)
}

fn measure(kind: Kind, root: &Path, run: u32, args: &[String]) -> Result<()> {
    let options = Options::parse(kind, args)?;
    let mut peers = chosen(&options)?;
    sandbox::mount()?;
    let most = options.receivers.iter().max().copied().unwrap_or(0);
    let largest = options.sizes.iter().max().copied().unwrap_or(0);
    memory::check_room(largest, most)?;
    let _pin = if options.pinned {
        eprintln!("pinning all free memory");
        Some(memory::Pin::all(root)?)
    } else {
        None
    };
    let tools = peers.iter().map(|peer| {
        let Facts { name, about, version: words, .. } = peer.facts();
        let version = if words.is_empty() { own_version() } else { tell_version(words) };
        Tool { name, about, version }
    });
    let mut report = Report {
        head: Head::new(kind.schema(), kind.name(), args),
        tools: tools.collect(),
        links: Vec::new(),
        rows: Vec::new(),
        options,
    };
    let options = report.options.clone();
    for (cores, rate, receivers) in options.clusters() {
        let _only = Only::cores(cores)?;
        let field = Field::up(run, receivers, rate, &options.congestion);
        let field = field.context("failed to set up the emulated cluster")?;
        let goodput = link::measure_goodput(&field).context("failed to measure the link")?;
        report.links.push(Link { rate, receivers, cores, goodput });
        for &bytes in &options.sizes {
            let job = Job { source: source(bytes)?, bytes, receivers, rate };
            let place = Place { root, field: &field, job: &job, goodput, cores };
            report.rows.extend(place.rows(&mut peers, &options));
            fs::remove_file(&job.source).context("failed to remove the source")?;
        }
    }
    let order = |row: &Row| (row.rate.is_none(), row.rate, Reverse(row.bytes));
    report.rows.sort_by_key(|row| (order(row), row.receivers));
    finish(root, &report)
}

/// While this exists, this process and all that it starts run on the first processors only.
struct Only(Option<CpuSet>);

impl Only {
    fn cores(cores: Option<usize>) -> Result<Self> {
        let Some(cores) = cores else { return Ok(Self(None)) };
        let all = sched_getaffinity(None).context("failed to ask for the processors")?;
        let mut few = CpuSet::new();
        let usable = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu));
        usable.take(cores).for_each(|cpu| few.set(cpu));
        sched_setaffinity(None, &few).context("failed to keep to a few processors")?;
        Ok(Self(Some(all)))
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        if let Some(all) = self.0 {
            // They could be used before.
            let _ = sched_setaffinity(None, &all);
        }
    }
}

fn source(bytes: u64) -> Result<PathBuf> {
    let path = PathBuf::from(DIR).join("source");
    source::write(&path, bytes)?;
    Ok(path)
}

fn finish(root: &Path, report: &Report) -> Result<()> {
    report.head.keep(root, report, table::markdown(report), report.options.write)?;
    let failed: Vec<_> = report.rows.iter().filter(|row| row.failed.is_some()).collect();
    if !failed.is_empty() {
        bail!("a tool failed in {} of {} rows", failed.len(), report.rows.len());
    }
    // A floor in one thread may take less time than a relay that was disturbed.
    for row in report.rows.iter().filter(|row| !row.peer.starts_with(peers::Floor::NAME)) {
        if let Some(ratio) = report.of_relay(row).filter(|ratio| *ratio < UNDER) {
            bail!(
                "{} takes {ratio:.2} of the time of the fastest relay to {} receivers at {}: that is no floor",
                row.peer,
                row.receivers,
                rate_text(row.rate)
            );
        }
    }
    Ok(())
}

/// Where and what all tools copy.
struct Place<'a> {
    root: &'a Path,
    field: &'a Field,
    job: &'a Job,
    goodput: f64,
    cores: Option<usize>,
}

impl Place<'_> {
    /// Lets all tools have their turns in rounds, right beside each other; then, if it is asked
    /// for, once more with a profile.
    fn rows(&self, peers: &mut [Box<dyn Peer>], options: &Options) -> Vec<Row> {
        let takes = peers.iter_mut().filter(|peer| peer.takes(self.job));
        let mut all: Vec<_> = takes.map(|peer| (self.row(&peer.facts()), peer)).collect();
        for _ in 0..options.runs {
            for (row, peer) in &mut all {
                let long = |sample: &Sample| sample.transfer > LONG.as_secs_f64();
                if row.failed.is_none() && !row.samples.iter().any(long) {
                    self.turn(peer.as_mut(), row, false);
                }
            }
        }
        if options.profile {
            for (row, peer) in all.iter_mut().filter(|(row, _)| row.failed.is_none()) {
                self.turn(peer.as_mut(), row, true);
            }
        }
        all.into_iter().map(|(row, _)| row).collect()
    }

    fn row(&self, facts: &Facts) -> Row {
        let Job { rate, bytes, receivers, .. } = *self.job;
        Row {
            rate,
            bytes,
            receivers,
            repeaters: if facts.forwards { receivers - 1 } else { 0 },
            cores: self.cores,
            peer: facts.name,
            limit: bytes as f64 / self.goodput,
            possible: None,
            samples: Vec::new(),
            profile: Vec::new(),
            failed: None,
        }
    }

    /// Lets a tool copy once. Copies with a profile aren't samples.
    fn turn(&self, peer: &mut dyn Peer, row: &mut Row, profiled: bool) {
        let outcome = peer.prepare(self.root, self.field, self.job);
        let outcome = outcome.context("failed to prepare the tool").and_then(|_daemons| {
            if profiled {
                row.profile = profile::take(self.field, self.job, || {
                    sample(self.field, self.job, peer, row.repeaters).map(drop)
                })?;
                return Ok(());
            }
            if row.samples.is_empty() {
                row.possible = peer.possible(self.field, self.job)?;
            }
            let taken = sample(self.field, self.job, peer, row.repeaters)?;
            tell(self.job, row.peer, &taken);
            row.samples.push(taken);
            Ok(())
        });
        let outcome = outcome.and(peer.finish(self.field).context("failed to stop the tool"));
        self.field.kill();
        if let Err(error) = outcome {
            row.failed = Some(format!("{error:#}"));
            eprintln!("{}: {error:#}", row.peer);
        }
    }
}

fn tell(job: &Job, peer: &str, sample: &Sample) {
    eprintln!(
        "{peer} {} to {} at {}: {:.3} s ({:.3} to start), CPU {:.2} head, {:.2} receivers",
        size_text(job.bytes),
        job.receivers,
        rate_text(job.rate),
        sample.start + sample.transfer,
        sample.start,
        sample.cpu_head,
        sample.cpu_receivers,
    );
}

fn sample(field: &Field, job: &Job, peer: &mut dyn Peer, repeaters: usize) -> Result<Sample> {
    let copies: Vec<_> = (1..=job.receivers).map(|n| field.dir(n).join(Job::COPY)).collect();
    for copy in &copies {
        if copy.exists() {
            fs::remove_file(copy)
                .with_context(|| format!("failed to remove {}", copy.display()))?;
        }
    }
    let given_back = memory::read_given_back();
    let before = used(field)?;
    let timing = peer.copy(field, job)?;
    let mut cpu: Vec<f64> = used(field)?
        .iter()
        .zip(before)
        .map(|(after, before)| (*after - before).as_secs_f64())
        .collect();
    let given_back_kib =
        memory::read_given_back().zip(given_back).map(|(after, before)| after - before);
    let extra = peer.extra(field, job)?;
    if let Some(own) = &extra.cpu {
        // The head started these processes, so its control group counted them; charge them to their
        // nodes.
        cpu[0] -= own.iter().sum::<f64>();
        cpu.splice(1..=own.len(), own.iter().copied());
    }
    source::verify(&job.source, &copies)?;
    let relays = if repeaters == 0 { job.receivers } else { repeaters };
    Ok(Sample {
        start: timing.start.as_secs_f64(),
        transfer: timing.transfer.as_secs_f64(),
        cpu_head: cpu[0],
        cpu_receivers: cpu[1..].iter().sum(),
        cpu_relays: cpu[1..=relays].iter().sum(),
        cpu_tail: cpu[job.receivers],
        given_back_kib,
        extra,
    })
}

/// Returns the CPU time that each node has used so far; the head is first.
fn used(field: &Field) -> Result<Vec<Duration>> {
    (0..=field.receivers).map(|node| field.group(node).used()).collect()
}
