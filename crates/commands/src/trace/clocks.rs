//! Converts times of the nodes' clocks to the head's clock.

use std::collections::BTreeMap;

use garland_analysis::clock::{self, reading};
use garland_core::trace::{Origin, Record, Trace};
use garland_core::units::Nanos;
use garland_report::Moment;

/// The clocks of a run's nodes.
pub struct Clocks {
    known: clock::Clocks,
    /// For each node whose clock was not compared, the assumed offset of its clock in nanoseconds.
    /// Outside of a lab, its trace is assumed to begin at the same time as the first node's.
    shifts: BTreeMap<u16, i64>,
    errors: BTreeMap<u16, u64>,
}

/// The start and end of a trace in nanoseconds of its node's clock.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    begin_ns: u64,
    end_ns: u64,
}

impl Stay {
    /// Returns the start and end of a trace.
    pub fn from_trace(trace: &Trace) -> Self {
        let begin_ns = trace.origin.started_ns;
        let end = |record: &Record| match record {
            Record::Span(span) => Some(span.end_ns),
            other => other.at_ns(),
        };
        let end_ns = trace.records.iter().filter_map(end).max().unwrap_or(begin_ns);
        Self { begin_ns, end_ns }
    }
}

impl Clocks {
    /// Creates the clocks of `nodes`, which are in the plan's order, from their `known` offsets
    /// from the head's clock. Unknown offsets are assumed.
    pub fn new<'a>(known: clock::Clocks, nodes: impl Iterator<Item = (&'a Origin, Stay)>) -> Self {
        let mut shifts = BTreeMap::new();
        let mut errors = BTreeMap::new();
        let mut first_ns = None;
        for (origin, stay) in nodes {
            let place = origin.index;
            let first_ns = *first_ns.get_or_insert(reading(origin.started_ns));
            let error = |at_ns| {
                let moment = known.to_head(usize::from(place), reading(at_ns))?;
                Some(moment.error_ns)
            };
            match (error(stay.begin_ns), error(stay.end_ns)) {
                (Some(begin), Some(end)) => {
                    errors.insert(place, begin.max(end));
                }
                _ => {
                    // All nodes of a lab share this machine's clock.
                    let begin_ns =
                        if origin.emulated { first_ns } else { reading(origin.started_ns) };
                    shifts.insert(place, first_ns - begin_ns);
                }
            }
        }
        Self { known, shifts, errors }
    }

    /// Converts `at_ns` on the clock of the node at `place` to the head's clock.
    pub fn on_head(&self, place: u16, at_ns: u64) -> Moment {
        let at = reading(at_ns);
        let (at, error_ns) = match self.known.to_head(usize::from(place), at) {
            Some(moment) => (moment.ns, Some(moment.error_ns)),
            None => (at + self.shifts.get(&place).copied().unwrap_or(0), None),
        };
        Moment { at_ns: u64::try_from(at).unwrap_or(0), error_ns }
    }

    /// Returns the error of converted times in nanoseconds: the larger of the errors at the start
    /// and the end of the node's trace. `None` if the clock was not compared.
    pub fn error_ns(&self, place: u16) -> Option<u64> {
        self.errors.get(&place).copied()
    }

    /// Describes how exact the node's times are on the head's clock.
    pub fn label(&self, place: u16) -> String {
        match self.error_ns(place) {
            Some(0) => "all times are on its clock".to_owned(),
            Some(error_ns) => format!("clock within {}", Nanos(error_ns)),
            None if self.shifts.get(&place) == Some(&0) => "clock not compared".to_owned(),
            None => "clock not compared: assumed to begin with the first node".to_owned(),
        }
    }
}
