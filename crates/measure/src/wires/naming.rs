//! Faults, as text and as fields of the result.

use garland_analysis::pairs::{Accusation, Component, OnRails};
use garland_core::cluster::nodelist;
use garland_protocol::operation::wires::{GRACE_NS, Survey};
use serde::Serialize;

use super::evidence::Evidence;

/// A measure by which faults are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The rate of one stream.
    Rate,
    /// The round trip of a few bytes.
    Latency,
    /// Segments that were sent again.
    Loss,
    /// The rate of one stream, compared with an earlier run.
    Baseline,
}

/// A fault: a part that is worse than its peers, or than in the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The kind of part: `node`, `nic`, `sending`, `receiving`, `pair`, `one-way`, `between`,
    /// `across`.
    pub part: &'static str,
    /// The only rail that has the fault; none if all rails have it.
    pub rail: Option<usize>,
    /// The measure by which the fault was found.
    pub by: Measure,
    /// The names of the part's nodes. Of a one-way pair, the sender comes first.
    pub nodes: Vec<String>,
    /// If the fault is between two groups of nodes, the names of the second group; otherwise empty.
    pub others: Vec<String>,
    /// The ratio of the part's rate to that of its peers; for the measure `baseline`, to the part's
    /// earlier rate. For the other measures, the ratio of the peers' round trip or loss to the
    /// part's.
    pub share: f64,
    /// The value of `share` below which a part is reported.
    pub bound: f64,
    /// The fraction of the segments over this part that were lost; none if unknown.
    pub lost: Option<f64>,
    /// The factor by which the loss prolongs a copy: the peers' rate, divided by that of a stream
    /// of a second.
    pub slower: Option<f64>,
    /// The fault in words, with evidence for its cause.
    pub text: String,
    #[serde(skip)]
    component: Component,
}

impl Named {
    /// Returns whether `other` was found by another measure in the same part as this fault, or in a
    /// piece of it. `nodes` is the number of all nodes.
    fn covers(&self, other: &Self, nodes: usize) -> bool {
        let on_rail = self.rail.is_none() || self.rail == other.rail;
        on_rail && self.by != other.by && self.component.includes(&other.component, nodes)
    }

    /// Describes the fault `found`, which the measure `by` revealed; `names` are those of all
    /// nodes.
    pub fn new(found: &OnRails, by: Measure, names: &[&str], survey: &Survey) -> Self {
        let OnRails { accusation, rail } = found;
        let component = accusation.part.clone();
        let of = |places: &[usize]| -> Vec<String> {
            places.iter().map(|&place| names[place].to_owned()).collect()
        };
        let (part, nodes, others) = match &component {
            Component::Node(node) if rail.is_some() => ("nic", vec![*node], vec![]),
            Component::Node(node) => ("node", vec![*node], vec![]),
            Component::Sending(node) => ("sending", vec![*node], vec![]),
            Component::Receiving(node) => ("receiving", vec![*node], vec![]),
            Component::Pair(a, b) => ("pair", vec![*a, *b], vec![]),
            Component::OneWay(a, b) => ("one-way", vec![*a, *b], vec![]),
            Component::Between(one, other) => ("between", one.clone(), other.clone()),
            Component::Across(one, other) => ("across", one.clone(), other.clone()),
        };
        let evidence = Evidence::collect(&component, *rail, survey);
        let place = Place { rail: *rail, rails: survey.rails.len() };
        let text = match by {
            Measure::Loss => lossy(&component, place, &evidence, names) + &evidence.cost(),
            _ => format!("{}{}", text(accusation, place, by, names), evidence.cause()),
        };
        let lost = evidence.lost();
        let slower = evidence.slower.filter(|_| by == Measure::Loss);
        let share = accusation.share;
        let bound = accusation.bound;
        let rail = *rail;
        let nodes = of(&nodes);
        let others = of(&others);
        Self { part, rail, by, nodes, others, share, bound, lost, slower, text, component }
    }
}

