//! The bytes that a node sent, received, read and wrote over time, in total and by NIC.

use std::ops::Range;

use garland_core::trace::{NONE, Span, Stage};
use serde::Serialize;

/// The bytes that a node moved, per interval; all intervals are equally long.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Rates {
    /// For each interval, the bytes sent over the network.
    pub(super) sent: Vec<u64>,
    /// For each interval, the bytes received over the network.
    pub(super) received: Vec<u64>,
    /// For each interval, the bytes read from and written to disks.
    pub(super) disk: Vec<u64>,
}

/// The NICs that a node's lanes use, and the NIC of each lane.
#[derive(Clone, Debug, Default)]
pub struct Nics {
    /// The names of NICs; empty if unknown.
    pub names: Vec<String>,
    /// For each lane, the index of its NIC in `names`.
    pub of_lanes: Vec<usize>,
}

/// The bytes over one of several NICs, per interval.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OverNic {
    pub(super) name: String,
    pub(super) sent: Vec<u64>,
    pub(super) received: Vec<u64>,
}

/// The bytes of a node and of each of its NICs, per interval.
pub(super) struct Counted {
    all: Rates,
    disk: Completed,
    nics: Vec<Rates>,
}

impl Counted {
    /// Creates counters for `bins` intervals. NICs get counters of their own only if there are
    /// several.
    pub(super) fn new(bins: usize, nics: &Nics) -> Self {
        let several = if nics.names.len() > 1 { nics.names.len() } else { 0 };
        Self {
            all: Rates::new(bins),
            disk: Completed::new(bins),
            nics: (0..several).map(|_| Rates::new(bins)).collect(),
        }
    }

    /// Adds a span's bytes to the node's rates, and to those of the NIC of the span's lane. `times`
    /// are the span's start and end since the start of the run.
    pub(super) fn add(&mut self, span: &Span, times: &Range<u64>, width_ns: u64, nics: &Nics) {
        self.all.add(span, times, width_ns);
        self.disk.add(span, times, width_ns);
        let lane = nics.of_lanes.get(usize::from(span.lane)).copied();
        if let Some(rates) = lane.and_then(|nic| self.nics.get_mut(nic)) {
            rates.add(span, times, width_ns);
        }
    }

    /// Returns the rates of the node, and those of each NIC if there are several.
    pub(super) fn end(mut self, names: &[String], width_ns: u64) -> (Rates, Vec<OverNic>) {
        self.disk.spread_into(&mut self.all.disk, width_ns);
        let over = |(Rates { sent, received, .. }, name): (Rates, &String)| OverNic {
            name: name.clone(),
            sent,
            received,
        };
        (self.all, self.nics.into_iter().zip(names).map(over).collect())
    }
}

/// What a disk completed, per interval.
///
/// A call may last much shorter than an interval, or than the time until the next call: bytes that
/// count where their call was would be peaks above what the disk can do, with gaps between them.
/// They are spread over the time since the calls before them ended.
struct Completed {
    bins: Vec<Calls>,
    /// When the first call began.
    begin_ns: u64,
}

/// The calls that ended in one interval.
#[derive(Clone, Copy, Default)]
struct Calls {
    bytes: u64,
    /// When the last of them ended.
    end_ns: u64,
}

impl Completed {
    fn new(bins: usize) -> Self {
        Self { bins: vec![Calls::default(); bins], begin_ns: u64::MAX }
    }

    /// Adds a span's bytes if it is a call for a disk. Calls for another node's file, which are
    /// those of a mount, are none.
    fn add(&mut self, span: &Span, times: &Range<u64>, width_ns: u64) {
        if span.peer != NONE || !matches!(span.stage, Stage::Read | Stage::Write) {
            return;
        }
        let Some(last) = self.bins.len().checked_sub(1) else { return };
        let bin = usize::try_from(times.end / width_ns.max(1)).unwrap_or(last).min(last);
        let calls = &mut self.bins[bin];
        calls.bytes = calls.bytes.saturating_add(span.bytes);
        calls.end_ns = calls.end_ns.max(times.end);
        self.begin_ns = self.begin_ns.min(times.start);
    }

    fn spread_into(&self, rates: &mut [u64], width_ns: u64) {
        let mut begin_ns = self.begin_ns;
        for calls in self.bins.iter().filter(|calls| calls.bytes > 0) {
            spread(rates, calls.bytes, &(begin_ns..calls.end_ns), width_ns);
            begin_ns = calls.end_ns;
        }
    }
}

