//! What `garland disk` found: the object `garland.disk/1`.

use garland_analysis::tuning::{Evidence, Queue, advice};
use garland_analysis::{knee, slow_ones};
use garland_control::{DiskCourse, DiskEnd, DiskNode};
use garland_protocol::{
    DiskCached, DiskDirection, DiskFigures, DiskJob, DiskOrder, DiskPattern, DiskPlace, DiskTimes,
    DiskWay,
};
use serde::Serialize;

use crate::disk::shown;
use garland_results::head::{Head, NodeEnd, Phases};
use garland_results::run::Run;
use garland_terminal::failure::Exit;

/// A test of fewer operations says nothing of the slowest hundredth.
const FEW: u64 = 1000;

/// The result object `garland.disk/1`.
#[derive(Serialize)]
pub struct DiskResult {
    /// What every result begins with.
    #[serde(flatten)]
    head: Head,
    /// The folder.
    pub path: String,
    /// Bytes of each node's file.
    pub size: u64,
    /// Nanoseconds that a measurement could take.
    pub time_ns: u64,
    /// Whether nodes had their turns; else all measured at once.
    pub one_by_one: bool,
    /// The nodes, in the list's order.
    pub nodes: Vec<NodeDisk>,
    /// What must be known to read the figures, in words.
    pub notes: Vec<String>,
    /// Nodes that are slower than the others, in words.
    pub outliers: Vec<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
}

/// One node's disk.
#[derive(Serialize)]
pub struct NodeDisk {
    /// The node.
    pub name: String,
    /// `ok` or `failed`.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Where its file lay.
    pub place: Option<DiskPlace>,
    /// All measurements, in their order.
    pub measurements: Vec<Measurement>,
    /// What to change about its settings, with the evidence.
    pub advice: Vec<String>,
}

/// A measurement and what follows from it.
#[derive(Clone, Serialize)]
pub struct Measurement {
    #[serde(flatten)]
    job: DiskJob,
    /// Bytes moved.
    pub bytes: u64,
    operations: u64,
    elapsed_ns: u64,
    sync_ns: u64,
    /// Bytes per second, fsync included.
    pub rate: f64,
    /// Operations per second.
    pub iops: f64,
    /// Operations in flight, on average.
    in_flight: f64,
    /// Whether it is the least depth that gives all but 5 % of the best rate.
    is_knee: bool,
    /// Nanoseconds.
    pub times: DiskTimes,
    /// The page cache right before, and right after.
    pub before: Option<DiskCached>,
    after: Option<DiskCached>,
}

impl Measurement {
    fn new(figures: &DiskFigures) -> Self {
        let DiskFigures { job, bytes, operations, elapsed_ns, sync_ns, .. } = *figures;
        let elapsed = elapsed_ns.max(1) as f64;
        Self {
            job,
            bytes,
            operations,
            elapsed_ns,
            sync_ns,
            rate: bytes as f64 / elapsed * 1e9,
            iops: operations as f64 / elapsed * 1e9,
            in_flight: figures.busy_ns as f64 / elapsed,
            is_knee: false,
            times: figures.times,
            before: figures.before,
            after: figures.after,
        }
    }

    /// Operations that were put in flight.
    pub fn depth(&self) -> u16 {
        self.job.depth
    }
}

impl NodeDisk {
    fn new(name: &str, node: &DiskNode) -> Self {
        let reason = match &node.end {
            Some(DiskEnd::Done) => None,
            Some(DiskEnd::Failed(reason)) => Some(reason.clone()),
            Some(DiskEnd::Interrupted) | None => Some("interrupted".to_owned()),
        };
        let end = NodeEnd::new("failed", reason);
        let measurements = node.figures.iter().map(Measurement::new).collect();
        let place = node.place.clone();
        let name = name.to_owned();
        let mut disk = Self { name, end, place, measurements, advice: Vec::new() };
        disk.mark_knee(DiskDirection::Read);
        disk.mark_knee(DiskDirection::Write);
        disk.advice = disk.find_advice();
        disk
    }

    /// The measurement of its kind, at the least depth.
    pub fn find(
        &self,
        direction: DiskDirection,
        pattern: DiskPattern,
        way: DiskWay,
    ) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| {
            let job = measurement.job;
            (job.direction, job.pattern, job.way) == (direction, pattern, way)
        })
    }

    /// The measurement at the knee.
    pub fn at_knee(&self, direction: DiskDirection) -> Option<&Measurement> {
        let mut all = self.measurements.iter();
        all.find(|measurement| measurement.is_knee && measurement.job.direction == direction)
    }

    fn mark_knee(&mut self, direction: DiskDirection) {
        let is_swept = |job: DiskJob| {
            (job.direction, job.pattern, job.way)
                == (direction, DiskPattern::Random, DiskWay::Direct)
        };
        let mut swept: Vec<_> =
            self.measurements.iter_mut().filter(|measured| is_swept(measured.job)).collect();
        let rates: Vec<f64> = swept.iter().map(|measurement| measurement.iops).collect();
        if let Some(at) = knee(&rates) {
            swept[at].is_knee = true;
        }
    }

    fn find_advice(&self) -> Vec<String> {
        use DiskDirection::{Read, Write};
        use DiskPattern::{Random, Sequential};
        use DiskWay::{Buffered, Direct, Stable};
        let Some(place) = self.place.as_ref().filter(|place| is_disk(place)) else {
            return Vec::new();
        };
        let rate = |direction, way| self.find(direction, Sequential, way).map(|found| found.rate);
        let knee = self.at_knee(Read);
        let evidence = Evidence {
            read_buffered: rate(Read, Buffered),
            read_direct: rate(Read, Direct),
            reads_alone: self.find(Read, Random, Direct).map(|found| found.iops),
            reads_at_knee: knee.map(|found| (found.iops, found.depth().into())),
            writes_at_knee: self.at_knee(Write).map(|found| found.iops),
            stable_write_ns: self.find(Write, Random, Stable).map(|found| found.times.p50),
        };
        advice(&queue(place), &evidence)
    }

    fn has_few(&self) -> bool {
        let random = self.measurements.iter().filter(|one| one.job.pattern == DiskPattern::Random);
        random.clone().any(|one| one.operations < FEW)
    }
}