/// Returns each of `faults` once, the worst first. If several measures show one, the largest part
/// stays; of equal ones the first. `nodes` is the number of all nodes.
pub fn once(faults: Vec<Named>, nodes: usize) -> Vec<Named> {
    let is_told = |at: usize| {
        let mut others = faults.iter().enumerate().filter(|(it, _)| *it != at);
        others.any(|(it, other)| {
            other.covers(&faults[at], nodes) && (it < at || !faults[at].covers(other, nodes))
        })
    };
    let kept: Vec<bool> = (0..faults.len()).map(|at| !is_told(at)).collect();
    let kept = faults.into_iter().zip(kept).filter(|(_, kept)| *kept);
    let mut kept: Vec<Named> = kept.map(|(fault, _)| fault).collect();
    let rate = |fault: &Named| match fault.by {
        Measure::Rate | Measure::Baseline => fault.share,
        Measure::Loss => 1.0 / fault.slower.unwrap_or(1.0).max(1.0),
        Measure::Latency => 1.0,
    };
    kept.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    kept
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

fn folded(places: &[usize], names: &[&str]) -> String {
    nodelist::fold(&places.iter().map(|&place| names[place]).collect::<Vec<_>>())
}

fn text(accusation: &Accusation, place: Place, by: Measure, names: &[&str]) -> String {
    let percent = format!("{:.0} %", accusation.share * 100.0);
    let fold = |places: &[usize]| folded(places, names);
    let measure = match by {
        Measure::Latency => return late(accusation, place, &fold),
        Measure::Baseline => "of its rate in the baseline",
        Measure::Rate | Measure::Loss => "of its peers' rate",
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
        Component::Across(one, other) => format!(
            "from {} to {}{on}: {percent} {measure}, but full rate within each group and in the other \
             direction: the cable or the route between the groups, in that direction",
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
        Component::Between(one, other) | Component::Across(one, other) => (
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

/// Describes a part that loses segments.
fn lossy(part: &Component, place: Place, evidence: &Evidence, names: &[&str]) -> String {
    let percent = |lost: Option<f64>| format!("{:.1} %", lost.unwrap_or(0.0) * 100.0);
    let lost = percent(evidence.lost());
    let on = place.words();
    match part {
        Component::Node(node) => {
            let [sent, received] = evidence.by_direction(*node).map(percent);
            format!(
                "{}{on}: {sent} of the segments that it sends and {received} of those that are sent to it are \
                 lost, with all partners: {}",
                names[*node],
                place.of_node()
            )
        }
        Component::Sending(node) => format!(
            "{}{on}: {lost} of the segments that it sends are lost, to all partners: the transmitter of its \
             NIC, the cable or the switch port",
            names[*node]
        ),
        Component::Receiving(node) => format!(
            "{}{on}: {lost} of the segments that are sent to it are lost, from all partners: the receiver of \
             its NIC, the cable or the switch port",
            names[*node]
        ),
        Component::Pair(a, b) => format!(
            "{} and {}{on}: {lost} of the segments between them are lost, but none with others: the cable or \
             the route between them",
            names[*a], names[*b]
        ),
        Component::OneWay(a, b) => format!(
            "from {} to {}{on}: {lost} of the segments are lost, but none back or with others: the route in \
             that direction",
            names[*a], names[*b]
        ),
        Component::Between(one, other) => format!(
            "between {} and {}{on}: {lost} of the segments are lost, but none within each group: the cable \
             or the route between the groups",
            folded(one, names),
            folded(other, names)
        ),
        Component::Across(one, other) => format!(
            "from {} to {}{on}: {lost} of the segments are lost, but none back or within each group: the \
             cable or the route between the groups, in that direction",
            folded(one, names),
            folded(other, names)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(by: Measure, component: Component, share: f64) -> Named {
        let lost = None;
        let slower = (by == Measure::Loss).then_some(1.0 / share);
        let nodes = vec![];
        let others = vec![];
        let text = String::new();
        let part = "";
        let rail = None;
        let bound = 0.9;
        Named { part, rail, by, nodes, others, share, bound, lost, slower, text, component }
    }

    /// The measures and parts that stay, in order.
    fn kept(faults: &[(Measure, Component, f64)]) -> Vec<(Measure, Component)> {
        let faults = faults.iter().map(|(by, part, share)| fault(*by, part.clone(), *share));
        once(faults.collect(), 6).into_iter().map(|it| (it.by, it.component)).collect()
    }

    #[test]
    fn what_several_measures_show_is_told_once_by_the_largest_part() {
        use Component::{Node, OneWay, Pair, Receiving, Sending};
        use Measure::{Latency, Loss, Rate};
        let lossy = (Loss, Node(2), 0.8);
        // What a loss leaves of rates depends on chance.
        let pieces =
            [(Rate, OneWay(2, 4), 0.5), (Rate, Receiving(2), 0.8), (Latency, Node(2), 0.1)];
        let all = [vec![lossy.clone()], pieces.to_vec()].concat();
        assert_eq!(kept(&all), [(Loss, Node(2))]);
        // A slow node whose queue overflows in one direction.
        assert_eq!(kept(&[(Loss, Sending(3), 0.9), (Rate, Node(3), 0.3)]), [(Rate, Node(3))]);
        // One measure may show a part and, worse still, a piece of it.
        let same = [(Rate, Node(1), 0.5), (Rate, Pair(1, 2), 0.2)];
        assert_eq!(kept(&same), [(Rate, Pair(1, 2)), (Rate, Node(1))]);
        let apart = [lossy, (Rate, Node(4), 0.3)];
        assert_eq!(kept(&apart), [(Rate, Node(4)), (Loss, Node(2))]);
    }
}
