//! The result object of `garland disk`: `garland.disk/2`.

use garland_analysis::slow_ones;
use garland_protocol::measure::{DiskDirection, DiskMode, DiskOrder, DiskPattern};
use garland_protocol::operation::{DiskCourse, DiskEnd};
use garland_results::head::{Head, Phases};
use garland_results::path::PathResult;
use garland_state::run::Run;
use garland_terminal::failure::Exit;
use serde::Serialize;

use crate::disk::measurement::{FEW, NodeDisk};

/// The result object `garland.disk/2`.
#[derive(Serialize)]
pub struct DiskResult {
    #[serde(flatten)]
    head: Head,
    /// The directory of the test file on each node.
    #[serde(flatten)]
    pub path: PathResult,
    /// Bytes of each node's test file.
    pub size: u64,
    /// The time limit of one measurement, in nanoseconds.
    pub time_ns: u64,
    /// Whether the nodes measured one after the other; otherwise they measured at the same time.
    pub one_by_one: bool,
    /// The nodes, in the order of the node list.
    pub nodes: Vec<NodeDisk>,
    /// Notes on the reliability of the figures, in words.
    pub notes: Vec<String>,
    /// The nodes that are slower than the others, one line for each node and kind of measurement.
    pub outliers: Vec<String>,
    /// Whether the user interrupted the test.
    pub interrupted: bool,
}

impl DiskResult {
    /// Creates the result of the test `course`; `names` are the names of its nodes.
    pub fn new(
        run: &Run,
        phases: Phases,
        order: &DiskOrder,
        names: &[&str],
        one_by_one: bool,
        course: &DiskCourse,
    ) -> Self {
        let all = names.iter().zip(course.nodes());
        let nodes: Vec<NodeDisk> = all.map(|(name, node)| NodeDisk::new(name, node)).collect();
        let mut result = Self {
            head: Head::new("garland.disk/2", Some(run), phases),
            path: PathResult::new(&order.path),
            size: order.size,
            time_ns: order.time_ns,
            one_by_one,
            outliers: outliers(&nodes),
            nodes,
            notes: Vec::new(),
            interrupted: Self::is_cut(course),
        };
        result.notes = result.find_notes();
        result
    }

    /// Returns whether the user interrupted the test on any node.
    pub fn is_cut(course: &DiskCourse) -> bool {
        course.nodes().iter().any(|node| node.end == Some(DiskEnd::Interrupted))
    }

    /// Returns the exit code of the command, which depends on failed nodes and on an interrupt.
    pub fn exit(&self) -> Exit {
        let ok = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        let any = ok > 0 || self.nodes.iter().any(|node| !node.measurements.is_empty());
        Exit::of_work(ok == self.nodes.len(), any, self.interrupted)
    }

    fn find_notes(&self) -> Vec<String> {
        let mut notes = crate::disk::notes::of(&self.nodes, self.size, self.one_by_one);
        let few: Vec<&str> = self.names(NodeDisk::has_few);
        if !few.is_empty() {
            notes.push(format!(
                "{}: fewer than {FEW} operations in some random measurements, so p99 and max are not \
                 reliable; use a longer --time or a larger --size",
                garland_core::cluster::nodelist::fold(&few)
            ));
        }
        notes
    }

    fn names(&self, is_meant: impl Fn(&NodeDisk) -> bool) -> Vec<&str> {
        let meant = self.nodes.iter().filter(|node| is_meant(node));
        meant.map(|node| node.name.as_str()).collect()
    }
}

/// A kind of measurement in which nodes are compared.
struct Kind {
    name: &'static str,
    /// The number of the figure's own units in one `unit`.
    scale: f64,
    unit: &'static str,
    /// Returns the figure of a node; `None` if it was not measured.
    figure: fn(&NodeDisk) -> Option<f64>,
}

/// The kinds of measurement in which nodes are compared.
const KINDS: [Kind; 4] = [
    Kind {
        name: "sequential write",
        scale: 1e6,
        unit: "MB/s",
        figure: |node| sequential_rate(node, DiskDirection::Write),
    },
    Kind {
        name: "sequential read",
        scale: 1e6,
        unit: "MB/s",
        figure: |node| sequential_rate(node, DiskDirection::Read),
    },
    Kind {
        name: "random read",
        scale: 1.0,
        unit: "IOPS",
        figure: |node| Some(node.at_knee(DiskDirection::Read)?.iops),
    },
    Kind {
        name: "random write",
        scale: 1.0,
        unit: "IOPS",
        figure: |node| Some(node.at_knee(DiskDirection::Write)?.iops),
    },
];

fn sequential_rate(node: &NodeDisk, direction: DiskDirection) -> Option<f64> {
    Some(node.find(direction, DiskPattern::Sequential, DiskMode::Buffered)?.rate)
}

/// Returns a line for each node and kind of measurement that is slower than on the other nodes.
fn outliers(nodes: &[NodeDisk]) -> Vec<String> {
    let mut lines = Vec::new();
    for Kind { name: kind, scale, unit, figure } in KINDS {
        let mut owners = Vec::new();
        let mut figures = Vec::new();
        for node in nodes {
            if let Some(found) = figure(node) {
                owners.push(&node.name);
                figures.push(found);
            }
        }
        for slow in slow_ones(&figures) {
            let name = owners[slow.at];
            let percent = 100.0 * slow.rate / slow.median;
            let rate = slow.rate / scale;
            let median = slow.median / scale;
            lines.push(format!(
                "{name}: {kind} at {percent:.0} % of the median ({rate:.1} of {median:.1} {unit})"
            ));
        }
    }
    lines
}
