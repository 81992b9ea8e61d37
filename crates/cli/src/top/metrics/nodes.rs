//! Metrics of nodes, and of the lanes of their copies.

use garland_protocol::measure::KernelCounts;

use super::exposition::{Exposition, Kind};
use crate::top::board::{Board, Node};
use crate::top::figures::{Figures, Lane};

/// A metric of a node's activity: its name without the prefix, its help, and its value.
type ActivityMetric = (&'static str, &'static str, fn(&Figures) -> f64);

/// A metric that the node's kernel counts since it was booted.
type KernelMetric = (&'static str, &'static str, fn(&KernelCounts) -> u64);

/// A metric of the lanes of copies; there is no value if it is unknown.
type LaneMetric = (&'static str, &'static str, fn(&Lane) -> Option<f64>);

const OF_ACTIVITY: [ActivityMetric; 8] = [
    ("received_bytes_per_second", "Bytes received over all NICs.", Figures::received),
    ("sent_bytes_per_second", "Bytes sent over all NICs.", Figures::sent),
    ("resent_segments_per_second", "Retransmitted TCP segments.", |node| node.resent),
    ("read_bytes_per_second", "Bytes read from all disks.", |node| node.read),
    ("written_bytes_per_second", "Bytes written to all disks.", |node| node.written),
    ("disk_busy_ratio", "Share of the time in which the busiest disk was busy.", |node| node.disk),
    ("cpu_busy_ratio", "Share of the processors' time that was used.", |node| node.cpu),
    ("running_jobs", "Jobs of farms that run.", |node| node.jobs.len() as f64),
];

const OF_KERNEL: [KernelMetric; 5] = [
    ("received_bytes_total", "Bytes received over all NICs.", |counts| {
        counts.nics.iter().map(|nic| nic.received).sum()
    }),
    ("sent_bytes_total", "Bytes sent over all NICs.", |counts| {
        counts.nics.iter().map(|nic| nic.sent).sum()
    }),
    ("resent_segments_total", "Retransmitted TCP segments.", |counts| counts.resent),
    ("read_bytes_total", "Bytes read from all disks.", |counts| {
        counts.disks.iter().map(|disk| disk.read).sum()
    }),
    ("written_bytes_total", "Bytes written to all disks.", |counts| {
        counts.disks.iter().map(|disk| disk.written).sum()
    }),
];

const OF_LANES: [LaneMetric; 4] = [
    ("held_bytes", "Bytes of the copy that the node has.", |lane| Some(lane.held as f64)),
    ("length_bytes", "Bytes of the copy.", |lane| Some(lane.length? as f64)),
    ("left_seconds", "Time that the copy to the node needs at its present rate.", |lane| lane.left),
    ("received_bytes_per_second", "Bytes that the lane received.", |lane| Some(lane.received)),
];

/// Adds the metrics of all nodes.
pub fn add(text: &mut Exposition, board: &Board) {
    text.begin("node_up", Kind::Gauge, "Whether the node is watched.");
    for node in &board.nodes {
        let up = f64::from(u8::from(node.lost.is_none()));
        text.value("node_up", &[("node", &node.name)], up);
    }
    let known = || board.nodes.iter().filter_map(|node| Some((node, node.figures.as_ref()?)));
    for (name, help, figure) in OF_ACTIVITY {
        let name = format!("node_{name}");
        text.begin(&name, Kind::Gauge, help);
        for (node, figures) in known() {
            text.value(&name, &[("node", &node.name)], figure(figures));
        }
    }
    for (name, help, count) in OF_KERNEL {
        let name = format!("node_{name}");
        text.begin(&name, Kind::Counter, help);
        for node in &board.nodes {
            if let Some(counts) = node.counts() {
                text.value(&name, &[("node", &node.name)], count(counts) as f64);
            }
        }
    }
    let lanes = || known().flat_map(|(node, it)| it.lanes.iter().map(move |lane| (node, lane)));
    for (name, help, figure) in OF_LANES {
        let name = format!("lane_{name}");
        text.begin(&name, Kind::Gauge, help);
        for (node, lane) in lanes() {
            if let Some(value) = figure(lane) {
                text.value(&name, &labels(node, lane, &lane.number.to_string()), value);
            }
        }
    }
    let name = "lane_waiting_ratio";
    text.begin(name, Kind::Gauge, "Share of the time in which the lane waited for this.");
    for (node, lane) in lanes() {
        let number = lane.number.to_string();
        let waits_for = ("for", lane.limiter.word());
        let labels = [&labels(node, lane, &number)[..], &[waits_for]].concat();
        text.value(name, &labels, lane.share.unwrap_or(1.0));
    }
}

/// Returns the labels of a lane on a node.
fn labels<'a>(node: &'a Node, lane: &'a Lane, number: &'a str) -> [(&'a str, &'a str); 4] {
    [("node", &node.name), ("copy", &lane.copy), ("lane", number), ("path", &lane.name)]
}
