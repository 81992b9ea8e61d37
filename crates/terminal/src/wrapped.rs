//! Wraps lines that are longer than the terminal is wide, so that words stay whole and what follows
//! stands below the text of the line, not below its label. Tables, paths and commands to be copied
//! stay as they are.

/// The least width in characters to which lines are wrapped.
const MIN_WIDTH: usize = 40;

/// The widest label of a line, in characters, below which text does not stand.
const LABEL: usize = 28;

/// The labels of lines whose text is a path, a name or a command.
const EXACT: [&str; 6] = ["command", "copy", "output", "plan", "remove", "run"];

/// Returns `text` with each line that has a label and a text wrapped to `columns` characters, if
/// there is a place for it.
pub fn wrapped(text: &str, columns: usize) -> String {
    let lines = text.split_inclusive('\n').map(|line| match line.trim_end().chars().count() {
        long if long > columns && columns >= MIN_WIDTH => wrapped_line(line, columns),
        _ => line.to_owned(),
    });
    lines.collect()
}

/// Returns the lengths in bytes of a line's beginning before its text, and of the indent of the
/// lines that follow, in characters; `None` if the line is not a label with a text.
fn label(line: &str) -> Option<(usize, usize)> {
    let margin = line.len() - line.trim_start_matches(' ').len();
    let after = |at: usize| at + line[at..].len() - line[at..].trim_start_matches(' ').len();
    let gap = line[margin..].find("  ").map(|at| margin + at);
    let colon = line[margin..].find(": ").map(|at| margin + at).filter(|at| *at <= LABEL);
    // An indented line belongs to the one above, also without a label.
    let text = gap.or(colon.map(|at| at + 1)).map(after).or((margin > 0).then_some(margin))?;
    let is_table = line[text..].contains("  ");
    let is_exact = gap.is_some() && EXACT.contains(&line[margin..].split(' ').next()?);
    let indent = line[..text].chars().count();
    let is_below = gap.is_some() && indent <= LABEL;
    let begins = indent <= LABEL || gap.is_none();
    (begins && !is_table && !is_exact).then_some((text, if is_below { indent } else { margin + 2 }))
}

fn wrapped_line(line: &str, columns: usize) -> String {
    let Some((text, indent)) = label(line.trim_end()) else { return line.to_owned() };
    // Figures are kept together with what they are of.
    let separator = if line[text..].contains(" · ") { " · " } else { " " };
    let stays = separator.trim_end();
    let count = |text: &str| text.chars().count();
    let mut all = line[..text].to_owned();
    let mut width = count(&line[..text]);
    for (at, piece) in line[text..].split(separator).enumerate() {
        if at > 0 && width + count(separator) + count(piece.trim_end()) + count(stays) > columns {
            all.push_str(&format!("{stays}\n{:indent$}", ""));
            width = indent;
        } else if at > 0 {
            all.push_str(separator);
            width += count(separator);
        }
        all.push_str(piece);
        width += count(piece);
    }
    all
}

#[cfg(test)]
mod tests;
