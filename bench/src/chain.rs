//! `bench chain`: one file to N nodes by every tool, at every size and rate.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::contest::Usage;
use super::field::{DIR, Field};
use super::kept::Head;
use super::machine::{own_version, version};
use super::memory;
use super::options::{Options, rate_text, size_text};
use super::peer::{Facts, Job, Peer};
use super::result::{Link, Report, Row, Sample, Tool};
use super::{Runnable, link, peers, sandbox, source, table};
use xtask::packages::{Need, install};

/// A run longer than this isn't repeated: its spread is small compared with its length.
const LONG: Duration = Duration::from_secs(60);
/// Packages that the emulated cluster and the measurement of the link's goodput need.
const NEEDS: &[Need] = &[("iproute2", "ip"), ("procps", "sysctl"), ("iperf3", "iperf3")];

/// The benchmark.
pub(crate) struct Chain;

impl Runnable for Chain {
    fn usage(&self) -> Usage {
        Options::usage()
    }

    fn run(&self, root: &Path, args: &[String]) -> Result<()> {
        let prepare = |args: &[String]| {
            let options = Options::parse(args)?;
            install(NEEDS)?;
            let peers = chosen(&options)?;
            for peer in &peers {
                install(peer.facts().needs)?;
            }
            if peers.iter().any(|peer| peer.facts().name.starts_with("garland")) {
                build(root)?;
            }
            Ok(())
        };
        sandbox::enter("chain", args, prepare, |run, args| measure(root, run, args))
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

fn measure(root: &Path, run: u32, args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
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
        let version = if words.is_empty() { own_version() } else { version(words) };
        Tool { name, about, version }
    });
    let mut report = Report {
        head: Head::new("garland.bench-chain/1", "chain", args),
        tools: tools.collect(),
        links: Vec::new(),
        rows: Vec::new(),
        options,
    };
    let options = report.options.clone();
    for &rate in &options.rates {
        for &receivers in &options.receivers {
            let field = Field::up(run, receivers, rate, &options.congestion);
            let field = field.context("failed to set up the emulated cluster")?;
            let goodput = link::goodput(&field).context("failed to measure the link")?;
            report.links.push(Link { rate, receivers, goodput });
            for &bytes in &options.sizes {
                let source = source(bytes)?;
                let job = Job { source, bytes, receivers, rate };
                for peer in &mut peers {
                    report.rows.extend(row(
                        root,
                        &field,
                        &job,
                        peer.as_mut(),
                        goodput,
                        options.runs,
                    ));
                }
                fs::remove_file(&job.source).context("failed to remove the source")?;
            }
        }
    }
    report.rows.sort_by_key(|row| (row.rate.is_none(), row.rate, std::cmp::Reverse(row.bytes)));
    finish(root, &report)
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
    Ok(())
}

fn row(
    root: &Path,
    field: &Field,
    job: &Job,
    peer: &mut dyn Peer,
    goodput: f64,
    runs: usize,
) -> Option<Row> {
    if !peer.takes(job) {
        return None;
    }
    let facts = peer.facts();
    let mut row = Row {
        rate: job.rate,
        bytes: job.bytes,
        receivers: job.receivers,
        repeaters: if facts.forwards { job.receivers - 1 } else { 0 },
        peer: facts.name,
        limit: job.bytes as f64 / goodput,
        possible: None,
        samples: Vec::new(),
        failed: None,
    };
    let outcome = peer.prepare(root, field, job).context("failed to prepare the tool");
    let outcome = outcome.and_then(|_daemons| {
        row.possible = peer.possible(field, job)?;
        samples(field, job, peer, runs, &mut row)
    });
    let outcome = outcome.and(peer.finish(field).context("failed to stop the tool"));
    field.kill();
    if let Err(error) = outcome {
        row.failed = Some(format!("{error:#}"));
        eprintln!("{}: {error:#}", facts.name);
    }
    Some(row)
}

fn samples(
    field: &Field,
    job: &Job,
    peer: &mut dyn Peer,
    runs: usize,
    row: &mut Row,
) -> Result<()> {
    for _ in 0..runs {
        let sample = sample(field, job, peer, row.repeaters)?;
        eprintln!(
            "{} {} to {} at {}: {:.3} s ({:.3} to start), CPU {:.2} head, {:.2} receivers",
            peer.facts().name,
            size_text(job.bytes),
            job.receivers,
            rate_text(job.rate),
            sample.start + sample.transfer,
            sample.start,
            sample.cpu_head,
            sample.cpu_receivers,
        );
        let long = sample.transfer > LONG.as_secs_f64();
        row.samples.push(sample);
        if long {
            break;
        }
    }
    Ok(())
}

fn sample(field: &Field, job: &Job, peer: &mut dyn Peer, repeaters: usize) -> Result<Sample> {
    let copies: Vec<_> = (1..=job.receivers).map(|n| field.dir(n).join(Job::COPY)).collect();
    for copy in &copies {
        if copy.exists() {
            fs::remove_file(copy)
                .with_context(|| format!("failed to remove {}", copy.display()))?;
        }
    }
    let given_back = memory::given_back();
    let before = used(field)?;
    let timing = peer.copy(field, job)?;
    let mut cpu: Vec<f64> = used(field)?
        .iter()
        .zip(before)
        .map(|(after, before)| (*after - before).as_secs_f64())
        .collect();
    let given_back_kib = memory::given_back().zip(given_back).map(|(after, before)| after - before);
    let extra = peer.extra(field, job)?;
    if let Some(own) = &extra.cpu {
        // The head started these processes, so its control group counted them; charge them to their nodes.
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
        given_back_kib,
        extra,
    })
}

/// Returns the CPU time that each node has used so far; the head is first.
fn used(field: &Field) -> Result<Vec<Duration>> {
    (0..=field.receivers).map(|node| field.group(node).used()).collect()
}
