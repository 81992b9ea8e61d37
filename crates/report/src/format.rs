//! What every format writes: nodes with rows of slices, counters, and what was lost.

use std::io;

use garland_core::trace::{Lost, Span};

/// A node. In a timeline it is a process.
pub(crate) struct Process {
    /// Its number in the whole export; rows and counters have others.
    pub(crate) id: u64,
    /// Its number as a process: its place in the plan and one, since no process is 0; or [`PATH_PID`].
    pub(crate) pid: u32,
    /// Its name.
    pub(crate) name: String,
    /// What is to be known of it: its part, how well its clock is known, whether its trace is whole.
    pub(crate) labels: Vec<String>,
}

/// A row of slices that don't overlap: one stage of one thread. In a timeline it is a thread.
pub(crate) struct Row {
    /// Its number in the whole export.
    pub(crate) id: u64,
    /// What is on it.
    pub(crate) name: String,
}

/// The critical path's number as a process, behind those of all nodes.
pub(crate) const PATH_PID: u32 = 65_537;

impl Process {
    /// Its place from the top: the critical path comes first.
    pub(crate) fn rank(&self) -> u32 {
        self.pid % PATH_PID
    }
}

impl Row {
    /// Its number as a thread. Those of threads begin behind those of all processes, with which they
    /// share one space.
    pub(crate) fn tid(&self) -> u64 {
        const FIRST: u64 = 100_000;
        FIRST + self.id
    }
}

/// A span in its place, by the head's clock.
pub(crate) struct Slice<'a> {
    /// When it began, in nanoseconds of the head's clock.
    pub(crate) begin_ns: u64,
    /// When it ended.
    pub(crate) end_ns: u64,
    /// The maximum error of both; `None` if unknown.
    pub(crate) error_ns: Option<u64>,
    /// What the node recorded, by its own clock.
    pub(crate) span: &'a Span,
    /// The other node's name.
    pub(crate) peer: Option<&'a str>,
    /// What joins it with the other end of its hop.
    pub(crate) flow: Option<Flow>,
}

/// A stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it began, in nanoseconds of the head's clock.
    pub begin_ns: u64,
    /// When it ended; never before that.
    pub end_ns: u64,
    /// What was waited for.
    pub cause: &'static str,
    /// The node; `None` if it concerns all.
    pub node: Option<String>,
    /// Where a hop ends.
    pub to: Option<String>,
    /// What a straggler was at.
    pub within: Option<&'static str>,
}

/// One end of a block's way over a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// A unique number that both ends have.
    pub(crate) id: u64,
    /// Whether it arrives here.
    pub(crate) arrives: bool,
}

/// A series of numbers.
pub(crate) struct Counter {
    /// Its number in the whole export.
    pub(crate) id: u64,
    /// What is counted, of which connection, thread or disk.
    pub(crate) name: String,
    /// In what.
    pub(crate) unit: Unit,
}

/// What a counter counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    Rate,
    /// Things.
    Count,
}

impl Unit {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Bytes => "bytes",
            Self::Rate => "bytes/s",
            Self::Count => "",
        }
    }
}

/// How a timeline is written down. Every call is about the process that was named last, and rows and
/// counters are named before what is on them.
pub(crate) trait Format {
    /// A node comes.
    fn process(&mut self, process: &Process) -> io::Result<()>;
    /// It has this row.
    fn row(&mut self, process: &Process, row: &Row) -> io::Result<()>;
    /// A slice of a row. Those of a row come in their order.
    fn slice(&mut self, process: &Process, row: &Row, slice: &Slice<'_>) -> io::Result<()>;
    /// A stretch of the critical path, which is a row of a process of its own.
    fn step(&mut self, process: &Process, row: &Row, step: &Step) -> io::Result<()>;
    /// Spans that are known by their sums only, at the end of what is known.
    fn lost(
        &mut self,
        process: &Process,
        lost: &Lost,
        peer: Option<&str>,
        at_ns: u64,
    ) -> io::Result<()>;
    /// It has this counter; nothing where every value names its own.
    fn counter(&mut self, _process: &Process, _counter: &Counter) -> io::Result<()> {
        Ok(())
    }
    /// A counter's value.
    fn sample(
        &mut self,
        process: &Process,
        counter: &Counter,
        at_ns: u64,
        value: u64,
    ) -> io::Result<()>;
    /// That was all.
    fn finish(&mut self) -> io::Result<()>;
}
