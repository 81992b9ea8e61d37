//! Faults, as text and as fields of the result.

use garland_analysis::pairs::{Accusation, Component, OnRails};
use garland_core::cluster::nodelist;
use serde::Serialize;

use super::survey::{GRACE_NS, Survey};

/// A fault: a part that is slower than its peers, or than in the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The kind of part: `node`, `nic`, `sending`, `receiving`, `pair`, `one-way`, `between`.
    pub part: &'static str,
    /// The only rail that has the fault; none if all rails have it.
    pub rail: Option<usize>,
    /// The measure by which the fault was found: `rate`, `latency` or `baseline`.
    pub by: &'static str,
    /// The names of the part's nodes. Of a one-way pair, the sender comes first.
    pub nodes: Vec<String>,
    /// If the fault is between two groups of nodes, the names of the second group; otherwise empty.
    pub others: Vec<String>,
    /// The ratio of the part's rate to that of its peers; for the measure `baseline`, to the part's
    /// earlier rate.
    pub share: f64,
    /// The value of `share` below which a part is reported.
    pub bound: f64,
    /// The fault in words, with evidence for its cause.
    pub text: String,
}

impl Named {
    /// Returns whether this fault makes `other` redundant: `other` is a fault of the same part or
    /// of a piece of it.
    pub fn covers(&self, other: &Self) -> bool {
        let whole = ["node", "nic"].contains(&self.part) && self.part != other.part;
        let within = whole && ["nic", "sending", "receiving"].contains(&other.part);
        let same = self.part == other.part || within;
        same && self.nodes == other.nodes && (self.rail.is_none() || self.rail == other.rail)
    }

    /// Describes the fault `found`, which the measure `by` revealed; `names` are those of all nodes.
    pub fn new(found: &OnRails, by: &'static str, names: &[&str], survey: &Survey<'_>) -> Self {
        let OnRails { accusation, rail } = found;
        let of = |places: &[usize]| -> Vec<String> {
            places.iter().map(|&place| names[place].to_owned()).collect()
        };
        let (part, nodes, others) = match &accusation.part {
            Component::Node(node) if rail.is_some() => ("nic", vec![*node], vec![]),
            Component::Node(node) => ("node", vec![*node], vec![]),
            Component::Sending(node) => ("sending", vec![*node], vec![]),
            Component::Receiving(node) => ("receiving", vec![*node], vec![]),
            Component::Pair(a, b) => ("pair", vec![*a, *b], vec![]),
            Component::OneWay(a, b) => ("one-way", vec![*a, *b], vec![]),
            Component::Between(one, other) => ("between", one.clone(), other.clone()),
        };
        let (share, bound) = (accusation.share, accusation.bound);
        let place = Place { rail: *rail, rails: survey.rails.len() };
        let text = text(accusation, place, by, names);
        let text = format!("{text}{}", evidence(&nodes, part, *rail, survey));
        Self { part, rail: *rail, by, nodes: of(&nodes), others: of(&others), share, bound, text }
    }
}

/// The rails that have a fault.
#[derive(Clone, Copy)]
struct Place {
    /// The faulty rail, if it is the only one; none if all rails are faulty.
    rail: Option<usize>,
    /// The number of rails of the survey.
    rails: usize,
}

impl Place {
    /// Returns the text that follows a node's name and says which rails are faulty; empty if there
    /// is only one rail.
    fn words(self) -> String {
        match self.rail {
            Some(rail) => format!(", rail {rail}"),
            None if self.rails > 1 => format!(", all {} rails", self.rails),
            None => String::new(),
        }
    }

    /// Returns the possible causes of a node that is slow in both directions, in words.
    fn of_node(self) -> &'static str {
        match self.rail {
            Some(_) => {
                "its NIC on that rail or that NIC's cable, since its other NICs are not slow"
            }
            None if self.rails > 1 => "the host, since all of its NICs are slow",
            None => "its cable, its NIC or the host",
        }
    }
}

