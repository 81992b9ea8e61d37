//! The results of `garland lab`.

use std::fmt;

use garland_core::printable;
use garland_core::units::{Nanos, bytes};
use garland_lab::check::Report;
use garland_lab::{DelayBy, DelayCounters, MediumStatus, NicStatus, NodeStatus, Status};
use garland_results::head::Head;
use garland_topology::MediumKind;
use serde::Serialize;

/// The result object `garland.lab-up/2`.
#[derive(Serialize)]
pub struct UpResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The lab as it is now.
    pub lab: Status,
    /// The measured rates of the lab's media; `None` without `--check`.
    pub check: Option<Report>,
}

impl UpResult {
    /// Returns the check's findings as text; empty without `--check`.
    pub fn checks(&self) -> String {
        self.check.as_ref().map(Report::to_string).unwrap_or_default()
    }
}

/// The result object `garland.lab-run/2`.
#[derive(Serialize)]
pub struct RunResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The lab's name.
    pub lab: String,
    /// The measured rates of the lab's media; `None` without `--check`.
    pub check: Option<Report>,
    /// The command's exit code; `None` if it was not run.
    pub code: Option<u8>,
    /// What the lab's own delay line did while the command ran; `None` if the lab has none.
    pub delay: Option<DelayCounters>,
    /// Why what the command measured says nothing about the delay of the topology; `None` if it
    /// does.
    pub void: Option<String>,
}

/// The result object `garland.lab-status/2`.
#[derive(Serialize)]
pub struct StatusResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The labs that are up.
    pub labs: Vec<Status>,
}

impl fmt::Display for StatusResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.labs.is_empty() {
            writeln!(f, "no lab is up; build one: garland lab up --nodes 4 --rate 1gbit")?;
        }
        self.labs.iter().try_for_each(|lab| write_lab(f, lab))
    }
}

fn write_lab(f: &mut fmt::Formatter<'_>, lab: &Status) -> fmt::Result {
    let root = if lab.rootless { "without root" } else { "as root" };
    let shape = &lab.spec.topology.name;
    writeln!(f, "{}: {shape}, up for {:.0} s, {root}", lab.spec.name, lab.age)?;
    write_media(f, lab)?;
    write_delay(f, lab)?;
    lab.nodes.iter().enumerate().try_for_each(|(place, node)| write_node(f, place == 0, node))?;
    let roots = lab.nodes.first().and_then(|node| node.root.parent());
    roots.map_or(Ok(()), |roots| writeln!(f, "  directories {}/NODE", printable::path(roots)))
}

fn write_media(f: &mut fmt::Formatter<'_>, lab: &Status) -> fmt::Result {
    writeln!(
        f,
        "  {:<11} {:<7} {:<27} {:>8} {:>11} {:>6}",
        "medium", "kind", "rate", "stations", "carried", "lost"
    )?;
    for (now, medium) in lab.media.iter().zip(&lab.spec.topology.media) {
        let rate = medium.rate.map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string());
        let word = kind(medium.kind);
        let carried = bytes::format(now.carried);
        let MediumStatus { name, stations, lost, .. } = now;
        writeln!(f, "  {name:<11} {word:<7} {rate:<27} {stations:>8} {carried:>11} {lost:>6}")?;
    }
    Ok(())
}

/// Writes what holds the frames of media with a delay, and how well it did.
fn write_delay(f: &mut fmt::Formatter<'_>, lab: &Status) -> fmt::Result {
    let delayed = lab.spec.topology.media.iter().filter(|medium| medium.delay > Nanos::ZERO);
    for medium in delayed {
        writeln!(f, "  {}: delay {}, one way", medium.name, medium.delay)?;
    }
    match (&lab.delay_by, &lab.delay) {
        (None, _) => Ok(()),
        (Some(DelayBy::Netem), _) | (_, None) => writeln!(f, "  delays by netem"),
        (Some(DelayBy::Own), Some(counters)) => {
            let DelayCounters { released, late, lost, worst } = counters;
            writeln!(
                f,
                "  delays by a process: {released} frames, {late} late, {lost} lost, the worst late \
                 by {worst}"
            )
        }
    }
}

/// Writes a line for each NIC of a node: the first line also has the node's name and address.
/// Column titles come before the `first` node.
fn write_node(f: &mut fmt::Formatter<'_>, first: bool, node: &NodeStatus) -> fmt::Result {
    if first {
        writeln!(
            f,
            "  {:<11} {:<14} {:<5} {:<11} {:>11} {:>11} {:>6}",
            "node", "address", "NIC", "medium", "sent", "received", "lost"
        )?;
    }
    let mut name = node.name.as_str();
    let mut address = node.address.to_string();
    for nic in &node.nics {
        let NicStatus { name: device, medium, port } = nic;
        let sent = bytes::format(port.sent);
        let received = bytes::format(port.received);
        writeln!(
            f,
            "  {name:<11} {address:<14} {device:<5} {medium:<11} {sent:>11} {received:>11} {:>6}",
            port.lost
        )?;
        (name, address) = ("", String::new());
    }
    Ok(())
}

/// Returns the name of a kind of medium.
pub fn kind(kind: MediumKind) -> &'static str {
    match kind {
        MediumKind::Hub { .. } => "hub",
        MediumKind::Switch { .. } => "switch",
        MediumKind::Wire => "wire",
    }
}

/// The result object `garland.lab-down/2`.
#[derive(Serialize)]
pub struct DownResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The lab's name.
    pub lab: String,
    /// Whether the lab was up.
    pub was_up: bool,
}

impl fmt::Display for DownResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.lab, if self.was_up { "is down" } else { "was not up" })
    }
}
