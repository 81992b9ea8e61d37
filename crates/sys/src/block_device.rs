//! The I/O counters of a disk: `/sys/dev/block/MAJOR:MINOR/stat`, as the kernel's
//! Documentation/block/stat.rst describes it. Reading them needs no privilege.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{major, minor};

/// Bytes of a sector in the kernel's counters, whatever the disk's own sector size is.
const SECTOR: u64 = 512;

/// A disk whose counters are open for reading.
#[derive(Debug)]
pub struct BlockDevice(File);

/// The counters of a disk. They are 0 when the disk is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of operations in flight now.
    pub in_flight: u64,
    /// Bytes read from the disk.
    pub read_bytes: u64,
    /// Bytes written to the disk.
    pub written_bytes: u64,
    /// The number of completed reads.
    pub reads: u64,
    /// The number of completed writes.
    pub writes: u64,
    /// The sum of the durations of the completed reads in milliseconds.
    pub read_ms: u64,
    /// The sum of the durations of the completed writes in milliseconds.
    pub write_ms: u64,
    /// The number of completed flushes; 0 before Linux 5.5.
    pub flushes: u64,
    /// The sum of the durations of the completed flushes in milliseconds.
    pub flush_ms: u64,
    /// Milliseconds during which at least one operation was in flight.
    pub busy_ms: u64,
    /// Milliseconds that operations spent in flight, summed over all operations.
    pub queue_ms: u64,
}

impl BlockDevice {
    /// Opens the counters of the disk or partition with the number `device`, as stat(2) returns it
    /// for a file. `None` if the file is not on a disk (tmpfs, NFS, overlays), or if the kernel has
    /// no counters for the disk.
    #[must_use]
    pub fn open(device: u64) -> Option<Self> {
        let path = format!("/sys/dev/block/{}:{}/stat", major(device), minor(device));
        File::open(path).ok().map(Self)
    }

    /// Returns the current counters; `None` if the disk was removed.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        let mut text = [0; 512];
        let read = self.0.read_at(&mut text, 0).ok()?;
        parse(std::str::from_utf8(&text[..read]).ok()?)
    }
}

fn parse(text: &str) -> Option<Counters> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let at = |place: usize| fields.get(place).copied();
    Some(Counters {
        reads: at(0)?,
        read_bytes: at(2)?.saturating_mul(SECTOR),
        read_ms: at(3)?,
        writes: at(4)?,
        written_bytes: at(6)?.saturating_mul(SECTOR),
        write_ms: at(7)?,
        in_flight: at(8)?,
        busy_ms: at(9)?,
        queue_ms: at(10)?,
        flushes: at(15).unwrap_or(0),
        flush_ms: at(16).unwrap_or(0),
    })
}

impl Counters {
    /// Returns the increase of each counter since `before`. `in_flight` is not a counter and keeps
    /// its current value.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            in_flight: self.in_flight,
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            read_ms: self.read_ms.saturating_sub(before.read_ms),
            write_ms: self.write_ms.saturating_sub(before.write_ms),
            flushes: self.flushes.saturating_sub(before.flushes),
            flush_ms: self.flush_ms.saturating_sub(before.flush_ms),
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            queue_ms: self.queue_ms.saturating_sub(before.queue_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        let old = "     446      216     7594    23466        0        0        0        0        1     4130    23466";
        let counters = parse(old).unwrap();
        assert_eq!(
            (counters.reads, counters.read_bytes, counters.read_ms),
            (446, 7594 * 512, 23466)
        );
        assert_eq!((counters.in_flight, counters.busy_ms, counters.flushes), (1, 4130, 0));
        let new = parse(&format!("{old} 1 2 3 4 55 66")).unwrap();
        assert_eq!((new.flushes, new.flush_ms), (55, 66));
        assert_eq!(new.since(&counters).flushes, 55);
        assert_eq!(parse("1 2 3"), None);
    }

    #[test]
    fn what_is_no_disk_has_no_counters() {
        assert!(BlockDevice::open(0).is_none());
    }
}
