//! Errors of node lists and their positions.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::limits::{LONGEST_NAME, MOST_NAMES};

/// The error for a node list that cannot be expanded: a problem and its position.
///
/// ```
/// use garland_core::cluster::nodelist::{NoSources, expand};
/// let error = expand("n[1-4],n[9-1]", &NoSources).unwrap_err();
/// assert_eq!(error.to_string(), "node list `n[1-4],n[9-1]`, column 10: the range 9-1 is reversed: write 1-9");
/// assert_eq!(error.place.caret(), "n[1-4],n[9-1]\n         ^^^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct NodeListError {
    /// What is wrong with the list.
    pub problem: NodeListProblem,
    /// Where the problem is: in the list, or in a text that the list refers to.
    pub place: Box<Place>,
}

impl NodeListError {
    pub(super) fn new(
        origin: Origin,
        text: &str,
        span: Range<usize>,
        problem: NodeListProblem,
    ) -> Self {
        Self { problem, place: Box::new(Place::new(origin, text, span)) }
    }
}

/// The problems that a node list can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NodeListProblem {
    /// The list names no node: it is empty, or all its names were excluded.
    #[error("there are no nodes in the list")]
    Empty,
    /// A name is missing before or after a comma.
    #[error("a node name is missing before or after the comma")]
    EmptyItem,
    /// A `!` with nothing before it or nothing after it.
    #[error("`!` needs nodes before and after it: write `n[1-9]!n3`")]
    StrayExclusion,
    /// A character that is not allowed in node names.
    #[error("{0:?} is not allowed in node names: use only letters, digits and . - _ : @ %")]
    Character(char),
    /// Braces, as of a shell that has not replaced them.
    #[error("node lists have brackets for ranges, not braces: write n[1-3] for n{{1..3}}")]
    Braces,
    /// A name, or its part after an `@`, begins with this character, which is not a letter, a digit
    /// or `_`.
    #[error("a node name must begin with a letter, a digit or `_`, not with {0:?}")]
    Start(char),
    /// A name ends with this character, a `:` or `@`.
    #[error("a node name cannot end with {0:?}")]
    End(char),
    /// A name has this many bytes, which is more than [`LONGEST_NAME`].
    #[error("the node name has {0} bytes: the maximum is {LONGEST_NAME}")]
    LongName(usize),
    /// A `[` without its `]`.
    #[error("`]` is missing after this `[`")]
    Unclosed,
    /// A `]` without its `[`, or a `[` inside of brackets.
    #[error("brackets cannot be nested, and `]` needs a `[` before it")]
    Nesting,
    /// The text in brackets is not a list of ranges.
    #[error("{0:?} is not a range: write a number, `1-20` or `1-20/2`")]
    Range(String),
    /// A number has this many digits, which is more than 18.
    #[error("the number has {0} digits: the maximum is 18")]
    LongNumber(usize),
    /// The first number of a range is larger than its last.
    #[error("the range {low}-{high} is reversed: write {high}-{low}")]
    Backwards {
        /// The first number as written.
        low: String,
        /// The last number as written.
        high: String,
    },
    /// The step of a range is zero.
    #[error("the step must not be 0")]
    ZeroStep,
    /// The two ends of a range are padded with zeros to different widths.
    #[error("the ends of {low}-{high} have different widths: pad both to the same width")]
    Padding {
        /// The first number as written.
        low: String,
        /// The last number as written.
        high: String,
    },
    /// The list has more than [`MOST_NAMES`] names.
    #[error("the list has more than {MOST_NAMES} names")]
    TooMany,
    /// A `^` is not followed by a path.
    #[error("`^` must be followed by the path of a file")]
    NoPath,
    /// An `@` is not followed by the name of a group.
    #[error("`@` must be followed by the name of a group")]
    NoGroupName,
    /// No group has this name.
    #[error("no group is named {0}")]
    UnknownGroup(String),
    /// The list contains `@slurm`, but there is no Slurm allocation.
    #[error("there is no Slurm allocation (SLURM_JOB_NODELIST is not set)")]
    NoAllocation,
    /// A source cannot be read.
    #[error("cannot read {what}: {reason}")]
    Source {
        /// The source that cannot be read.
        what: Origin,
        /// Why it cannot be read.
        reason: SourceError,
    },
    /// A group or file contains itself. The text is the chain of references.
    #[error("this group or file contains itself: {0}")]
    Cycle(String),
    /// Groups and files are nested more deeply than this number of levels.
    #[error("groups and files are nested more than {0} levels deep")]
    TooDeep(usize),
}

/// The reason why the text of a source is not available.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// The list must not refer to the source, for this reason.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The list is in a file of this kind, such as `a cluster file`, and therefore must not refer
    /// to other texts.
    #[error("{0} must list its nodes itself")]
    Elsewhere(&'static str),
    /// The file cannot be read, for this reason: a lower-case fragment such as `no such file`.
    #[error("{0}")]
    Unreadable(String),
}

/// The source of a node list's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The list itself, for example a command-line argument.
    Given,
    /// The file with this path.
    File(String),
    /// The group with this name.
    Group(String),
    /// The nodes of the Slurm allocation.
    Slurm,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => f.write_str("node list"),
            Self::File(path) => write!(f, "^{}", path.escape_debug()),
            Self::Group(name) => write!(f, "@{}", name.escape_debug()),
            Self::Slurm => f.write_str("@slurm"),
        }
    }
}

/// A position in the text of a node list, or of a file or group that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source of the text.
    pub origin: Origin,
    /// The line in that text, from 1.
    pub line: usize,
    /// The column in that line, in characters from 1.
    pub column: usize,
    /// The text of that line.
    pub expression: String,
    /// The byte range of the problem in `expression`; empty if something is missing at the end of
    /// `expression`.
    pub span: Range<usize>,
    /// The byte offset of the problem in the whole text.
    pub offset: usize,
}

impl Place {
    fn new(origin: Origin, text: &str, span: Range<usize>) -> Self {
        let start = floor(text, span.start);
        let begin = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let stop = floor(text, span.end.clamp(start, end));
        Self {
            origin,
            line: text[..start].matches('\n').count() + 1,
            column: text[begin..start].chars().count() + 1,
            expression: text[begin..end].to_owned(),
            span: start - begin..stop - begin,
            offset: start,
        }
    }

    /// Returns two lines for a terminal: the part of the expression around the problem, and carets
    /// below it. Control characters are replaced, since the text of a file is not trusted.
    pub fn caret(&self) -> String {
        const WIDEST: usize = 76;
        const BEFORE: usize = 30;
        let skip = if self.expression.chars().count() <= WIDEST {
            0
        } else {
            (self.column - 1).saturating_sub(BEFORE)
        };
        let shown: String = self.expression.chars().skip(skip).take(WIDEST).map(harmless).collect();
        let indent = self.column - 1 - skip;
        let marked = self.expression[self.span.clone()].chars().count();
        let carets = marked.min(WIDEST - indent.min(WIDEST)).max(1);
        format!("{shown}\n{:indent$}{}", "", "^".repeat(carets))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if matches!(self.origin, Origin::File(_)) || self.line > 1 {
            return write!(f, ", line {}, column {}", self.line, self.column);
        }
        const LONGEST: usize = 60;
        let shown: String = self.expression.chars().take(LONGEST).map(harmless).collect();
        let more = if shown.len() < self.expression.len() { "…" } else { "" };
        write!(f, " `{shown}{more}`, column {}", self.column)
    }
}

fn harmless(c: char) -> char {
    if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }
}

/// Returns the nearest character boundary at or below `index`; `index` may exceed the length.
fn floor(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
