//! The columns that text takes on a terminal. Characters of East Asian scripts take two, and marks
//! that combine with the character before them take none.

use unicode_width::UnicodeWidthChar;

/// The selector that makes the character before it a picture, which takes one column more.
const PICTURE: char = '\u{fe0f}';

/// Returns the number of columns that a line of text takes. Terminals that join several characters
/// to one sign may need fewer.
pub fn width(line: &str) -> usize {
    line.chars().map(columns_of).sum()
}

/// Returns as much of the beginning of a line as takes at most `columns` columns.
pub fn cut(line: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in line.char_indices() {
        used += columns_of(c);
        if used > columns {
            return &line[..at];
        }
    }
    line
}

/// Returns the number of rows that a line takes on a terminal with `columns` columns. A character
/// that does not fit into the rest of a row is wrapped to the next one.
pub fn rows(line: &str, columns: usize) -> usize {
    let mut rows = 1;
    let mut used = 0;
    for c in line.chars() {
        let needed = columns_of(c);
        if used + needed > columns {
            rows += 1;
            used = 0;
        }
        used += needed;
    }
    rows
}

fn columns_of(c: char) -> usize {
    if c == PICTURE { 1 } else { c.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_combining_ones_none() {
        let widths = ["", "n1", "日本", "e\u{301}a", "µ·─", "❤\u{fe0f}"].map(width);
        assert_eq!(widths, [0, 2, 4, 2, 3, 2]);
    }

    #[test]
    fn a_cut_divides_no_character_and_keeps_its_marks() {
        assert_eq!(
            [0, 1, 2, 3, 4].map(|columns| cut("日本", columns)),
            ["", "", "日", "日", "日本"]
        );
        assert_eq!(cut("ae\u{301}b", 2), "ae\u{301}");
        assert_eq!(cut("n1", 9), "n1");
    }

    #[test]
    fn a_wide_character_leaves_the_last_column_of_a_row_free() {
        assert_eq!(
            ["", "12345", "123456", "日本", "日本語"].map(|line| rows(line, 5)),
            [1, 1, 2, 1, 2]
        );
        assert_eq!(rows(&"e\u{301}".repeat(5), 5), 1);
    }
}