/// Whether a disk's settings are what matters: not for memory, nor for a file that plays a disk.
pub fn is_disk(place: &DiskPlace) -> bool {
    !place.in_memory && !place.queue.is_empty() && !place.device.starts_with("loop")
}

fn queue(place: &DiskPlace) -> Queue {
    let text = |name: &str| {
        let found = place.queue.iter().find(|(setting, _)| setting == name);
        found.map(|(_, value)| value.as_str())
    };
    let number = |name| text(name)?.parse().ok();
    Queue {
        // The one in force stands in brackets; where there is only one, it has none.
        scheduler: text("scheduler").map(|all| match all.split_once('[') {
            Some((_, rest)) => rest.split(']').next().unwrap_or(rest).to_owned(),
            None => all.to_owned(),
        }),
        read_ahead_kib: number("read_ahead_kb"),
        rotational: text("rotational").map(|value| value == "1"),
        requests: number("nr_requests"),
        write_cache: text("write_cache").map(str::to_owned),
        request_kib: number("max_sectors_kb"),
        device_request_kib: number("max_hw_sectors_kb"),
    }
}

impl DiskResult {
    /// The result of `course`, whose nodes are called `names`.
    pub fn new(
        run: &Run,
        phases: Phases,
        order: &DiskOrder,
        names: &[&str],
        one_by_one: bool,
        course: &DiskCourse,
    ) -> Self {
        let all = names.iter().zip(&course.nodes);
        let nodes: Vec<NodeDisk> = all.map(|(name, node)| NodeDisk::new(name, node)).collect();
        let mut result = Self {
            head: Head::new("garland.disk/1", Some(run), phases),
            path: shown(&order.path),
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

    /// Whether the user ended it.
    pub fn is_cut(course: &DiskCourse) -> bool {
        course.nodes.iter().any(|node| node.end == Some(DiskEnd::Interrupted))
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        let ok = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        match ok {
            _ if self.interrupted => Exit::Interrupted,
            ok if ok == self.nodes.len() => Exit::Done,
            0 if self.nodes.iter().all(|node| node.measurements.is_empty()) => Exit::Nothing,
            _ => Exit::SomeFailed,
        }
    }

    fn find_notes(&self) -> Vec<String> {
        let mut notes = crate::disk::notes::of(&self.nodes, self.size, self.one_by_one);
        let few: Vec<&str> = self.names(NodeDisk::has_few);
        if !few.is_empty() {
            notes.push(format!(
                "{}: fewer than {FEW} operations in some random measurements: p99 and max may be \
                 luck; give more --time or --size",
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

/// Who is slow at what.
fn outliers(nodes: &[NodeDisk]) -> Vec<String> {
    use DiskDirection::{Read, Write};
    use DiskPattern::Sequential;
    use DiskWay::Buffered;
    type Find = fn(&NodeDisk) -> Option<f64>;
    let kinds: [(&str, f64, &str, Find); 4] = [
        ("sequential write", 1e6, "MB/s", |n| Some(n.find(Write, Sequential, Buffered)?.rate)),
        ("sequential read", 1e6, "MB/s", |n| Some(n.find(Read, Sequential, Buffered)?.rate)),
        ("random read", 1.0, "IOPS", |n| Some(n.at_knee(Read)?.iops)),
        ("random write", 1.0, "IOPS", |n| Some(n.at_knee(Write)?.iops)),
    ];
    let mut lines = Vec::new();
    for (kind, scale, unit, find) in kinds {
        let (owners, rates): (Vec<&NodeDisk>, Vec<f64>) =
            nodes.iter().filter_map(|node| Some((node, find(node)?))).unzip();
        lines.extend(slow_ones(&rates).into_iter().map(|slow| {
            let percent = 100.0 * slow.rate / slow.median;
            let [rate, median] = [slow.rate, slow.median].map(|rate| rate / scale);
            let name = &owners[slow.at].name;
            format!(
                "{name}: {kind} at {percent:.0} % of the median ({rate:.1} of {median:.1} {unit})"
            )
        }));
    }
    lines
}
