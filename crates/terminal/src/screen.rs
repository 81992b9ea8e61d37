//! Lines on standard error that are drawn anew while a command runs, and gone at its end; nothing
//! where standard error is no terminal.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use garland_core::printable;
use garland_sys::{process, terminal};

/// How often lines are drawn, in nanoseconds.
const EVERY_NS: u64 = 100_000_000;

/// A command that is over within so many nanoseconds shows none.
const QUIET_NS: u64 = 1_000_000_000;

/// The lines of one command.
pub struct Screen {
    hidden: bool,
    /// When lines may be drawn next, in nanoseconds of the monotonic clock.
    due_ns: u64,
    /// How many characters each drawn line has.
    drawn: Vec<usize>,
}

impl Screen {
    /// A screen without lines; it stays so if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            hidden: quiet || is_dumb || terminal::size().is_none(),
            due_ns: process::start_ns() + QUIET_NS,
            drawn: Vec::new(),
        }
    }

    /// Whether it never shows anything.
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Whether it is time to draw.
    pub fn is_due(&self, now_ns: u64) -> bool {
        !self.hidden && now_ns >= self.due_ns
    }

    /// How many lines fit; the cursor stands below them.
    pub fn room(&self) -> usize {
        terminal::size().map_or(0, |(_, rows)| usize::from(rows).saturating_sub(1))
    }

    /// Draws `lines` in the place of those before, each cut where the terminal ends.
    pub fn draw(&mut self, now_ns: u64, lines: &[String]) {
        let Some((columns, _)) = terminal::size().filter(|_| self.is_due(now_ns)) else { return };
        let mut text = self.erasure(columns.into());
        for line in lines {
            // The last column stays free: some terminals go to the next line after it.
            let line: String =
                printable::line(line).chars().take(usize::from(columns) - 1).collect();
            self.drawn.push(line.chars().count());
            text.push_str(line.trim_end());
            text.push('\n');
        }
        show(&text);
        self.due_ns = now_ns + EVERY_NS;
    }

    /// Takes all lines away.
    pub fn clear(&mut self) {
        if let Some((columns, _)) = terminal::size().filter(|_| !self.drawn.is_empty()) {
            show(&self.erasure(columns.into()));
        }
    }

    /// What erases the drawn lines. A terminal that has become narrower since has broken them to
    /// more rows than they were drawn on.
    fn erasure(&mut self, columns: usize) -> String {
        let rows: usize = self.drawn.drain(..).map(|length| length.div_ceil(columns).max(1)).sum();
        let mut text = String::from("\r");
        if rows > 0 {
            // Up, and all from there on.
            let _ = write!(text, "\x1b[{rows}A\x1b[J");
        }
        text
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A terminal that is gone needs no lines.
fn show(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
