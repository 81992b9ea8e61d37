//! What to change about a disk's settings, if anything, and the figures that say so: what turning on
//! 32-bit transfers and DMA (`hdparm -c1 -d1`) was to the disks of 1996.

/// Settings of a block device's queue (Linux, `Documentation/ABI/stable/sysfs-block`), as far as
/// they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// The scheduler in force.
    pub scheduler: Option<String>,
    /// KiB that sequential readers are ahead of themselves.
    pub read_ahead_kib: Option<u64>,
    /// Whether the device reports that it is rotational.
    pub rotational: Option<bool>,
    /// Requests that the kernel lets wait.
    pub requests: Option<u64>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// KiB of the largest request that the kernel makes.
    pub request_kib: Option<u64>,
    /// KiB of the largest request that the device takes.
    pub device_request_kib: Option<u64>,
}

/// The figures that settings are judged by, where they were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Sequential reads of a cold file through the page cache, in bytes per second.
    pub read_buffered: Option<f64>,
    /// Sequential reads past it, several at once, in bytes per second.
    pub read_direct: Option<f64>,
    /// Random reads, one at a time, per second.
    pub reads_alone: Option<f64>,
    /// Random reads at the knee, per second, and its depth.
    pub reads_at_knee: Option<(f64, u64)>,
    /// Random writes at the knee, per second.
    pub writes_at_knee: Option<f64>,
    /// The median of small writes that were on stable storage when they ended, in nanoseconds.
    pub stable_write_ns: Option<u64>,
}

/// A read-ahead is too short where the cache costs more than this share of the rate.
const LOSS: f64 = 0.8;

/// The ratio of concurrent to single reads per second from which on a disk counts as an SSD.
const PARALLEL: f64 = 4.0;

/// A stable write that takes longer than this waits for a flush, in nanoseconds.
const FLUSH_NS: u64 = 1_000_000;

/// Advice, each with its evidence; empty when nothing is wrong.
#[must_use]
pub fn advice(queue: &Queue, evidence: &Evidence) -> Vec<String> {
    [
        scheduler(queue, evidence),
        read_ahead(queue, evidence),
        requests(queue, evidence),
        request_size(queue),
        write_cache(queue, evidence),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn scheduler(queue: &Queue, evidence: &Evidence) -> Option<String> {
    let scheduler = queue.scheduler.as_deref()?;
    let gain = match (evidence.reads_alone, evidence.reads_at_knee) {
        (Some(alone), Some((knee, depth))) if alone > 0.0 => Some((knee / alone, depth)),
        _ => None,
    };
    let rotational = queue.rotational?;
    match (rotational, scheduler, gain) {
        (false, "bfq", _) => Some(
            "scheduler bfq on a disk that doesn't turn: try none or mq-deadline \
             (queue/rotational is 0)"
                .to_owned(),
        ),
        (true, "none", Some((gain, _))) if gain < PARALLEL => Some(format!(
            "scheduler none on a disk that turns: try mq-deadline, which sorts requests \
             (queue/rotational is 1, and {gain:.1} times the reads at once as one by one)"
        )),
        (true, "bfq" | "mq-deadline", Some((gain, depth))) if gain >= PARALLEL => Some(format!(
            "queue/rotational says that the disk turns, its figures say that it doesn't: {gain:.1} \
             times the random reads at depth {depth} as at 1; try scheduler none"
        )),
        _ => None,
    }
}

fn read_ahead(queue: &Queue, evidence: &Evidence) -> Option<String> {
    let now = queue.read_ahead_kib?;
    let (buffered, direct) = (evidence.read_buffered?, evidence.read_direct?);
    (buffered < LOSS * direct).then(|| {
        let percent = 100.0 * buffered / direct;
        let mb = |rate: f64| rate / 1e6;
        format!(
            "read-ahead {now} KiB: cold reads through the cache reach {percent:.0} % of direct ones \
             ({:.1} of {:.1} MB/s); try {} in queue/read_ahead_kb",
            mb(buffered),
            mb(direct),
            (now * 4).max(1024)
        )
    })
    .filter(|_| now < 4096)
}

fn requests(queue: &Queue, evidence: &Evidence) -> Option<String> {
    let (now, (_, depth)) = (queue.requests?, evidence.reads_at_knee?);
    (now < depth).then(|| {
        format!("queue/nr_requests is {now}, and reads still gain at depth {depth}: raise it")
    })
}

fn request_size(queue: &Queue) -> Option<String> {
    let (now, most) = (queue.request_kib?, queue.device_request_kib?);
    (now < 256 && now < most).then(|| {
        format!(
            "queue/max_sectors_kb cuts requests at {now} KiB, the device takes {most}: raise it"
        )
    })
}

fn write_cache(queue: &Queue, evidence: &Evidence) -> Option<String> {
    let (stable, writes) = (evidence.stable_write_ns?, evidence.writes_at_knee?);
    let slow = stable > FLUSH_NS && writes * stable as f64 / 1e9 > 4.0;
    match queue.write_cache.as_deref()? {
        "write through" if slow => Some(format!(
            "the disk's write cache is off: a small stable write takes {:.1} ms; turn it on \
             (hdparm -W1) if the disk keeps its cache over a power cut, or data may be lost",
            stable as f64 / 1e6
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_healthy_disk_gets_no_advice() {
        let queue = Queue {
            scheduler: Some("none".into()),
            read_ahead_kib: Some(128),
            rotational: Some(false),
            requests: Some(1023),
            write_cache: Some("write back".into()),
            request_kib: Some(1280),
            device_request_kib: Some(2048),
        };
        let evidence = Evidence {
            read_buffered: Some(2.9e9),
            read_direct: Some(3.0e9),
            reads_alone: Some(1e4),
            reads_at_knee: Some((4e5, 64)),
            writes_at_knee: Some(3e5),
            stable_write_ns: Some(20_000),
        };
        assert_eq!(advice(&queue, &evidence), Vec::<String>::new());
        assert_eq!(advice(&Queue::default(), &Evidence::default()), Vec::<String>::new());
    }

    #[test]
    fn each_advice_has_its_evidence() {
        let queue = Queue {
            scheduler: Some("mq-deadline".into()),
            read_ahead_kib: Some(128),
            rotational: Some(true),
            requests: Some(32),
            write_cache: Some("write through".into()),
            request_kib: Some(128),
            device_request_kib: Some(4096),
        };
        let evidence = Evidence {
            read_buffered: Some(100e6),
            read_direct: Some(400e6),
            reads_alone: Some(1_000.0),
            reads_at_knee: Some((20_000.0, 64)),
            writes_at_knee: Some(20_000.0),
            stable_write_ns: Some(8_000_000),
        };
        let advice = advice(&queue, &evidence);
        assert_eq!(advice.len(), 5, "{advice:#?}");
        assert!(advice[0].contains("20.0 times the random reads at depth 64"), "{advice:#?}");
        assert!(advice[1].contains("25 % of direct ones (100.0 of 400.0 MB/s); try 1024"));
    }
}
