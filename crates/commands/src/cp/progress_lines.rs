//! How far a copy is, for programs: a line of JSON on standard error now and then
//! (`garland.progress/2`, docs/results.md).

use garland_sys::process;
use serde::Serialize;

use garland_terminal::output;

/// How often a line is written, in nanoseconds.
const EVERY_NS: u64 = 200_000_000;

/// One line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    schema: &'static str,
    elapsed_ns: u64,
    bytes: u64,
    /// None of a stream, while that isn't known.
    length: Option<u64>,
    nodes: Vec<NodeLine>,
    waiting: Vec<String>,
}

/// How far one node is.
#[derive(Clone, Debug, Serialize)]
pub struct NodeLine {
    /// Its name.
    pub name: String,
    /// What it is at, in a word.
    pub state: &'static str,
    /// What it has.
    pub bytes: u64,
}

impl Line {
    /// At `now`: so many bytes of so many are there, at the nodes so many.
    pub fn new(now_ns: u64, (bytes, length): (u64, Option<u64>), nodes: Vec<NodeLine>) -> Self {
        let elapsed_ns = now_ns.saturating_sub(process::start_ns());
        let (schema, waiting) = ("garland.progress/2", Vec::new());
        Self { schema, elapsed_ns, bytes, length, nodes, waiting }
    }

    /// While these nodes are waited for.
    pub fn waiting(self, waiting: Vec<String>) -> Self {
        Self { waiting, ..self }
    }
}

/// The lines of one command.
#[derive(Debug, Default)]
pub struct ProgressLines {
    /// When the next one may be written, in nanoseconds of the monotonic clock.
    due_ns: u64,
    /// What hasn't been written so far.
    last: Option<Line>,
}

impl ProgressLines {
    /// Writes a line if it is time for one; else it is written later unless there is a newer one.
    pub fn tell(&mut self, now_ns: u64, line: Line) {
        self.last = Some(line);
        if now_ns >= self.due_ns {
            self.due_ns = now_ns + EVERY_NS;
            self.write();
        }
    }

    /// Writes what hasn't been written.
    pub fn write(&mut self) {
        let Some(line) = self.last.take() else { return };
        let Ok(text) = serde_json::to_string(&line) else { return };
        output::warn_json(&text);
    }
}
