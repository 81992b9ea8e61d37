//! Metrics of nodes, and of the lanes of their copies.

use garland_protocol::measure::KernelCounts;

use super::exposition::{Exposition, Kind};
use crate::top::board::{Board, Node};
use crate::top::figures::{Figures, Lane};

/// A metric of a node's activity: its name without the prefix, its help, and its value.
type ActivityMetric = (&'static str, &'static str, fn(&Figures) -> f64);

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
    add_counters(text, board);
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

/// A counter of a NIC, a disk, or the whole kernel, since boot.
struct Counter {
    name: &'static str,
    help: &'static str,
    /// The name of the label that tells apart what is counted; empty if there is only one.
    label: &'static str,
    /// What is counted, and how much.
    counts: fn(&KernelCounts) -> Vec<(&str, u64)>,
}

const COUNTERS: [Counter; 5] = [
    Counter {
        name: "node_received_bytes_total",
        help: "Bytes received over a NIC.",
        label: "nic",
        counts: |kernel| kernel.nics.iter().map(|nic| (nic.name.as_str(), nic.received)).collect(),
    },
    Counter {
        name: "node_sent_bytes_total",
        help: "Bytes sent over a NIC.",
        label: "nic",
        counts: |kernel| kernel.nics.iter().map(|nic| (nic.name.as_str(), nic.sent)).collect(),
    },
    Counter {
        name: "node_read_bytes_total",
        help: "Bytes read from a disk.",
        label: "disk",
        counts: |kernel| kernel.disks.iter().map(|disk| (disk.name.as_str(), disk.read)).collect(),
    },
    Counter {
        name: "node_written_bytes_total",
        help: "Bytes written to a disk.",
        label: "disk",
        counts: |kernel| {
            kernel.disks.iter().map(|disk| (disk.name.as_str(), disk.written)).collect()
        },
    },
    Counter {
        name: "node_resent_segments_total",
        help: "Retransmitted TCP segments.",
        label: "",
        counts: |kernel| vec![("", kernel.resent)],
    },
];

/// Adds what kernels count. A NIC that goes away takes its own series along: in a sum, its end
/// would look like a restart of the counter.
fn add_counters(text: &mut Exposition, board: &Board) {
    for Counter { name, help, label, counts } in COUNTERS {
        text.begin(name, Kind::Counter, help);
        for node in &board.nodes {
            let kernel = node.counts().into_iter();
            for (counted, count) in kernel.flat_map(counts) {
                let all = [("node", node.name.as_str()), (label, counted)];
                let labels = if label.is_empty() { &all[..1] } else { &all[..] };
                text.value(name, labels, count as f64);
            }
        }
    }
}

/// Returns the labels of a lane on a node.
fn labels<'a>(node: &'a Node, lane: &'a Lane, number: &'a str) -> [(&'a str, &'a str); 4] {
    [("node", &node.name), ("copy", &lane.copy), ("lane", number), ("path", &lane.name)]
}
