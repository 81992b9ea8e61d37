use std::io;
use std::path::{Path, PathBuf};

use garland_core::command_error::{CommandError, ErrorKind};
use garland_core::printable;

/// An error of a lab. The message names the operation, its object and the reason, and says what to
/// do where the user can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The description of the lab is invalid, or the lab cannot be emulated.
    #[error("lab {name}: {reason}")]
    Spec {
        /// The lab's name as given.
        name: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A lab with this name is running already.
    #[error(
        "cannot start lab {name}: a lab with this name is running (process {keeper}); choose another name with --lab, or stop it: garland lab down --lab {name}"
    )]
    Running {
        /// The lab's name.
        name: String,
        /// The process ID of its keeper.
        keeper: u32,
    },
    /// No lab with this name is running.
    #[error(
        "lab {name} is not running; to start a lab of 4 nodes with this name: garland lab up --lab {name} --nodes 4"
    )]
    NotRunning {
        /// The lab's name.
        name: String,
    },
    /// The lab has no such node.
    #[error("lab {lab} has no node {node}; its nodes are {nodes}")]
    NoSuchNode {
        /// The lab's name.
        lab: String,
        /// The node's name as given.
        node: String,
        /// The lab's nodes, as a node list.
        nodes: String,
    },
    /// The node has no such NIC.
    #[error("node {node} of lab {lab} has no NIC {nic}")]
    NoSuchNic {
        /// The lab's name.
        lab: String,
        /// The node's name.
        node: String,
        /// The name of the NIC as given.
        nic: String,
    },
    /// The kernel lacks a feature that the lab needs, or does not permit its use.
    #[error("{problem}; {hint}")]
    Unavailable {
        /// The feature, and the kernel's error.
        problem: String,
        /// What the user can do, or what works without it.
        hint: String,
    },
    /// A system tool is missing.
    #[error("cannot run {tool}: it is not installed; install the package {package}")]
    ToolMissing {
        /// The tool's name.
        tool: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// A system tool failed.
    #[error("{tool} failed for {place}: {reason}")]
    Tool {
        /// The tool's name.
        tool: &'static str,
        /// The node that the tool configured, or `_media` for the media.
        place: String,
        /// The error message of the tool.
        reason: String,
    },
    /// A lab cannot be started.
    #[error("cannot start lab {name}: {reason}")]
    Start {
        /// The lab's name.
        name: String,
        /// What failed, and why.
        reason: String,
    },
    /// The keeper of a lab cannot be stopped.
    #[error("cannot stop lab {name}: process {keeper}: {reason}")]
    Stop {
        /// The lab's name.
        name: String,
        /// The process ID of its keeper.
        keeper: u32,
        /// What failed, and why.
        reason: String,
    },
    /// An operation on a file, a directory or a control group failed.
    #[error("failed to {operation} {}: {source}", printable::path(path))]
    File {
        /// The operation, as a verb: `read`, `create directory`.
        operation: &'static str,
        /// The file, directory or control group.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Entering the namespaces of a node failed.
    #[error("failed to enter the namespaces of node {node} of lab {lab}: {source}")]
    Enter {
        /// The lab's name.
        lab: String,
        /// The node's name.
        node: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A measurement in the lab failed.
    #[error("a measurement in lab {lab} failed: {reason}")]
    Probe {
        /// The lab's name.
        lab: String,
        /// What failed, and why.
        reason: String,
    },
}

impl CommandError for LabError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Nothing
    }
}

impl LabError {
    /// Returns a function for `map_err` that adds the operation and the path to a system error.
    pub(crate) fn file(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> LabError + use<> {
        let path = path.to_owned();
        move |source| LabError::File { operation, path, source }
    }
}
