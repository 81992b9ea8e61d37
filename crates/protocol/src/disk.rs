//! What the head and an agent say to each other about the node's disk.

use serde::{Deserialize, Serialize};

/// The least and the most bytes that the test's file may have.
pub const DISK_SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 46;

/// The most operations in flight.
pub const DISK_DEPTH_MAX: u16 = 1024;

/// A test of the disk under a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOrder {
    /// The directory, in the system's bytes.
    pub path: Vec<u8>,
    /// The length of the test's file; no measurement moves more bytes than that.
    pub size: u64,
    /// The longest that a measurement may take, in nanoseconds; to make its bytes stable comes on
    /// top.
    pub time_ns: u64,
    /// Up to how many operations are put in flight.
    pub depth: u16,
    /// Which measurements are wanted, besides that of writing the file.
    pub only: DiskOnly,
}

/// Measurements that are wanted: of one direction, pattern and mode, or of all where that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOnly {
    /// Which mode bytes go.
    pub direction: Option<DiskDirection>,
    /// Which blocks are moved.
    pub pattern: Option<DiskPattern>,
    /// How.
    pub mode: Option<DiskMode>,
}

impl DiskOnly {
    /// Whether a measurement is among them.
    #[must_use]
    pub fn has(&self, job: &DiskJob) -> bool {
        self.direction.is_none_or(|direction| direction == job.direction)
            && self.pattern.is_none_or(|pattern| pattern == job.pattern)
            && self.mode.is_none_or(|mode| mode == job.mode)
    }
}

/// Which mode bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskDirection {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// Which blocks are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskPattern {
    /// One after the other.
    Sequential,
    /// Anywhere in the file.
    Random,
}

/// How a measurement goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskMode {
    /// Through the page cache: reads begin with none of the file in it, writes end with fsync.
    Buffered,
    /// Past the page cache (`O_DIRECT`).
    Direct,
    /// Through the page cache, each write followed by fdatasync.
    Stable,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskJob {
    /// Which mode.
    pub direction: DiskDirection,
    /// Which blocks.
    pub pattern: DiskPattern,
    /// How.
    pub mode: DiskMode,
    /// Operations in flight.
    pub depth: u16,
    /// Bytes of each.
    pub block: u32,
}

/// Times of operations, in nanoseconds, from submission to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskTimes {
    /// The shortest.
    pub min: u64,
    /// Half of them were done by then.
    pub p50: u64,
    /// 99 of 100.
    pub p99: u64,
    /// 999 of 1000.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

/// What of the file was in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCached {
    /// Pages that were asked for.
    pub pages: u64,
    /// Those in memory.
    pub cached: u64,
    /// By cachestat(2); else by mincore(2).
    pub by_cachestat: bool,
}

/// What a measurement found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFigures {
    /// What was measured.
    pub job: DiskJob,
    /// Bytes moved.
    pub bytes: u64,
    /// Operations.
    pub operations: u64,
    /// From the first submission to the last completion, the last fsync included.
    pub elapsed_ns: u64,
    /// What fsync took of this at the end.
    pub sync_ns: u64,
    /// How long operations took.
    pub times: DiskTimes,
    /// Nanoseconds of all operations together: divided by `elapsed_ns` it is how many were in flight.
    pub busy_ns: u64,
    /// The page cache right before; nothing where the kernel doesn't tell.
    pub before: Option<DiskCached>,
    /// The page cache right after.
    pub after: Option<DiskCached>,
}

/// Where a node's test runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskPlace {
    /// The file system's kind, such as `ext4`.
    pub system: String,
    /// What is mounted, such as `/dev/vda1`.
    pub mounted: String,
    /// The block device, such as `vda`; empty where the file system has none of its own.
    pub device: String,
    /// Tells machines apart: nodes of one machine may share a device.
    pub machine: String,
    /// The device's settings: names of files below `/sys/block/DEVICE/queue`, and what they hold.
    pub queue: Vec<(String, String)>,
    /// Bytes free before the test.
    pub free: u64,
    /// Bytes of the node's memory.
    pub memory: u64,
    /// Why direct I/O can't be had; empty where it can.
    pub no_direct: String,
    /// Why io_uring can't be had, and threads take its place; empty where it can.
    pub no_uring: String,
    /// Whether the file system is memory.
    pub in_memory: bool,
    /// Whether the machine is virtual, so that the cache of its host is invisible.
    pub guest: bool,
    /// What about the node may have an influence: names and values, in words.
    pub conditions: Vec<(String, String)>,
}

/// From the agent that tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskEvent {
    /// The file is there, and the room for it reserved.
    Begun(Box<DiskPlace>),
    /// A measurement is done.
    Measured(Box<DiskFigures>),
    /// The test is over, and the file gone.
    Done,
    /// The test can't go on; the file is gone.
    Failed(String),
}

impl DiskOrder {
    /// Whether an agent can do it without harm.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        const LONGEST_NS: u64 = 3_600_000_000_000;
        if !DISK_SIZES.contains(&self.size) {
            let (least, most) = DISK_SIZES.into_inner();
            return Err(format!("a file of {} bytes: allowed are {least} to {most}", self.size));
        }
        if !(1_000_000..=LONGEST_NS).contains(&self.time_ns) {
            return Err(format!("{} ns a measurement: allowed are 1 ms to 1 h", self.time_ns));
        }
        if !(1..=DISK_DEPTH_MAX).contains(&self.depth) {
            return Err(format!("depth {}: allowed are 1 to {DISK_DEPTH_MAX}", self.depth));
        }
        Ok(())
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
