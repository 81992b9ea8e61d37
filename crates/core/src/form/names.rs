//! Node lists in configuration files.

use std::ops::Range;

use super::{Fault, FormProblem, Text};
use crate::cluster::nodelist::{NodeListError, Origin, SourceError, Sources, expand};

/// Expands the node list `text`; `file` is the text of the file that contains it. An error has the
/// position in the file.
pub fn expand_text(
    file: &str,
    text: &Text<'_>,
    sources: &dyn Sources,
) -> Result<Vec<String>, Fault> {
    expand(text.value, sources).map_err(|error| {
        let span = span_within(file, text, &error);
        Fault::new(span, FormProblem::NodeList { key: text.key.clone(), error })
    })
}

/// Returns the byte range, within the file, of an error in the node list `text`.
fn span_within(file: &str, text: &Text<'_>, error: &NodeListError) -> Range<usize> {
    let raw = file.get(text.span.clone()).unwrap_or_default();
    // TOML drops a newline after the opening quotes, so the start is computed from the end.
    let closing = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
    let opening = raw.len().saturating_sub(closing + text.value.len());
    let as_written = raw.get(opening..opening + text.value.len()) == Some(text.value);
    if !as_written || error.place.origin != Origin::Given {
        // Escapes shift columns, and the text of a group is elsewhere: point to the whole value.
        return text.span.clone();
    }
    let start = text.span.start + opening + error.place.offset;
    start..start + error.place.span.len()
}

/// Refuses references in the node lists of a configuration file. The string is the kind of file,
/// such as `a cluster file`.
pub struct Alone(pub &'static str);

impl Sources for Alone {
    fn text(&self, of: &Origin) -> Result<Option<String>, SourceError> {
        Err(match of {
            Origin::Group(_) => SourceError::Forbidden(
                "groups can contain nodes, but `nodes` cannot contain groups",
            ),
            _ => SourceError::Elsewhere(self.0),
        })
    }
}
