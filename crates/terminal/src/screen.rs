//! Lines on standard error that are redrawn while a command runs, and removed at its end. Without a
//! terminal nothing is shown.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use garland_core::printable;
use garland_sys::{process, terminal};

use crate::signs;
use crate::width::{cut, rows};

/// The minimum interval between redraws, in nanoseconds.
const EVERY_NS: u64 = 100_000_000;

/// The time after the start of a command before lines are shown, in nanoseconds.
const QUIET_NS: u64 = 1_000_000_000;

/// The lines that a command shows while it runs.
pub struct Screen {
    hidden: bool,
    /// When lines may be drawn next, in nanoseconds of the monotonic clock.
    due_ns: u64,
    /// The drawn lines.
    drawn: Vec<String>,
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
        self.drawn = lines.iter().map(|line| drawable(line, columns.into())).collect();
        for line in &self.drawn {
            text.push_str(line);
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
        let rows: usize = self.drawn.drain(..).map(|line| rows(&line, columns)).sum();
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

/// Returns as much of a line as a terminal with `columns` columns shows in one row. The last column
/// stays free, since some terminals wrap after it.
fn drawable(line: &str, columns: usize) -> String {
    let shown = printable::line(&signs::fitting(line));
    cut(&shown, columns.saturating_sub(1)).trim_end().to_owned()
}

/// Writes to the terminal; ignores errors, such as those of a closed terminal.
fn show(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_wide_characters_stays_in_one_row() {
        assert_eq!(drawable("n1  模型.bin  9 %", 80), "n1  模型.bin  9 %");
        assert_eq!(drawable("n1  模型.bin  9 %", 9), "n1  模型");
        assert_eq!(drawable("n1  模型.bin  9 %", 8), "n1  模");
    }

    #[test]
    fn all_rows_of_wide_characters_are_erased_after_the_terminal_became_narrower() {
        let erased = |line: &str, columns: usize| {
            let drawn = vec![drawable(line, 80), drawable("n2", 80)];
            Screen { hidden: false, due_ns: 0, drawn }.erasure(columns)
        };
        assert_eq!(erased(&"模".repeat(20), 80), "\r\x1b[2A\x1b[J");
        assert_eq!(erased(&"模".repeat(20), 39), "\r\x1b[3A\x1b[J");
        assert_eq!(erased(&"e\u{301}".repeat(20), 39), "\r\x1b[2A\x1b[J");
    }
}
