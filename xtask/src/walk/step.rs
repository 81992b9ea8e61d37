//! The list of a walk: a line `PATH FUNCTION` or `PATH FUNCTION via WORD` for each step.

use anyhow::{Result, bail};

/// A function on a walk.
pub(crate) struct Step<'a> {
    /// The number of its line in the list.
    pub(crate) line: usize,
    /// How far its line is indented.
    pub(crate) depth: usize,
    /// The file, relative to the repository.
    pub(crate) path: &'a str,
    /// The function or type, `name` or `Type::name`.
    pub(crate) function: &'a str,
    /// The word that stands for the call.
    pub(crate) via: Option<&'a str>,
    /// The index of the step that calls this one; `None` for the first one.
    pub(crate) above: Option<usize>,
}

impl<'a> Step<'a> {
    /// Parses a list; lines that begin with `#` are comments.
    ///
    /// # Errors
    /// If a line has another form.
    pub(crate) fn parse(list: &'a str) -> Result<Vec<Self>> {
        let mut steps: Vec<Self> = Vec::new();
        for (at, text) in list.lines().enumerate() {
            if text.starts_with('#') || text.trim().is_empty() {
                continue;
            }
            let line = at + 1;
            let depth = text.len() - text.trim_start().len();
            let words: Vec<&str> = text.split_whitespace().collect();
            let (path, function, via) = match words[..] {
                [path, function] => (path, function, None),
                [path, function, "via", word] => (path, function, Some(word)),
                _ => bail!("line {line}: it is not PATH FUNCTION [via WORD]"),
            };
            let above = steps.iter().rposition(|step| step.depth < depth);
            if above.is_none() && !steps.is_empty() {
                bail!("line {line}: no function above calls this one");
            }
            steps.push(Self { line, depth, path, function, via, above });
        }
        Ok(steps)
    }

    /// Returns the type that the function belongs to.
    pub(crate) fn owner(&self) -> Option<&'a str> {
        self.function.split_once("::").map(|(owner, _)| owner)
    }

    /// Returns the name without that of its type.
    pub(crate) fn last(&self) -> &'a str {
        self.function.split_once("::").map_or(self.function, |(_, name)| name)
    }
}
