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
    pub(super) all: Rates,
    nics: Vec<Rates>,
}

impl Counted {
    /// Creates counters for `bins` intervals. NICs get counters of their own only if there are
    /// several.
    pub(super) fn new(bins: usize, nics: &Nics) -> Self {
        let several = if nics.names.len() > 1 { nics.names.len() } else { 0 };
        Self { all: Rates::new(bins), nics: (0..several).map(|_| Rates::new(bins)).collect() }
    }

    /// Adds a span's bytes to the node's rates, and to those of the NIC of the span's lane. `times`
    /// are the span's start and end since the start of the run.
    pub(super) fn add(&mut self, span: &Span, times: &Range<u64>, width_ns: u64, nics: &Nics) {
        self.all.add(span, times, width_ns);
        let lane = nics.of_lanes.get(usize::from(span.lane)).copied();
        if let Some(rates) = lane.and_then(|nic| self.nics.get_mut(nic)) {
            rates.add(span, times, width_ns);
        }
    }

    /// Returns the rates of the node, and those of each NIC if there are several.
    pub(super) fn end(self, names: &[String]) -> (Rates, Vec<OverNic>) {
        let over = |(Rates { sent, received, .. }, name): (Rates, &String)| OverNic {
            name: name.clone(),
            sent,
            received,
        };
        (self.all, self.nics.into_iter().zip(names).map(over).collect())
    }
}

impl Rates {
    /// Creates the rates for `bins` intervals, all 0.
    pub(super) fn new(bins: usize) -> Self {
        let none = || vec![0; bins];
        Self { sent: none(), received: none(), disk: none() }
    }

    /// Adds a span's bytes, spread evenly from its start to its end (`times`, since the start of
    /// the run). An interval is `width_ns` long; the last interval has no end.
    pub(super) fn add(&mut self, span: &Span, times: &Range<u64>, width_ns: u64) {
        let bins = match span.stage {
            Stage::Send | Stage::Relay => &mut self.sent,
            Stage::Receive => &mut self.received,
            // A mount reads and writes files of another node.
            Stage::Read if span.peer != NONE => &mut self.received,
            Stage::Write if span.peer != NONE => &mut self.sent,
            Stage::Read | Stage::Write => &mut self.disk,
            _ => return,
        };
        let Some(last) = bins.len().checked_sub(1) else { return };
        let width = width_ns.max(1);
        let place = |at: u64| usize::try_from(at / width).unwrap_or(last).min(last);
        let first = place(times.start);
        let end = place(times.end);
        let length = times.end.saturating_sub(times.start).max(1);
        let mut left = span.bytes;
        for (bin, sum) in bins.iter_mut().enumerate().take(end + 1).skip(first) {
            let until = (bin as u64 + 1).saturating_mul(width).min(times.end);
            let from = (bin as u64 * width).max(times.start);
            let part = u128::from(span.bytes) * u128::from(until.saturating_sub(from))
                / u128::from(length);
            let part = u64::try_from(part).unwrap_or(left).min(left);
            // The last interval gets the remainder of rounding.
            let part = if bin == end { left } else { part };
            *sum += part;
            left -= part;
        }
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
        let (all, over) = counted.end(&nics.names);
        assert_eq!(all.sent[0], 500);
        assert_eq!((over[0].sent[0], over[1].sent[0]), (200, 200));
        let one = Nics { names: vec!["eth0".to_owned()], of_lanes: vec![0] };
        assert!(Counted::new(1, &one).end(&one.names).1.is_empty());
    }

    #[test]
    fn writes_of_a_mount_go_to_a_wire_and_other_writes_to_a_disk() {
        let mut rates = Rates::new(1);
        rates.add(&span(Stage::Write, 1, 0), &(0..1), 1);
        rates.add(&span(Stage::Read, NONE, 0), &(0..1), 1);
        assert_eq!((rates.sent[0], rates.received[0], rates.disk[0]), (100, 0, 100));
    }
}
