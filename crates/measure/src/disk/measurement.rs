//! The measurements of one node's disk, and the advice derived from them.

use garland_analysis::knee;
use garland_analysis::tuning::{Evidence, Queue, advice};
use garland_protocol::measure::{
    DiskCached, DiskDirection, DiskFigures, DiskJob, DiskMode, DiskPattern, DiskPlace, DiskTimes,
};
use garland_protocol::operation::{DiskEnd, DiskNode};
use garland_results::head::{NodeEnd, NodeVerdict};
use serde::Serialize;

/// The number of operations below which the 99th percentile is not reliable.
pub const FEW: u64 = 1000;

/// The result of the disk test on one node.
#[derive(Serialize)]
pub struct NodeDisk {
    /// The node's name.
    pub name: String,
    /// The verdict: `ok` or `failed`.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// The file system and the device of the node's test file; none if the node did not create it.
    pub place: Option<DiskPlace>,
    /// The completed measurements, in order.
    pub measurements: Vec<Measurement>,
    /// Advice on the disk's settings, with the figures that support it.
    pub advice: Vec<String>,
}

/// A measurement with the rates derived from it.
#[derive(Clone, Serialize)]
pub struct Measurement {
    #[serde(flatten)]
    job: DiskJob,
    /// Bytes read or written.
    pub bytes: u64,
    operations: u64,
    elapsed_ns: u64,
    sync_ns: u64,
    /// Bytes per second; the time includes the final fsync.
    pub rate: f64,
    /// Operations per second; the time includes the final fsync.
    pub iops: f64,
    /// The average number of operations in flight.
    in_flight: f64,
    /// Whether the depth of this measurement is the smallest one that reaches 95 % of the best
    /// rate.
    is_knee: bool,
    /// The distribution of the operations' durations in nanoseconds.
    pub times: DiskTimes,
    /// The part of the test file in the page cache right before the measurement; none if unknown.
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

    /// Returns the maximum number of operations in flight that the measurement allowed.
    pub fn depth(&self) -> u16 {
        self.job.depth
    }
}

impl NodeDisk {
    /// Creates the result of the node with this name from `node`, its agent's report.
    pub fn new(name: &str, node: &DiskNode) -> Self {
        let reason = match &node.end {
            Some(DiskEnd::Done) => None,
            Some(DiskEnd::Failed(reason)) => Some(reason.clone()),
            Some(DiskEnd::Interrupted) | None => Some("interrupted".to_owned()),
        };
        let end = NodeEnd::new(NodeVerdict::Failed, reason);
        let measurements = node.figures.iter().map(Measurement::new).collect();
        let place = node.place.clone();
        let name = name.to_owned();
        let mut disk = Self { name, end, place, measurements, advice: Vec::new() };
        disk.mark_knee(DiskDirection::Read);
        disk.mark_knee(DiskDirection::Write);
        disk.advice = disk.find_advice();
        disk
    }

    /// Returns the measurement of this kind; if there are several, the one with the smallest depth.
    /// None if it was not made.
    pub fn find(
        &self,
        direction: DiskDirection,
        pattern: DiskPattern,
        mode: DiskMode,
    ) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| {
            let job = measurement.job;
            (job.direction, job.pattern, job.mode) == (direction, pattern, mode)
        })
    }

    /// Returns the random direct measurement at the knee: the smallest depth that reaches 95 % of
    /// the best rate.
    pub fn at_knee(&self, direction: DiskDirection) -> Option<&Measurement> {
        let mut all = self.measurements.iter();
        all.find(|measurement| measurement.is_knee && measurement.job.direction == direction)
    }

    fn mark_knee(&mut self, direction: DiskDirection) {
        let is_swept = |job: DiskJob| {
            (job.direction, job.pattern, job.mode)
                == (direction, DiskPattern::Random, DiskMode::Direct)
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
        use DiskMode::{Buffered, Direct, Stable};
        use DiskPattern::{Random, Sequential};
        let Some(place) = self.place.as_ref().filter(|place| is_disk(place)) else {
            return Vec::new();
        };
        let rate = |direction, mode| self.find(direction, Sequential, mode).map(|found| found.rate);
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

    /// Returns whether a random measurement had fewer than [`FEW`] operations.
    pub fn has_few(&self) -> bool {
        let random = self.measurements.iter().filter(|one| one.job.pattern == DiskPattern::Random);
        random.clone().any(|one| one.operations < FEW)
    }
}

/// Returns whether the device is a disk with settings of its own, neither memory nor a loop device.
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
        // The active scheduler is in brackets; an only one has none.
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
