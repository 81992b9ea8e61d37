//! The utilization of the disks to which time is attributed, from the kernel's counters. They show
//! whether such a disk was in fact idle, or busy with work other than the copy.

use garland_core::trace::{Disk, Record, Stage, Trace};

use super::cause::Cause;
use super::rows::Row;
use super::run::Run;

/// The use of a node's disk from the first sample of its counters to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskUse {
    /// The node's index.
    pub node: usize,
    /// The fraction of the sampled time in which the disk was busy, from 0 to 1.
    pub busy: f64,
    /// The fraction of the bytes read and written by the disk that did not belong to the copy;
    /// `None` if the node is emulated, since emulated nodes share one disk.
    pub others: Option<f64>,
}

/// The use of a disk is reported only if at least this fraction of the command's time is attributed
/// to it.
const MATTERS: f64 = 0.1;

/// Returns the use of the disks to which at least 10 % of the time is attributed, in the order of
/// the rows.
pub(super) fn disks(run: &Run<'_>, rows: &[Row]) -> Vec<DiskUse> {
    let of_disks = rows.iter().filter(|row| {
        let cause = row.within.unwrap_or(row.cause);
        let matters = row.ns as f64 >= MATTERS * run.wall_ns() as f64;
        matters && matches!(cause, Cause::SourceDisk | Cause::SinkDisk | Cause::Fsync)
    });
    let mut used: Vec<DiskUse> = Vec::new();
    for node in of_disks.filter_map(|row| row.place.node) {
        let known = used.iter().any(|disk| disk.node == node);
        let trace = run.traces.get(node).and_then(Option::as_ref).filter(|_| !known);
        used.extend(trace.and_then(|trace| disk_use(node, trace)));
    }
    used
}

fn disk_use(node: usize, trace: &Trace) -> Option<DiskUse> {
    let mut read: Option<(Disk, Disk)> = None;
    let mut own = 0_u64;
    for record in &trace.records {
        match record {
            Record::Disk(disk) => read = Some((read.map_or(*disk, |(first, _)| first), *disk)),
            Record::Span(span) if matches!(span.stage, Stage::Read | Stage::Write) => {
                own = own.saturating_add(span.bytes);
            }
            _ => {}
        }
    }
    let (first, last) = read?;
    let ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
    let busy = f64::from(last.busy_ms.saturating_sub(first.busy_ms)) * 1e6 / ns as f64;
    let bytes = |disk: Disk| disk.read_bytes.saturating_add(disk.written_bytes);
    let moved = bytes(last).saturating_sub(bytes(first));
    let others = moved.saturating_sub(own) as f64 / moved.max(1) as f64;
    let others = Some(others).filter(|_| !trace.origin.emulated);
    Some(DiskUse { node, busy: busy.min(1.0), others })
}
