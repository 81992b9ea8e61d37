//! The input of a ledger.

use garland_core::trace::Trace;

use crate::clock::{Clocks, Evidence, reading};

/// The phases before the head sends.
pub(super) const BEFORE_STREAM: [&str; 3] = ["set-up", "comparison", "waiting"];

/// A stream of fewer nanoseconds is too short to tell what limited it: counters are sampled every
/// 250 ms, and equal copies spend such a time each at something else.
const SHORT_NS: u64 = 300_000_000;

/// A period in which a node, or the head, worked for the comparison before a copy, in nanoseconds
/// since the start of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompareWork {
    /// The index of the node; 0 for the head.
    pub node: usize,
    /// The start of the period.
    pub begin_ns: u64,
    /// The end of the period.
    pub end_ns: u64,
}

/// A run as read from its directory.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The names of the plan's nodes, head first.
    pub nodes: &'a [String],
    /// For each of `nodes`, its trace; `None` if missing.
    pub traces: &'a [Option<Trace>],
    /// The phases of the command as recorded in its result: names and durations in nanoseconds,
    /// without gaps.
    pub phases: &'a [(String, u64)],
    /// Who worked when to find out what nodes have already.
    pub comparison: &'a [CompareWork],
    /// Whether the command started agents; `None` if that is unknown.
    pub agents_started: Option<bool>,
    /// Whether no node has the whole file.
    pub has_failed: bool,
    /// Whether all nodes had all of the source.
    pub is_unsent: bool,
    /// The length of the source in bytes.
    pub bytes: u64,
    /// The maximum rate of a copy that the network and the options allow, in bytes per second;
    /// `None` if unknown.
    pub limit: Option<f64>,
    /// The rate of the fastest hop while no other is in use, in bytes per second; `None` if
    /// unknown.
    pub hop_limit: Option<f64>,
    /// Whether several hops share a trunk that is slower than they are.
    pub has_slow_trunk: bool,
    /// The rates at which the processors of machines would limit the copy if nothing else did: the
    /// node's index, or `None` for the machine that emulates all nodes, and bytes per second.
    pub processors: &'a [(Option<usize>, f64)],
    /// Whether the head read the source from none of its disks.
    pub off_disk: bool,
    /// The indices of the nodes to which the head's bytes went through ssh.
    pub by_ssh: &'a [usize],
    /// The indices of the nodes that died during the copy.
    pub dead: &'a [usize],
}

impl Run<'_> {
    /// Returns the duration of the command in nanoseconds.
    pub fn wall_ns(&self) -> u64 {
        let end = self.stretches().last().map_or(0, |(.., end)| end.saturating_sub(self.began()));
        u64::try_from(end).unwrap_or(0)
    }

    /// Returns the start of the command on the head's clock; 0 if unknown.
    pub fn began(&self) -> i64 {
        let head = self.traces.first().and_then(Option::as_ref);
        head.map_or(0, |head| reading(head.origin.started_ns))
    }

    /// Returns the phases as (name, begin, end) on the head's clock.
    pub(super) fn stretches(&self) -> Vec<(&str, i64, i64)> {
        let mut stretches = Vec::with_capacity(self.phases.len());
        let mut at = self.began();
        for (name, ns) in self.phases {
            let end = at.saturating_add(reading(*ns));
            stretches.push((name.as_str(), at, end));
            at = end;
        }
        stretches
    }

    /// Returns the end of the last phase whose name is in `names`, on the head's clock. Without
    /// such a phase, returns the start of the command.
    pub(super) fn end_of(&self, names: &[&str]) -> i64 {
        let stretches = self.stretches();
        let last = stretches.iter().rev().find(|(name, ..)| names.contains(name));
        last.map_or(self.began(), |(.., end)| *end)
    }

    /// Returns a moment of the head's clock, from nanoseconds since the start of the command.
    pub(super) fn at(&self, ns: u64) -> i64 {
        self.began().saturating_add(reading(ns))
    }

    /// Returns the time from the end of the set-up to the end of the commit, in nanoseconds.
    pub(super) fn stream_ns(&self) -> u64 {
        let begin = self.end_of(&BEFORE_STREAM);
        u64::try_from(self.end_of(&["fsync"]).saturating_sub(begin)).unwrap_or(0)
    }

    /// Returns whether the stream was too short to tell what limited it.
    pub(super) fn is_short(&self) -> bool {
        self.stream_ns() < SHORT_NS
    }

    /// Computes the nodes' clocks from the traces.
    pub fn clocks(&self) -> Clocks {
        let mut evidence = Evidence::default();
        for (node, trace) in self.known() {
            evidence.learn(node, trace);
        }
        evidence.clocks(self.nodes.len())
    }

    /// Iterates over the existing traces with their node indices.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, &Trace)> {
        let traces = self.traces.iter().enumerate();
        traces.filter_map(|(node, trace)| Some((node, trace.as_ref()?)))
    }

    /// Returns whether one machine emulates all nodes.
    pub(super) fn is_emulated(&self) -> bool {
        self.known().any(|(_, trace)| trace.origin.emulated)
    }
}
