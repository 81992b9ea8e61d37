use std::ops::Range;

use thiserror::Error;

use super::super::inventory::hint;
use crate::cluster::nodelist::{MOST_NAMES, NodeListError, Origin};

/// A cluster file that can't be used: what is wrong and where, as `file:line:column: reason`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct ClusterFileError {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: Box<ClusterFileProblem>,
}

/// What can be wrong with a cluster file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterFileProblem {
    /// It isn't TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// It doesn't say which version of the format it is.
    #[error("no `version`: a cluster file begins with `version = 1`")]
    NoVersion,
    /// It is of a version that this program doesn't know.
    #[error("version {0} of the cluster file isn't supported: this garland reads version 1")]
    Version(String),
    /// A key that means nothing.
    #[error("unknown key `{key}` in {section}{}; allowed: {allowed}", hint(*near))]
    UnknownKey {
        /// The key.
        key: String,
        /// Where it stands.
        section: &'static str,
        /// The keys that are known there.
        allowed: String,
        /// The one that was perhaps meant.
        near: Option<&'static str>,
    },
    /// A key is missing.
    #[error("{section} needs `{key}`: write {example}")]
    Missing {
        /// Where it is missing.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// What it may look like.
        example: &'static str,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key.
        key: String,
        /// What is allowed.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// An empty text.
    #[error("`{0}` is empty: it needs a value")]
    Empty(String),
    /// A word that isn't among the words allowed.
    #[error("`{key}` can't be {found:?}{}; allowed: {allowed}", hint(*near))]
    Word {
        /// The key.
        key: &'static str,
        /// The word.
        found: String,
        /// The words allowed.
        allowed: String,
        /// The one that was perhaps meant.
        near: Option<&'static str>,
    },
    /// A text that can't be handed to ssh.
    #[error(
        "`{key}` can't be {found:?}: it mustn't begin with `-` nor hold blanks or control characters"
    )]
    Unsafe {
        /// The key.
        key: &'static str,
        /// The text.
        found: String,
    },
    /// A node list with a fault.
    #[error("`{key}`: {}", within(error))]
    NodeList {
        /// The key.
        key: String,
        /// The fault.
        error: NodeListError,
    },
    /// Addresses and names don't go in step.
    #[error(
        "`{key}` stands for {found} addresses, but `names` for {nodes} nodes: every node needs one"
    )]
    Count {
        /// The key.
        key: String,
        /// How many addresses.
        found: usize,
        /// How many nodes.
        nodes: usize,
    },
    /// A user in an address.
    #[error(
        "`{key}` holds addresses, not users: drop `{user}@` and write `user = {user:?}` below `[ssh]`"
    )]
    UserInAddress {
        /// The key.
        key: String,
        /// The user.
        user: String,
    },
    /// More rails than machines have NICs.
    #[error("{0} rails: the most is {MOST_RAILS}")]
    TooManyRails(usize),
    /// A node is described twice.
    #[error("node {name} is described already, on line {line}")]
    DuplicateNode {
        /// The node.
        name: String,
        /// The line where it is described first.
        line: usize,
    },
    /// Two nodes, or two rails of a node, have one address and one port.
    #[error("address {address} is given to {second}, but {first} has it already")]
    DuplicateAddress {
        /// The address.
        address: String,
        /// Whose it is.
        first: String,
        /// Who gets it as well.
        second: String,
    },
    /// More nodes than any cluster has.
    #[error("more than {MOST_NAMES} nodes")]
    TooManyNodes,
    /// A group's name can't be written in a node list.
    #[error("{0:?} can't name a group: allowed are letters, digits and . _ -")]
    GroupName(String),
    /// A group's name is taken.
    #[error("`@{0}` is built in, so no group can be called that")]
    GroupReserved(String),
    /// A group holds what isn't a node.
    #[error("group {group} holds {name}, which is no node of this file{}", hint(near.as_deref()))]
    UnknownMember {
        /// The group.
        group: String,
        /// The unknown node.
        name: String,
        /// The node that was perhaps meant.
        near: Option<String>,
    },
}

/// The most rails of a node: more than any machine has NICs.
pub(super) const MOST_RAILS: usize = 64;

/// A fault of the list at this place needs no place of its own; one in a group it refers to does.
fn within(error: &NodeListError) -> String {
    match error.place().origin() {
        Origin::Given => error.problem().to_string(),
        _ => error.to_string(),
    }
}

/// A problem and the bytes of the file it is about.
pub(super) struct Fault {
    pub(super) span: Range<usize>,
    pub(super) problem: Box<ClusterFileProblem>,
}

impl Fault {
    pub(super) fn new(span: Range<usize>, problem: ClusterFileProblem) -> Self {
        Self { span, problem: Box::new(problem) }
    }

    pub(super) fn in_file(self, text: &str, file: &str) -> ClusterFileError {
        let (line, column) = position(text, self.span.start);
        ClusterFileError { file: file.to_owned(), line, column, problem: self.problem }
    }
}

/// Line and column of a byte, both counted from 1; the end of the text for bytes beyond it.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.char_indices().take_while(|(at, _)| *at < offset);
    before.fold(
        (1, 1),
        |(line, column), (_, c)| {
            if c == '\n' { (line + 1, 1) } else { (line, column + 1) }
        },
    )
}