impl Rates {
    /// Creates the rates for `bins` intervals, all 0.
    fn new(bins: usize) -> Self {
        let none = || vec![0; bins];
        Self { sent: none(), received: none(), disk: none() }
    }

    /// Adds a span's bytes to those of the network, spread evenly from its start to its end
    /// (`times`, since the start of the run). An interval is `width_ns` long; the last interval
    /// has no end.
    fn add(&mut self, span: &Span, times: &Range<u64>, width_ns: u64) {
        let bins = match span.stage {
            Stage::Send | Stage::Relay => &mut self.sent,
            Stage::Receive => &mut self.received,
            // A mount reads and writes files of another node.
            Stage::Read if span.peer != NONE => &mut self.received,
            Stage::Write if span.peer != NONE => &mut self.sent,
            _ => return,
        };
        spread(bins, span.bytes, times, width_ns);
    }
}

/// Adds bytes to intervals of `width_ns`, spread evenly over `times`; the last interval has no end.
fn spread(bins: &mut [u64], bytes: u64, times: &Range<u64>, width_ns: u64) {
    let Some(last) = bins.len().checked_sub(1) else { return };
    let width = width_ns.max(1);
    let place = |at: u64| usize::try_from(at / width).unwrap_or(last).min(last);
    let first = place(times.start);
    let end = place(times.end);
    let length = times.end.saturating_sub(times.start).max(1);
    let mut left = bytes;
    for (bin, sum) in bins.iter_mut().enumerate().take(end + 1).skip(first) {
        let until = (bin as u64 + 1).saturating_mul(width).min(times.end);
        let from = (bin as u64 * width).max(times.start);
        let part = u128::from(bytes) * u128::from(until.saturating_sub(from)) / u128::from(length);
        let part = u64::try_from(part).unwrap_or(left).min(left);
        // The last interval gets the remainder of rounding.
        let part = if bin == end { left } else { part };
        *sum += part;
        left -= part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::span;

    #[test]
    fn no_byte_is_lost() {
        let mut rates = Rates::new(10);
        let whole = Span { bytes: 1003, ..span(Stage::Receive, 1, 0) };
        rates.add(&whole, &(150..450), 100);
        assert_eq!(rates.received.iter().sum::<u64>(), 1003);
        assert_eq!(rates.received[..6], [0, 167, 334, 334, 168, 0]);
        rates.add(&whole, &(5000..9000), 100);
        assert_eq!(rates.received[9], 1003);
        assert_eq!(rates.sent.iter().sum::<u64>(), 0);
    }

    #[test]
    fn each_nic_has_its_lanes() {
        let names = vec!["eth0".to_owned(), "eth1".to_owned()];
        let nics = Nics { names, of_lanes: vec![0, 1, 0] };
        let mut counted = Counted::new(1, &nics);
        for lane in [0, 1, 1, 2, NONE] {
            counted.add(&Span { lane, ..span(Stage::Send, 1, 0) }, &(0..1), 1, &nics);
        }
        let (all, over) = counted.end(&nics.names, 1);
        assert_eq!(all.sent[0], 500);
        assert_eq!((over[0].sent[0], over[1].sent[0]), (200, 200));
        let one = Nics { names: vec!["eth0".to_owned()], of_lanes: vec![0] };
        assert!(Counted::new(1, &one).end(&one.names, 1).1.is_empty());
    }

    #[test]
    fn writes_of_a_mount_go_to_a_wire_and_other_writes_to_a_disk() {
        let mut counted = Counted::new(1, &Nics::default());
        counted.add(&span(Stage::Write, 1, 0), &(0..1), 1, &Nics::default());
        counted.add(&span(Stage::Read, NONE, 0), &(0..1), 1, &Nics::default());
        let rates = counted.end(&[], 1).0;
        assert_eq!((rates.sent[0], rates.received[0], rates.disk[0]), (100, 0, 100));
    }

    #[test]
    fn a_disk_that_gets_a_block_now_and_then_has_a_steady_rate() {
        // 20 blocks, one each 250 ns, of which each call takes 10; intervals are 100 ns long.
        let mut counted = Counted::new(50, &Nics::default());
        let block = Span { bytes: 1000, ..span(Stage::Write, NONE, 0) };
        for at in 1..=20 {
            counted.add(&block, &(at * 250 - 10..at * 250), 100, &Nics::default());
        }
        let disk = counted.end(&[], 100).0.disk;
        assert_eq!(disk.iter().sum::<u64>(), 20_000);
        assert!(disk[3..49].iter().all(|bytes| (398..=402).contains(bytes)), "{disk:?}");
        assert_eq!(disk[0..2], [0, 0]);
    }
}
