//! Lines on standard error that are redrawn while a command runs, and removed at its end. Without a
//! terminal nothing is shown.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use garland_core::printable;
use garland_sys::{process, terminal};

use crate::signs;

/// The minimum interval between redraws, in nanoseconds.
const EVERY_NS: u64 = 100_000_000;

/// The time after the start of a command before lines are shown, in nanoseconds.
const QUIET_NS: u64 = 1_000_000_000;

/// The lines that a command shows while it runs.
pub struct Screen {
    hidden: bool,
    /// When lines may be drawn next, in nanoseconds of the monotonic clock.
    due_ns: u64,
    /// The number of characters in each drawn line.
    drawn: Vec<usize>,
}

impl Screen {
    /// Returns a screen without lines. It never shows any if `quiet`, or without a terminal that
    /// supports control sequences.
    pub fn new(quiet: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self {
            hidden: quiet || is_dumb || terminal::size().is_none(),
            due_ns: process::start_ns() + QUIET_NS,
            drawn: Vec::new(),
        }
    }

    /// Returns whether the screen never shows anything.
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Returns whether a redraw is due.
    pub fn is_due(&self, now_ns: u64) -> bool {
        !self.hidden && now_ns >= self.due_ns
    }

    /// Returns the number of lines that fit above the cursor; 0 without a terminal.
    pub fn room(&self) -> usize {
        terminal::size().map_or(0, |(_, rows)| usize::from(rows).saturating_sub(1))
    }

    /// Replaces the lines, if a redraw is due. Each line is cut to the width of the terminal.
    pub fn draw(&mut self, now_ns: u64, lines: &[String]) {
        let Some((columns, _)) = terminal::size().filter(|_| self.is_due(now_ns)) else { return };
        let mut text = self.erasure(columns.into());
        for line in lines {
            // The last column stays free, since some terminals wrap after it.
            let fitted: String = printable::line(&signs::fitting(line))
                .chars()
                .take(usize::from(columns) - 1)
                .collect();
            self.drawn.push(fitted.chars().count());
            text.push_str(fitted.trim_end());
            text.push('\n');
        }
        show(&text);
        self.due_ns = now_ns + EVERY_NS;
    }

    /// Removes the drawn lines from the terminal.
    pub fn clear(&mut self) {
        if let Some((columns, _)) = terminal::size().filter(|_| !self.drawn.is_empty()) {
            show(&self.erasure(columns.into()));
        }
    }

    /// Returns the control sequence that erases the drawn lines. A terminal that has become
    /// narrower has wrapped these lines to more rows.
    fn erasure(&mut self, columns: usize) -> String {
        let rows: usize = self.drawn.drain(..).map(|length| length.div_ceil(columns).max(1)).sum();
        let mut text = String::from("\r");
        if rows > 0 {
            // Cursor up, and erase from there on.
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

/// Writes to the terminal; ignores errors, such as those of a closed terminal.
fn show(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
