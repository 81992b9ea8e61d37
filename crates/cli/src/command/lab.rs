//! `garland lab`: an emulated cluster on this machine.

use std::os::unix::process::ExitStatusExt;

use garland_core::cluster::topology::MediumKind;
use garland_core::units::{Nanos, Rate, bytes};
use garland_lab::check::Measured;
use garland_lab::{Lab, MediumStatus, NicStatus, Spec, Status, plan};
use garland_sys::clock;

use crate::args::{Args, LabCommand};
use crate::failure::{Exit, Failure, OrFailure};
use crate::launch::lab::state;
use crate::places::Places;
use crate::standing::Shelf;

/// Does what the user asked of a lab.
pub fn run(args: &Args, command: &LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::Up { nodes, rate, name, roots, check, dry_run } => {
            let rate = rate.as_deref().map(str::parse::<Rate>).transpose();
            let rate = rate.map_err(Failure::usage)?.map(|rate| rate.bits_per_second());
            let roots = roots.clone();
            up(Spec { roots, ..Spec::switch(name, *nodes, rate) }, *check, *dry_run)
        }
        LabCommand::Status => status(args),
        LabCommand::Exec { name, node, command } => {
            let lab = open(name)?;
            let mut words = command.iter();
            let program = words.next().ok_or_else(|| Failure::usage("no command is given"))?;
            let mut command = lab.command(node, program).map_err(Failure::nothing)?;
            let status = command.args(words).status();
            let status = status.or_nothing(format!("starting {}", program.to_string_lossy()))?;
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
            Ok(Exit::Code(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)))
        }
        LabCommand::Down { name } => {
            let places = Places::open()?;
            let running = Lab::end(&state(&places)?, name).map_err(Failure::nothing)?;
            Shelf::open(&places, Some(name))?.clear();
            println!("{name} {}", if running { "is down" } else { "was not up" });
            Ok(Exit::Done)
        }
    }
}

fn up(spec: Spec, check: bool, dry_run: bool) -> Result<Exit, Failure> {
    spec.validate().map_err(Failure::usage)?;
    if dry_run {
        plan::steps(&spec).iter().for_each(|step| println!("{step}"));
        return Ok(Exit::Done);
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    spec.cautions(cpus).iter().for_each(|caution| eprintln!("caution: {caution}"));
    let started = clock::now_ns();
    let lab = Lab::up(&state(&Places::open()?)?, spec).map_err(Failure::nothing)?;
    let took = Nanos(clock::now_ns() - started);
    println!("{} is up in {took}: the head {} and lab:{}", lab.name(), lab.head(), lab.others());
    if !check {
        return Ok(Exit::Done);
    }
    let report = lab.check().map_err(Failure::nothing)?;
    report.iter().for_each(print_measured);
    Ok(if report.iter().all(Measured::holds) { Exit::Done } else { Exit::Fault })
}

fn print_measured(measured: &Measured) {
    let Measured { from, to, at_once, goodput, theory } = measured;
    let mbits = |bits: f64| bits / 1e6;
    let beside = match theory {
        Some(theory) => format!(
            "of {:.1} Mbit/s: {:.2} %",
            mbits(*theory),
            measured.ratio().unwrap_or(0.0) * 100.0
        ),
        None => "unshaped".to_owned(),
    };
    let verdict = if measured.holds() { "ok" } else { "off" };
    println!("{verdict:<4}{from} -> {to}, {at_once} at once: {:.1} {beside}", mbits(*goodput));
}

fn open(name: &str) -> Result<Lab, Failure> {
    Lab::open(&state(&Places::open()?)?, name).map_err(Failure::nothing)
}

fn status(args: &Args) -> Result<Exit, Failure> {
    let state = state(&Places::open()?)?;
    let mut all = Vec::new();
    for record in state.list().map_err(Failure::nothing)? {
        if let Ok(lab) = Lab::open(&state, &record.spec.name) {
            all.push(lab.status().map_err(Failure::nothing)?);
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&all).or_nothing("writing the status")?);
    } else if all.is_empty() {
        println!("no lab is up; build one: garland lab up --nodes 4 --rate 1gbit");
    } else {
        all.iter().for_each(print_status);
    }
    Ok(Exit::Done)
}

fn print_status(status: &Status) {
    let topology = &status.spec.topology;
    let root = if status.rootless { "without root" } else { "as root" };
    println!("{}: {}, up for {:.0} s, {root}", status.spec.name, topology.name, status.age);
    println!(
        "  {:<12}{:<8}{:<28}{:>9}{:>16}{:>9}",
        "medium", "kind", "rate", "stations", "carried", "lost"
    );
    for (now, medium) in status.media.iter().zip(&topology.media) {
        let rate = medium.rate.map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string());
        let (kind, carried) = (kind(medium.kind), bytes::format(now.carried));
        let MediumStatus { name, stations, lost, .. } = now;
        println!("  {name:<12}{kind:<8}{rate:<28}{stations:>9}{carried:>16}{lost:>9}");
    }
    println!(
        "  {:<12}{:<16}{:<6}{:<12}{:>16}{:>16}{:>9}  root",
        "node", "address", "NIC", "medium", "sent", "received", "lost"
    );
    for node in &status.nodes {
        let (mut name, mut address) = (node.name.as_str(), node.address.to_string());
        let mut root = node.root.display().to_string();
        for nic in &node.nics {
            let NicStatus { name: device, medium, port } = nic;
            let (sent, received) = (bytes::format(port.sent), bytes::format(port.received));
            let line = format!(
                "  {name:<12}{address:<16}{device:<6}{medium:<12}{sent:>16}{received:>16}{:>9}  {root}",
                port.lost
            );
            println!("{}", line.trim_end());
            // What is the node's stands once, at its first NIC.
            (name, address, root) = ("", String::new(), String::new());
        }
    }
}

fn kind(kind: MediumKind) -> &'static str {
    match kind {
        MediumKind::Hub { .. } => "hub",
        MediumKind::Switch { .. } => "switch",
        MediumKind::Wire => "wire",
    }
}
