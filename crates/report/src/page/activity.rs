//! What a node mostly did in each interval of a run, and what it waited for: its row on the
//! timeline.

use std::collections::BTreeMap;
use std::ops::Range;

use garland_core::trace::{NONE, Span, Stage};
use serde::{Serialize, Serializer};

/// The time that a node worked and waited, per interval; all intervals are equally long.
pub(super) struct Activity {
    bins: Vec<Bin>,
    width_ns: u64,
}

/// The time at each stage of an interval; of waits, by the node that was waited for.
#[derive(Clone, Debug, Default)]
struct Bin {
    work: BTreeMap<u8, u64>,
    waits: BTreeMap<(u8, u32), u64>,
}

/// An interval, or several alike: the stages that took most of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    begin_ns: u64,
    end_ns: u64,
    /// The time at work in thousandths of the interval, at most 1000.
    busy: u64,
    /// The stage that worked longest.
    work: Option<u8>,
    /// The stage that waited longest for another node, and that node's index in the plan.
    wait: Option<(u8, u32)>,
}

/// Serializes a state as six numbers: start and length in microseconds, busy time in thousandths,
/// numbers of the stages at work and waiting plus 1 (0 for none), index of the other node plus 1.
impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let begin = self.begin_ns / 1000;
        let end = self.end_ns / 1000;
        let (wait, peer) = self.wait.map_or((0, 0), |(stage, peer)| (u64::from(stage) + 1, peer));
        let work = self.work.map_or(0, |stage| u64::from(stage) + 1);
        [begin, end - begin, self.busy, work, wait, u64::from(peer)].serialize(serializer)
    }
}

impl Activity {
    /// Creates `bins` intervals of `width_ns` each, without work.
    pub(super) fn new(bins: usize, width_ns: u64) -> Self {
        Self { bins: vec![Bin::default(); bins], width_ns: width_ns.max(1) }
    }

    /// Adds the time of a span, spread evenly from its start to its end (`times`, since the start
    /// of the run).
    pub(super) fn add(&mut self, span: &Span, times: &Range<u64>) {
        let is_wait = matches!(span.stage, Stage::WaitUpstream | Stage::WaitDownstream);
        // A wait for a stage of this node says nothing of others; the other stage's work is
        // counted.
        if span.stage == Stage::WaitBuffer || is_wait && span.peer == NONE {
            return;
        }
        let length = times.end.saturating_sub(times.start).max(1);
        let width = self.width_ns;
        let first = times.start / width;
        let touched = self.bins.iter_mut().enumerate().skip(first as usize);
        for (at, bin) in touched.take_while(|(at, _)| *at as u64 * width < times.end.max(1)) {
            let from = (at as u64 * width).max(times.start);
            let inside = ((at as u64 + 1) * width).min(times.end).saturating_sub(from);
            let time =
                u128::from(span.busy_ns.min(length)) * u128::from(inside) / u128::from(length);
            let time = u64::try_from(time).unwrap_or(u64::MAX);
            match is_wait {
                true => {
                    *bin.waits
                        .entry((span.stage.number(), u32::from(span.peer) + 1))
                        .or_default() += time
                }
                false => *bin.work.entry(span.stage.number()).or_default() += time,
            }
        }
    }

    /// Returns the states in order of time. Intervals that are alike become one, with their mean;
    /// those without any span are omitted.
    pub(super) fn end(self) -> Vec<State> {
        let width = self.width_ns;
        let mut states: Vec<State> = Vec::new();
        for (at, bin) in self.bins.iter().enumerate() {
            let Some(next) = bin.state(at as u64 * width, width) else { continue };
            match states.last_mut() {
                Some(last) if last.is_continued_by(&next) => last.end_ns = next.end_ns,
                _ => states.push(next),
            }
        }
        states
    }
}

impl Bin {
    fn state(&self, begin_ns: u64, width_ns: u64) -> Option<State> {
        let most = |of: &mut dyn Iterator<Item = (u8, u32, u64)>| {
            of.filter(|(.., ns)| *ns > 0).max_by_key(|(.., ns)| *ns)
        };
        let work = most(&mut self.work.iter().map(|(stage, ns)| (*stage, 0, *ns)));
        let wait = most(&mut self.waits.iter().map(|((stage, peer), ns)| (*stage, *peer, *ns)));
        if work.is_none() && wait.is_none() {
            return None;
        }
        let busy = self.work.values().sum::<u64>().min(width_ns).saturating_mul(1000) / width_ns;
        Some(State {
            begin_ns,
            end_ns: begin_ns + width_ns,
            busy,
            work: work.map(|(stage, ..)| stage),
            wait: wait.map(|(stage, peer, _)| (stage, peer)),
        })
    }
}

impl State {
    fn is_continued_by(&self, next: &Self) -> bool {
        let alike = self.work == next.work && self.wait == next.wait;
        alike && self.end_ns == next.begin_ns && self.busy.abs_diff(next.busy) < 20
    }
}

#[cfg(test)]
mod tests;
