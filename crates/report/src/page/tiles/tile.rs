//! One tile of an answer.

use crate::page::escape::escaped;

/// The most reasons that are named in a tile; the tables below have all.
pub(super) const MAX_REASONS: usize = 4;

/// Returns a tile as HTML: its title, the class of its edge, the figure, and lines of HTML.
pub(super) fn tile(title: &str, mark: &str, figure: &str, lines: &[String]) -> String {
    let figure = escaped(figure);
    let lines: String = lines.iter().map(|line| format!("<p>{line}</p>")).collect();
    format!(
        "<div class=\"tile{mark}\"><p class=\"what\">{title}</p><p class=\"figure\">{figure}</p>{lines}</div>\n"
    )
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
