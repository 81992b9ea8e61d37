use std::ops::Range;

use garland_core::form::{FileError, FormProblem, Placed};
use thiserror::Error;

use crate::TopologyFault;

/// An error in a topology file, printed as `file:line:column: reason`.
pub type TopologyFileError = FileError<TopologyFileProblem>;

/// The reason of an error in a topology file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyFileProblem {
    /// A problem that all kinds of files can have, such as an unknown key.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// The described topology has a fault.
    #[error(transparent)]
    Fault(#[from] TopologyFault),
    /// Parts of the file contradict each other.
    #[error("{0}")]
    Contents(String),
}

/// A problem and its position in the file.
pub(super) struct Fault(Placed<TopologyFileProblem>);

impl Fault {
    /// Creates a fault at the bytes `span`.
    pub(super) fn new(span: Range<usize>, problem: TopologyFileProblem) -> Self {
        Self(Placed::new(span, problem))
    }

    /// Creates the fault that parts of the file contradict each other; `message` says which.
    pub(super) fn contents(span: Range<usize>, message: String) -> Self {
        Self::new(span, TopologyFileProblem::Contents(message))
    }

    /// Converts the fault to an error for the user, with line and column in `text`.
    pub(super) fn in_file(self, text: &str, file: &str) -> TopologyFileError {
        self.0.in_file(text, file)
    }
}

impl From<Placed<FormProblem>> for Fault {
    fn from(fault: Placed<FormProblem>) -> Self {
        Self::new(fault.span, TopologyFileProblem::Form(*fault.problem))
    }
}
