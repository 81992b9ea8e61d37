//! `garland net config --diff`: compares installed files with planned ones.

use std::path::Path;

use garland_core::printable;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use garland_topology::config::{ConfigFile, Format};
use similar::TextDiff;

use super::change::Change;

/// Prints a unified diff for each file that differs from the plan. Any difference is a fault.
pub fn run(root: &Path, format: Format, files: &[ConfigFile]) -> Result<Exit, Failure> {
    let changes = Change::all(root, format, files)?;
    for change in &changes {
        let shown_path = printable::path(&change.path);
        let old = text(change.old.as_ref());
        let new = text(change.new.as_ref());
        let name = |there: bool| if there { shown_path.as_str() } else { "/dev/null" };
        let difference = TextDiff::from_lines(&old, &new);
        let mut shown = difference.unified_diff();
        shown.header(name(change.old.is_some()), name(change.new.is_some()));
        if old == new {
            garland_terminal::outln!("{change}");
        } else {
            output::say(format_args!("{shown}"));
        }
    }
    Ok(if changes.is_empty() { Exit::Done } else { Exit::Fault })
}

fn text(content: Option<&super::change::Content>) -> String {
    content.map_or_else(String::new, |content| String::from_utf8_lossy(&content.bytes).into_owned())
}
