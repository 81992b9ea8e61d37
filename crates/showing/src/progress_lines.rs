//! The progress of a copy for programs: lines of JSON on standard error (`garland.progress/2`,
//! docs/results.md).

use clap::ValueEnum;
use garland_sys::process;
use garland_terminal::output;
use serde::Serialize;

/// Interval between lines, in nanoseconds.
const EVERY_NS: u64 = 200_000_000;

/// Formats of progress reports for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// One JSON object a line.
    Json,
}

/// A report of the progress of a copy: one line of JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    schema: &'static str,
    elapsed_ns: u64,
    bytes: u64,
    /// The total length in bytes; `None` for a stream that has not ended.
    length: Option<u64>,
    nodes: Vec<NodeLine>,
    waiting: Vec<String>,
}

/// The progress of one node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeLine {
    /// The node's name, with the prefix of a lab.
    pub name: String,
    /// The node's state, such as `receiving`.
    pub state: &'static str,
    /// Bytes that the node has received or sent.
    pub bytes: u64,
}

impl Line {
    /// Creates a line for the time `now_ns`. If every node gets the same bytes, `length` is their
    /// number, and `bytes` is what the slowest node has; otherwise both are sums over all nodes.
    /// `waiting` names the busy nodes that the copy waits for.
    pub fn new(
        now_ns: u64,
        bytes: u64,
        length: Option<u64>,
        nodes: Vec<NodeLine>,
        waiting: Vec<String>,
    ) -> Self {
        let elapsed_ns = now_ns.saturating_sub(process::start_ns());
        Self { schema: "garland.progress/2", elapsed_ns, bytes, length, nodes, waiting }
    }
}

/// Writes the reports of one command: at most one every 0.2 s, and always the last one.
#[derive(Debug, Default)]
pub struct ProgressLines {
    /// When the next line may be written, in nanoseconds of the monotonic clock.
    due_ns: u64,
    /// The newest line, if it is not written yet.
    last: Option<Line>,
}

impl ProgressLines {
    /// Writes the line if one is due; otherwise keeps it until it is written or a newer line
    /// replaces it.
    pub fn tell(&mut self, now_ns: u64, line: Line) {
        self.last = Some(line);
        if now_ns >= self.due_ns {
            self.due_ns = now_ns + EVERY_NS;
            self.write();
        }
    }

    /// Writes the line that is not written yet, if any.
    pub fn write(&mut self) {
        let Some(line) = self.last.take() else { return };
        let Ok(text) = serde_json::to_string(&line) else { return };
        output::warn_json(&text);
    }
}
