//! What `garland lab` tells.

use std::fmt;

use garland_core::units::{Rate, bytes};
use garland_lab::Status;
use garland_lab::check::Measured;
use serde::Serialize;

use crate::result::Head;

/// The result object `garland.lab-up/1`.
#[derive(Serialize)]
pub struct UpResult {
    /// What every result begins with.
    #[serde(flatten)]
    pub head: Head,
    /// The lab as it is now.
    pub lab: Status,
    /// What its wires gave, if that was asked for.
    pub check: Vec<Measured>,
}

impl UpResult {
    /// A line for each flow that was measured.
    pub fn checks(&self) -> String {
        self.check.iter().map(|measured| format!("{}\n", line(measured))).collect()
    }
}

fn line(measured: &Measured) -> String {
    let Measured { from, to, at_once, goodput, theory } = measured;
    let rate = |bits: f64| Rate::from_bits_per_second(bits as u64);
    let beside = match (theory, measured.ratio()) {
        (Some(theory), Some(ratio)) => format!("{:.2} % of {}", ratio * 100.0, rate(*theory)),
        _ => "unshaped".to_owned(),
    };
    let verdict = if measured.holds() { "ok" } else { "off" };
    format!("{verdict:<7} {from} -> {to}, {at_once} at once: {}, {beside}", rate(*goodput))
}

/// The result object `garland.lab-status/1`.
#[derive(Serialize)]
pub struct StatusResult {
    /// What every result begins with.
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
    let rate = lab.spec.medium.rate().map(|bits| Rate::from_bits_per_second(bits).to_string());
    let rate = rate.unwrap_or_else(|| "unshaped".to_owned());
    let root = if lab.rootless { "without root" } else { "as root" };
    writeln!(f, "{}: switch, {rate}, up for {:.0} s, {root}", lab.spec.name, lab.age)?;
    writeln!(
        f,
        "{:<7} {:<14} {:>11} {:>11} {:>6}  folder",
        "node", "address", "sent", "received", "lost"
    )?;
    for node in &lab.nodes {
        let link = node.link;
        let (name, address) = (&node.name, node.address.to_string());
        let (sent, received) = (bytes::format(link.sent), bytes::format(link.received));
        let root = node.root.display();
        writeln!(
            f,
            "{name:<7} {address:<14} {sent:>11} {received:>11} {:>6}  {root}",
            link.dropped
        )?;
    }
    Ok(())
}

/// The result object `garland.lab-down/1`.
#[derive(Serialize)]
pub struct DownResult {
    /// What every result begins with.
    #[serde(flatten)]
    pub head: Head,
    /// The lab's name.
    pub lab: String,
    /// Whether there was anything to take down.
    pub was_up: bool,
}

impl fmt::Display for DownResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.lab, if self.was_up { "is down" } else { "was not up" })
    }
}
