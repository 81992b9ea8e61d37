//! The export of traces to a timeline, one node after the other.

use std::collections::BTreeMap;
use std::io::{self, Write};

use garland_core::trace::{NONE, Record, Span, Trace};

use crate::chrome::Chrome;
use crate::counters::{Of, Reading, readings};
use crate::csv::Csv;
use crate::flows::Flows;
use crate::format::{Counter, Format, PATH_PID, Process, Row, Slice, Step};
use crate::rows::{Stretch, lay_out};
use crate::totals::Totals;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// JSON trace events, for ui.perfetto.dev, chrome://tracing and many other programs.
    Chrome,
    /// A table of all spans and samples.
    Csv,
}

/// A node's time, converted to the head's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds of the head's clock.
    pub at_ns: u64,
    /// The maximum error in nanoseconds; `None` if unknown.
    pub error_ns: Option<u64>,
}

/// An export that is being written. It needs as much memory as the largest trace.
pub struct Export<'a> {
    format: Box<dyn Format + 'a>,
    names: BTreeMap<u16, String>,
    flows: Flows,
    totals: Totals,
    last_id: u64,
}

impl<'a> Export<'a> {
    /// Starts an export to `output`. `names` has the name of the node for each index in the plan.
    ///
    /// # Errors
    /// If `output` cannot be written.
    pub fn begin(
        kind: Kind,
        output: &'a mut dyn Write,
        names: BTreeMap<u16, String>,
    ) -> io::Result<Self> {
        let format: Box<dyn Format> = match kind {
            Kind::Chrome => Box::new(Chrome::begin(output)?),
            Kind::Csv => Box::new(Csv::begin(output)?),
        };
        Ok(Self { format, names, flows: Flows::default(), totals: Totals::default(), last_id: 0 })
    }

    /// Writes the trace of a node. `labels` are properties of the node. `on_head` converts times of
    /// the node's clock in nanoseconds to the head's clock.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn node(
        &mut self,
        trace: &Trace,
        labels: Vec<String>,
        on_head: &dyn Fn(u64) -> Moment,
    ) -> io::Result<()> {
        let origin = &trace.origin;
        let pid = u32::from(origin.index) + 1;
        let process = Process { pid, name: origin.node.clone(), labels };
        self.format.process(&process)?;
        self.spans(&process, origin.index, &trace.records, on_head)?;
        self.samples(&process, &trace.records, on_head)?;
        let last_ns = trace.records.iter().filter_map(last_ns).max().unwrap_or(origin.started_ns);
        for record in &trace.records {
            let Record::Lost(lost) = record else { continue };
            let peer = name(&self.names, lost.peer);
            self.format.lost(&process, lost, peer.as_deref(), on_head(last_ns).at_ns)?;
            self.totals.add_lost(lost);
        }
        Ok(())
    }

    /// Writes the critical path. `steps` must be in order of time and must not overlap.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn path(&mut self, steps: &[Step]) -> io::Result<()> {
        let name = "critical path".to_owned();
        let labels = vec!["the causes that delayed the whole run".to_owned()];
        let process = Process { pid: PATH_PID, name, labels };
        self.last_id += 1;
        let row = Row { id: self.last_id, name: "cause".to_owned() };
        self.format.process(&process)?;
        self.format.row(&process, &row)?;
        steps.iter().try_for_each(|step| self.format.step(&process, &row, step))
    }

    /// Ends the export. Returns the sums of all spans, lost ones included.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<Totals> {
        self.format.finish()?;
        Ok(self.totals)
    }

    fn spans(
        &mut self,
        process: &Process,
        place: u16,
        records: &[Record],
        on_head: &dyn Fn(u64) -> Moment,
    ) -> io::Result<()> {
        let mut placed: Vec<(Stretch, Option<u64>, &Span)> = records
            .iter()
            .filter_map(|record| match record {
                Record::Span(span) => Some(span),
                _ => None,
            })
            .map(|span| {
                let begin = on_head(span.begin_ns);
                let end = on_head(span.end_ns);
                let end_ns = end.at_ns.max(begin.at_ns);
                let error_ns = begin.error_ns.zip(end.error_ns).map(|(one, other)| one.max(other));
                (Stretch { begin_ns: begin.at_ns, end_ns }, error_ns, span)
            })
            .collect();
        placed.sort_by_key(|(stretch, ..)| (stretch.begin_ns, stretch.end_ns));
        let stretches = placed.iter().map(|(stretch, _, span)| (*span, *stretch));
        let last_id = &mut self.last_id;
        let rows = lay_out(stretches, || {
            *last_id += 1;
            *last_id
        });
        rows.rows.iter().try_for_each(|row| self.format.row(process, row))?;
        for ((stretch, error_ns, span), row) in placed.iter().zip(&rows.of_span) {
            let Stretch { begin_ns, end_ns } = *stretch;
            let flow = self.flows.of(place, span);
            let peer = name(&self.names, span.peer);
            let error_ns = *error_ns;
            let peer = peer.as_deref();
            let slice = Slice { begin_ns, end_ns, error_ns, span, peer, flow };
            self.format.slice(process, &rows.rows[*row], &slice)?;
            self.totals.add(span);
        }
        Ok(())
    }

    fn samples(
        &mut self,
        process: &Process,
        records: &[Record],
        on_head: &dyn Fn(u64) -> Moment,
    ) -> io::Result<()> {
        let mut counters: BTreeMap<(Of, &str), Counter> = BTreeMap::new();
        for (at_ns, readings) in records.iter().filter_map(readings) {
            for Reading { of, what, unit, value } in readings {
                let counter = counters.entry((of, what)).or_insert_with(|| {
                    let peer = of.peer().and_then(|peer| name(&self.names, peer));
                    let of_what = of.name(peer.as_deref().unwrap_or_default());
                    Counter { name: format!("{of_what}: {what}"), unit }
                });
                self.format.sample(process, counter, on_head(at_ns).at_ns, value)?;
            }
        }
        Ok(())
    }
}

/// Returns the name of the node with this index in the plan, or a name such as `node 5` if the
/// trace of the node is missing; `None` for [`NONE`].
fn name(names: &BTreeMap<u16, String>, place: u16) -> Option<String> {
    let known = || names.get(&place).cloned().unwrap_or_else(|| format!("node {place}"));
    (place != NONE).then(known)
}

/// Returns the latest time of a record by the node's clock in nanoseconds; `None` if the record has
/// no time.
fn last_ns(record: &Record) -> Option<u64> {
    match record {
        Record::Span(span) => Some(span.end_ns),
        other => other.at_ns(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
