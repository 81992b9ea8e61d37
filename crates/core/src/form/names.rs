//! Node lists that stand in a file.

use std::ops::Range;

use super::{Fault, FormProblem, Text};
use crate::cluster::nodelist::{NodeListError, Origin, Sources, expand};

/// Expands a list that stands at `text`, and points into it when it has a fault.
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

/// The bytes of the file that a fault of the list at `text` is about.
fn span_within(file: &str, text: &Text<'_>, error: &NodeListError) -> Range<usize> {
    let raw = file.get(text.span.clone()).unwrap_or_default();
    // A newline behind the opening quotes isn't part of the text, so the place is told from the
    // end.
    let closing = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
    let opening = raw.len().saturating_sub(closing + text.value.len());
    let as_written = raw.get(opening..opening + text.value.len()) == Some(text.value);
    if !as_written || *error.place().origin() != Origin::Given {
        // Escapes shift the columns, and a group's text stands elsewhere: the value as a whole must
        // do.
        return text.span.clone();
    }
    let start = text.span.start + opening + error.place().offset();
    start..start + error.place().span().len()
}

/// What a file's nodes may refer to: nothing. It holds what the file is, such as `a cluster file`.
pub struct Alone(pub &'static str);

impl Sources for Alone {
    fn file(&self, _path: &str) -> Result<String, String> {
        Err(format!("{}'s nodes are written out", self.0))
    }

    fn group(&self, _name: &str) -> Result<Option<String>, String> {
        Err("groups are made of nodes, not nodes of groups".into())
    }

    fn slurm(&self) -> Result<Option<String>, String> {
        Err(format!("{}'s nodes are written out", self.0))
    }
}
