//! The interface of all formats: nodes with rows of slices, counters, and lost spans.

use std::io;

use garland_core::trace::{Lost, Span};

/// A node, which a timeline shows as a process.
pub(crate) struct Process {
    /// The process ID: the node's index in the plan plus 1, since 0 is not a valid process ID, or
    /// [`PATH_PID`].
    pub(crate) pid: u32,
    /// The node's name.
    pub(crate) name: String,
    /// Properties of the node: its role, the error of its clock, whether its trace is complete.
    pub(crate) labels: Vec<String>,
}

/// A row of slices that do not overlap: one stage of one thread. A timeline shows it as a thread.
pub(crate) struct Row {
    /// A number that is unique among all rows of the export.
    pub(crate) id: u64,
    /// The row's title.
    pub(crate) name: String,
}

/// The process ID of the critical path, above those of all nodes.
pub(crate) const PATH_PID: u32 = 65_537;

impl Process {
    /// Returns the position of the process from the top, from 0. The critical path comes first.
    pub(crate) fn rank(&self) -> u32 {
        self.pid % PATH_PID
    }
}

impl Row {
    /// Returns the thread ID. Thread IDs start above all process IDs, since both share one number
    /// space.
    pub(crate) fn tid(&self) -> u64 {
        const FIRST: u64 = 100_000;
        FIRST + self.id
    }
}

/// A span with its times by the head's clock.
pub(crate) struct Slice<'a> {
    /// Start in nanoseconds of the head's clock.
    pub(crate) begin_ns: u64,
    /// End in nanoseconds of the head's clock; never before the start.
    pub(crate) end_ns: u64,
    /// The maximum error of `begin_ns` and `end_ns` in nanoseconds; `None` if unknown.
    pub(crate) error_ns: Option<u64>,
    /// The recorded span, by the node's own clock.
    pub(crate) span: &'a Span,
    /// The name of the other node; `None` if the span concerns one node.
    pub(crate) peer: Option<&'a str>,
    /// The flow that connects the slice with the slice at the other end of the hop; `None` for
    /// spans that neither send nor receive.
    pub(crate) flow: Option<Flow>,
}

/// A stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Start in nanoseconds of the head's clock.
    pub begin_ns: u64,
    /// End in nanoseconds of the head's clock; never before the start.
    pub end_ns: u64,
    /// The cause of the delay.
    pub cause: &'static str,
    /// The node that caused the delay, or the sender of the hop; `None` if the cause concerns all
    /// nodes.
    pub node: Option<String>,
    /// The receiver of the hop, if the cause is a hop.
    pub to: Option<String>,
    /// The activity in which the node was slow, if the cause is a straggler.
    pub within: Option<&'static str>,
}

/// One end of the transfer of a block over a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// A number that is unique in the export, except that both ends of the flow have it.
    pub(crate) id: u64,
    /// Whether this is the receiving end.
    pub(crate) arrives: bool,
}

/// A series of values over time.
pub(crate) struct Counter {
    /// The name of the counter, with that of its connection, thread or disk.
    pub(crate) name: String,
    /// The unit of the values.
    pub(crate) unit: Unit,
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    Rate,
    /// A number without a unit.
    Count,
}

impl Unit {
    /// Returns the unit's symbol; empty for counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Bytes => "bytes",
            Self::Rate => "bytes/s",
            Self::Count => "",
        }
    }
}

/// A format of timelines. Every call applies to the process that was written last. Rows are written
/// before their slices.
pub(crate) trait Format {
    /// Writes a process. The default writes nothing, for formats whose lines name their node.
    fn process(&mut self, _process: &Process) -> io::Result<()> {
        Ok(())
    }
    /// Writes a row of a process. The default writes nothing, for formats without rows.
    fn row(&mut self, _process: &Process, _row: &Row) -> io::Result<()> {
        Ok(())
    }
    /// Writes a slice of a row. Slices of a row come in order of time.
    fn slice(&mut self, process: &Process, row: &Row, slice: &Slice<'_>) -> io::Result<()>;
    /// Writes a stretch of the critical path, which is a process with one row.
    fn step(&mut self, process: &Process, row: &Row, step: &Step) -> io::Result<()>;
    /// Writes the sums of spans that were not recorded one by one. `at_ns` is the end of the trace
    /// by the head's clock.
    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()>;
    /// Writes the value of a counter at the time `at_ns` of the head's clock.
    fn sample(
        &mut self,
        process: &Process,
        counter: &Counter,
        at_ns: u64,
        value: u64,
    ) -> io::Result<()>;
    /// Writes the end of the file and flushes it.
    fn finish(&mut self) -> io::Result<()>;
}
