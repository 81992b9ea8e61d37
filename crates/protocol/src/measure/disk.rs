//! Messages between the head and an agent about a test of the node's disk.

use garland_core::units::Nanos;
use serde::{Deserialize, Serialize};

use crate::bounds::{self, within};

/// The allowed lengths of the test's file in bytes.
pub const DISK_SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 46;

/// The maximum number of operations in flight.
pub const DISK_DEPTH_MAX: u16 = 1024;

/// An order to test the disk that a path is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOrder {
    /// The directory on the disk to test (raw bytes).
    pub path: Vec<u8>,
    /// The length of the test's file in bytes; each measurement transfers at most this many bytes.
    pub size: u64,
    /// The maximum duration of a measurement in nanoseconds, without the final sync.
    pub time_ns: u64,
    /// The maximum number of operations in flight.
    pub depth: u16,
    /// A filter of the measurements to make; the file is always written.
    pub only: DiskOnly,
}

/// A filter of measurements by direction, pattern and mode; `None` selects all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOnly {
    /// The direction of the data.
    pub direction: Option<DiskDirection>,
    /// The order of the blocks.
    pub pattern: Option<DiskPattern>,
    /// Whether data goes through the page cache, and how it is synced.
    pub mode: Option<DiskMode>,
}

impl DiskOnly {
    /// Whether a measurement is selected.
    #[must_use]
    pub fn has(&self, job: &DiskJob) -> bool {
        self.direction.is_none_or(|direction| direction == job.direction)
            && self.pattern.is_none_or(|pattern| pattern == job.pattern)
            && self.mode.is_none_or(|mode| mode == job.mode)
    }
}

/// The direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskDirection {
    /// Reads from the disk.
    Read,
    /// Writes to the disk.
    Write,
}

/// The order in which blocks are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskPattern {
    /// From the first block to the last.
    Sequential,
    /// At random positions in the file.
    Random,
}

/// How data goes to and from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskMode {
    /// Through the page cache: before reads the file is evicted from it, and writes end with fsync.
    Buffered,
    /// Bypassing the page cache (`O_DIRECT`).
    Direct,
    /// Through the page cache, each write followed by fdatasync.
    Stable,
}

/// A kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskJob {
    /// The direction of the data.
    pub direction: DiskDirection,
    /// The order of the blocks.
    pub pattern: DiskPattern,
    /// Whether data goes through the page cache, and how it is synced.
    pub mode: DiskMode,
    /// The number of operations in flight.
    pub depth: u16,
    /// The length of an operation in bytes.
    pub block: u32,
}

/// The durations of operations in nanoseconds, from submission to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskTimes {
    /// The minimum.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The maximum.
    pub max: u64,
}

/// The part of a file that is in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCached {
    /// The number of pages that were examined.
    pub pages: u64,
    /// The number of examined pages that are in memory.
    pub cached: u64,
    /// Whether cachestat(2) reported this; otherwise mincore(2).
    pub by_cachestat: bool,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFigures {
    /// The kind of measurement.
    pub job: DiskJob,
    /// The number of bytes read or written.
    pub bytes: u64,
    /// The number of operations.
    pub operations: u64,
    /// The time from the first submission to the last completion in nanoseconds, including the last
    /// fsync.
    pub elapsed_ns: u64,
    /// The part of `elapsed_ns` that the final fsync took.
    pub sync_ns: u64,
    /// The durations of operations.
    pub times: DiskTimes,
    /// The sum of the durations of all operations in nanoseconds. Divided by `elapsed_ns`, it is
    /// the mean number of operations in flight.
    pub busy_ns: u64,
    /// The cached part of the file just before the measurement; `None` if the kernel does not
    /// report it.
    pub before: Option<DiskCached>,
    /// The cached part of the file just after the measurement.
    pub after: Option<DiskCached>,
}

/// The file system and the disk that a node tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskPlace {
    /// The type of the file system, such as `ext4`.
    #[serde(deserialize_with = "bounds::fact")]
    pub system: String,
    /// The mounted device, such as `/dev/vda1`.
    #[serde(deserialize_with = "bounds::fact")]
    pub mounted: String,
    /// The block device, such as `vda`; empty if the file system has no device of its own.
    #[serde(deserialize_with = "bounds::fact")]
    pub device: String,
    /// An identifier of the machine: nodes on one machine may share a device.
    #[serde(deserialize_with = "bounds::fact")]
    pub machine: String,
    /// The device's settings: names of files in `/sys/block/DEVICE/queue`, and their contents.
    #[serde(deserialize_with = "bounds::facts")]
    pub queue: Vec<(String, String)>,
    /// The free space before the test in bytes.
    pub free: u64,
    /// The node's memory in bytes.
    pub memory: u64,
    /// Why direct I/O is not available; empty if it is.
    #[serde(deserialize_with = "bounds::reason")]
    pub no_direct: String,
    /// Why io_uring is not available, so that threads are used instead; empty if it is.
    #[serde(deserialize_with = "bounds::reason")]
    pub no_uring: String,
    /// Whether the file system is in memory.
    pub in_memory: bool,
    /// Whether the machine is virtual, so that the host's cache is invisible.
    pub guest: bool,
    /// Conditions of the node that may affect results: names and values.
    #[serde(deserialize_with = "bounds::facts")]
    pub conditions: Vec<(String, String)>,
}

/// An agent's message in a disk test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskEvent {
    /// The file was created, and its space is reserved.
    Begun(Box<DiskPlace>),
    /// A measurement is done.
    Measured(Box<DiskFigures>),
    /// The test is over, and the file was removed.
    Done,
    /// The test failed, and why; the file was removed.
    Failed(#[serde(deserialize_with = "bounds::reason")] String),
}

impl DiskOrder {
    /// Checks that every number from the wire is within bounds, before any is used.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        within("bytes in the test's file", self.size, DISK_SIZES)?;
        let times = Nanos(1_000_000)..=Nanos::from_secs(3600);
        within("per measurement", Nanos(self.time_ns), times)?;
        within("operations in flight", self.depth, 1..=DISK_DEPTH_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_out_of_bounds_are_refused() {
        let good = DiskOrder {
            path: b"/x".to_vec(),
            size: 1 << 30,
            time_ns: 1 << 30,
            depth: 64,
            only: DiskOnly::default(),
        };
        assert_eq!(good.check(), Ok(()));
        for bad in [
            DiskOrder { size: 0, ..good.clone() },
            DiskOrder { size: u64::MAX, ..good.clone() },
            DiskOrder { time_ns: 0, ..good.clone() },
            DiskOrder { time_ns: u64::MAX, ..good.clone() },
            DiskOrder { depth: 0, ..good.clone() },
            DiskOrder { depth: u16::MAX, ..good.clone() },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
