//! The figures of nodes as a text file that Prometheus reads (the text-based exposition format,
//! version 0.0.4), such as the textfile collector of its node exporter.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use garland_sys::new_file;

use super::board::{Board, Node};
use super::figures::{Figures, Lane};

/// A metric of nodes: its name without the prefix, its help, and its value.
type NodeMetric = (&'static str, &'static str, fn(&Figures) -> f64);

/// A metric of the lanes of copies; there is no value if it is unknown.
type LaneMetric = (&'static str, &'static str, fn(&Lane) -> Option<f64>);

const OF_NODES: [NodeMetric; 8] = [
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

/// Writes the figures of all nodes to `path`, which always has a whole file.
pub fn write(path: &Path, board: &Board) -> io::Result<()> {
    new_file::write(path, text(board).as_bytes())
}

/// Formats the figures of all nodes.
fn text(board: &Board) -> String {
    let mut text = String::new();
    begin(&mut text, "node_up", "Whether the node is watched.");
    for node in &board.nodes {
        let up = u8::from(node.lost.is_none());
        let _ = writeln!(text, "garland_node_up{{{}}} {up}", label("node", &node.name));
    }
    let known = || board.nodes.iter().filter_map(|node| Some((node, node.figures.as_ref()?)));
    for (name, help, figure) in OF_NODES {
        begin(&mut text, &format!("node_{name}"), help);
        for (node, figures) in known() {
            let node = label("node", &node.name);
            let value = figure(figures);
            let _ = writeln!(text, "garland_node_{name}{{{node}}} {value}");
        }
    }
    let lanes = || known().flat_map(|(node, it)| it.lanes.iter().map(move |lane| (node, lane)));
    for (name, help, figure) in OF_LANES {
        begin(&mut text, &format!("lane_{name}"), help);
        for (node, lane) in lanes() {
            if let Some(value) = figure(lane) {
                let _ = writeln!(text, "garland_lane_{name}{{{}}} {value}", labels(node, lane));
            }
        }
    }
    begin(&mut text, "lane_waiting_ratio", "Share of the time in which the lane waited for this.");
    for (node, lane) in lanes() {
        let of_lane = labels(node, lane);
        let waits_for = label("for", lane.limiter.word());
        let share = lane.share.unwrap_or(1.0);
        let _ = writeln!(text, "garland_lane_waiting_ratio{{{of_lane},{waits_for}}} {share}");
    }
    text
}

fn begin(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP garland_{name} {help}\n# TYPE garland_{name} gauge");
}

/// Returns the labels of a lane on a node.
fn labels(node: &Node, lane: &Lane) -> String {
    let Lane { copy, name, number, .. } = lane;
    let number = number.to_string();
    let all = [("node", node.name.as_str()), ("copy", copy), ("lane", &number), ("path", name)];
    all.map(|(name, value)| label(name, value)).join(",")
}

/// Returns a label; its value is escaped.
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("path", "a\"b\\c"), "path=\"a\\\"b\\\\c\"");
    }
}
