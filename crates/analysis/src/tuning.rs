//! Advice on a disk's settings from measurements. In 1996 these settings were 32-bit transfers and
//! DMA (`hdparm -c1 -d1`).

/// The settings of a block device's queue (Linux, `Documentation/ABI/stable/sysfs-block`). Unknown
/// settings are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// The name of the active scheduler.
    pub scheduler: Option<String>,
    /// The read-ahead of sequential reads, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// Whether the device reports that it is rotational.
    pub rotational: Option<bool>,
    /// The maximum number of queued requests.
    pub requests: Option<u64>,
    /// The mode of the write cache: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// The maximum request size of the kernel, in KiB.
    pub request_kib: Option<u64>,
    /// The maximum request size of the device, in KiB.
    pub device_request_kib: Option<u64>,
}

/// The measurements that settings are judged by. What was not measured is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The rate of sequential reads of an uncached file through the page cache, in bytes per
    /// second.
    pub read_buffered: Option<f64>,
    /// The rate of concurrent sequential direct reads, in bytes per second.
    pub read_direct: Option<f64>,
    /// The number of random reads per second, one at a time.
    pub reads_alone: Option<f64>,
    /// The number of random reads per second at the knee, and the depth there.
    pub reads_at_knee: Option<(f64, u64)>,
    /// The number of random writes per second at the knee.
    pub writes_at_knee: Option<f64>,
    /// The median time of small writes to stable storage, in nanoseconds.
    pub stable_write_ns: Option<u64>,
}

/// The minimum fraction of the direct rate that buffered reads reach with sufficient read-ahead.
const LOSS: f64 = 0.8;

/// Concurrent random reads of an SSD are at least this many times as fast as single ones.
const PARALLEL: f64 = 4.0;

/// A stable write that takes longer than this, in nanoseconds, waits for a flush.
const FLUSH_NS: u64 = 1_000_000;

/// Returns advice, each with its evidence; empty if no setting seems wrong.
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
            "scheduler bfq on a disk that is not rotational: try none or mq-deadline \
             (queue/rotational is 0)"
                .to_owned(),
        ),
        (true, "none", Some((gain, _))) if gain < PARALLEL => Some(format!(
            "scheduler none on a rotational disk: try mq-deadline, which sorts requests \
             (queue/rotational is 1, and concurrent reads are only {gain:.1} times as fast as single ones)"
        )),
        (true, "bfq" | "mq-deadline", Some((gain, depth))) if gain >= PARALLEL => Some(format!(
            "queue/rotational is 1, but the disk behaves like an SSD: {gain:.1} \
             times as many random reads at depth {depth} as at depth 1; try scheduler none"
        )),
        _ => None,
    }
}

fn read_ahead(queue: &Queue, evidence: &Evidence) -> Option<String> {
    let now = queue.read_ahead_kib?;
    let buffered = evidence.read_buffered?;
    let direct = evidence.read_direct?;
    (buffered < LOSS * direct).then(|| {
        let percent = 100.0 * buffered / direct;
        let mb = |rate: f64| rate / 1e6;
        format!(
            "read-ahead {now} KiB: uncached reads through the page cache reach {percent:.0} % of direct ones \
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
        format!("queue/nr_requests is {now}, but reads get faster up to depth {depth}: raise nr_requests")
    })
}

fn request_size(queue: &Queue) -> Option<String> {
    let now = queue.request_kib?;
    let most = queue.device_request_kib?;
    (now < 256 && now < most).then(|| {
        format!(
            "queue/max_sectors_kb limits requests to {now} KiB, but the device allows {most} KiB: raise it"
        )
    })
}

fn write_cache(queue: &Queue, evidence: &Evidence) -> Option<String> {
    let stable = evidence.stable_write_ns?;
    let writes = evidence.writes_at_knee?;
    let slow = stable > FLUSH_NS && writes * stable as f64 / 1e9 > 4.0;
    match queue.write_cache.as_deref()? {
        "write through" if slow => Some(format!(
            "the disk's write cache is off: a small stable write takes {:.1} ms; turn it on \
             (hdparm -W1) only if the cache survives a power failure, otherwise data can be lost",
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
        let lines = advice(&queue, &evidence);
        assert_eq!(lines.len(), 5, "{lines:#?}");
        assert!(lines[0].contains("20.0 times as many random reads at depth 64"), "{lines:#?}");
        assert!(lines[1].contains("25 % of direct ones (100.0 of 400.0 MB/s); try 1024"));
    }
}
