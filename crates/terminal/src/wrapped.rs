//! Wraps lines that are longer than the terminal is wide, so that words stay whole and what follows
//! stands below the text of the line, not below its label. Tables, paths and commands to be copied
//! stay as they are.

use crate::width::width;

/// The least number of columns to which lines are wrapped.
const MIN_WIDTH: usize = 40;

/// The maximum width of a label below whose text other text stands, in columns.
const LABEL_MAX: usize = 28;

/// The labels of lines whose text is a path, a name or a command.
const EXACT: [&str; 6] = ["command", "copy", "output", "plan", "remove", "run"];

/// Where a line's text is.
struct Label {
    /// The length of what is before the text, in bytes.
    length: usize,
    /// The indent of the lines that follow, in columns.
    indent: usize,
}

/// Returns `text` with each line that has a label and a text wrapped to `columns` columns, if there
/// is a place for it.
pub fn wrapped(text: &str, columns: usize) -> String {
    if columns < MIN_WIDTH {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n').map(|line| match width(line.trim_end()) {
        long if long > columns => wrapped_line(line, columns),
        _ => line.to_owned(),
    });
    lines.collect()
}

/// Returns where the text of a line is; `None` if the line is not a label with a text.
fn label(line: &str) -> Option<Label> {
    let margin = line.len() - line.trim_start_matches(' ').len();
    let after = |at: usize| at + line[at..].len() - line[at..].trim_start_matches(' ').len();
    let gap = line[margin..].find("  ").map(|at| margin + at);
    let colon = line[margin..].find(": ").map(|at| margin + at).filter(|at| *at <= LABEL_MAX);
    // An indented line belongs to the one above, also without a label.
    let length = gap.or(colon.map(|at| at + 1)).map(after).or((margin > 0).then_some(margin))?;
    let is_table = line[length..].contains("  ");
    let is_exact = gap.is_some() && EXACT.contains(&line[margin..].split(' ').next()?);
    let indent = width(&line[..length]);
    let is_below = gap.is_some() && indent <= LABEL_MAX;
    let begins = indent <= LABEL_MAX || gap.is_none();
    let indent = if is_below { indent } else { margin + 2 };
    (begins && !is_table && !is_exact).then_some(Label { length, indent })
}

fn wrapped_line(line: &str, columns: usize) -> String {
    let Some(Label { length, indent }) = label(line.trim_end()) else { return line.to_owned() };
    // Figures are kept together with what they are of.
    let separator = if line[length..].contains(" · ") { " · " } else { " " };
    let at_end = separator.trim_end();
    let mut lines = line[..length].to_owned();
    let mut used = width(&lines);
    for (number, piece) in line[length..].split(separator).enumerate() {
        let needed = width(separator) + width(piece.trim_end()) + width(at_end);
        if number > 0 && used + needed > columns {
            lines.push_str(&format!("{at_end}\n{:indent$}", ""));
            used = indent;
        } else if number > 0 {
            lines.push_str(separator);
            used += width(separator);
        }
        lines.push_str(piece);
        used += width(piece);
    }
    lines
}

#[cfg(test)]
mod tests;