fn text(accusation: &Accusation, place: Place, by: &str, names: &[&str]) -> String {
    let percent = format!("{:.0} %", accusation.share * 100.0);
    let fold = |places: &[usize]| {
        nodelist::fold(&places.iter().map(|&place| names[place]).collect::<Vec<_>>())
    };
    let measure = match by {
        "latency" => return late(accusation, place, &fold),
        "baseline" => "of its rate in the baseline",
        _ => "of its peers' rate",
    };
    let on = place.words();
    match &accusation.part {
        Component::Node(node) => format!(
            "{}{on}: {percent} {measure}, in both directions with all partners: {}",
            names[*node],
            place.of_node()
        ),
        Component::Sending(node) => format!(
            "{}{on}: sends at {percent} {measure}, to all partners, but receives at full rate: the \
             transmitter of its NIC, the cable or the switch port",
            names[*node]
        ),
        Component::Receiving(node) => format!(
            "{}{on}: receives at {percent} {measure}, from all partners, but sends at full rate: the \
             receiver of its NIC, the cable or the switch port",
            names[*node]
        ),
        Component::Pair(a, b) => format!(
            "{} and {}{on}: {percent} {measure} between them in both directions, but full rate with all \
             others: the cable or the route between them",
            names[*a], names[*b]
        ),
        Component::OneWay(a, b) => format!(
            "from {} to {}{on}: {percent} {measure}, but full rate in the other direction and with all \
             others: the route in that direction",
            names[*a], names[*b]
        ),
        Component::Between(one, other) => format!(
            "between {} and {}{on}: {percent} {measure}, but full rate within each group: the cable or \
             the route between the groups",
            fold(one),
            fold(other)
        ),
    }
}

fn late(accusation: &Accusation, place: Place, fold: &dyn Fn(&[usize]) -> String) -> String {
    let (nodes, cause) = match &accusation.part {
        Component::Node(node) | Component::Sending(node) | Component::Receiving(node) => {
            let cause = match place.rail {
                Some(_) => "with all partners: its NIC on that rail, or that NIC's cable",
                None => "with all partners: the host, or its cable",
            };
            (fold(&[*node]), cause)
        }
        Component::Pair(a, b) | Component::OneWay(a, b) => {
            (fold(&[*a, *b]), "between them: the route or the cable between them")
        }
        Component::Between(one, other) => (
            format!("{} and {}", fold(one), fold(other)),
            "between them: the route or the cable between the groups",
        ),
    };
    let times = 1.0 / accusation.share;
    let grace = GRACE_NS / 1000;
    let on = place.words();
    format!(
        "{nodes}{on}: {times:.1} times the peers' round trip (with {grace} µs added to each) {cause}"
    )
}

/// Returns evidence for the cause of a fault from the kernel's statistics of the streams, in words;
/// empty if there is none.
fn evidence(nodes: &[usize], part: &str, rail: Option<usize>, survey: &Survey<'_>) -> String {
    let concerns = |from: usize, to: usize| match part {
        "sending" => nodes.contains(&from),
        "receiving" => nodes.contains(&to),
        "node" | "nic" => nodes.contains(&from) || nodes.contains(&to),
        _ => nodes.contains(&from) && nodes.contains(&to),
    };
    let (mut segments, mut again, mut busy, mut window) = (0_u64, 0_u64, 0_u64, 0_u64);
    let rails =
        survey.rails.iter().enumerate().filter(|(at, _)| rail.is_none_or(|rail| *at == rail));
    for ((from, to), way) in rails.flat_map(|(_, found)| &found.directions) {
        if let Some(went) = way.went.filter(|_| concerns(*from, *to)) {
            segments += u64::from(went.segments);
            again += u64::from(went.retransmits);
            busy += went.busy_us;
            window += went.window_limited_us;
        }
    }
    let (lost, full) = (again as f64 / segments.max(1) as f64, window as f64 / busy.max(1) as f64);
    if lost >= 0.001 {
        format!(
            " ({:.1} % of its segments were retransmitted: a cable, a NIC or a full port drops them)",
            lost * 100.0
        )
    } else if full >= 0.5 {
        format!(
            " (for {:.0} % of the time the receiver's window was full: a host is too slow)",
            full * 100.0
        )
    } else {
        String::new()
    }
}
