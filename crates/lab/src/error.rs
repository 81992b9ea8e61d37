use std::io;
use std::path::{Path, PathBuf};

/// Why something about a lab failed: the operation, its object, the reason, and a hint where the
/// user can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The description asks for something that can't be.
    #[error("lab {name}: {reason}")]
    Spec {
        /// The lab's name as given.
        name: String,
        /// What can't be, and why.
        reason: String,
    },
    /// A lab of this name runs already.
    #[error(
        "start lab {name}: a lab of this name is running (keeper {keeper}); use another --lab, or `garland lab down --lab {name}` first"
    )]
    Running {
        /// The lab's name.
        name: String,
        /// Its keeper's process number.
        keeper: u32,
    },
    /// No lab of this name runs.
    #[error(
        "lab {name} isn't running; `garland lab up --lab {name} --nodes 4` starts one of 4 nodes"
    )]
    NotRunning {
        /// The lab's name.
        name: String,
    },
    /// The lab has no such node.
    #[error("lab {lab} has no node {node}: its nodes are {nodes}")]
    NoSuchNode {
        /// The lab's name.
        lab: String,
        /// The node as given.
        node: String,
        /// Its nodes, as a node list.
        nodes: String,
    },
    /// The node has no such NIC.
    #[error("node {node} of lab {lab} has no NIC {nic}")]
    NoSuchNic {
        /// The lab's name.
        lab: String,
        /// The node.
        node: String,
        /// The NIC as given.
        nic: String,
    },
    /// The kernel refused to make the namespaces.
    #[error("make the namespaces of lab {name}: {reason}; {hint}")]
    Namespaces {
        /// The lab's name.
        name: String,
        /// The kernel's error.
        reason: String,
        /// What the user can do.
        hint: String,
    },
    /// The kernel lacks what the lab needs.
    #[error("start lab {name}: this kernel lacks {features}; {works}")]
    Kernel {
        /// The lab's name.
        name: String,
        /// What is missing, with the options that bring it.
        features: String,
        /// What can be emulated all the same.
        works: String,
    },
    /// No control group may be made for the nodes that have a share of a processor.
    #[error("give nodes of lab {name} their share of a processor (`cpu`): {reason}; {hint}")]
    Shares {
        /// The lab's name.
        name: String,
        /// The path, and the system's error.
        reason: String,
        /// What the user can do, and what works all the same.
        hint: String,
    },
    /// A control group can't be used.
    #[error("{operation} control group {}: {source}", path.display())]
    Group {
        /// What was tried.
        operation: &'static str,
        /// The group's directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A tool of the system is missing.
    #[error("run {tool}: it isn't installed; apt-get install {package}")]
    ToolMissing {
        /// The tool.
        tool: &'static str,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// A tool of the system refused its work.
    #[error("{tool} for {place}: {reason}")]
    Tool {
        /// The tool.
        tool: &'static str,
        /// The node it worked on, or `_media`.
        place: String,
        /// Its own words.
        reason: String,
    },
    /// The keeper failed or ended early.
    #[error("start lab {name}: {reason}")]
    Keeper {
        /// The lab's name.
        name: String,
        /// Its error message.
        reason: String,
    },
    /// A file of the lab's state can't be used.
    #[error("{operation} {}: {source}", path.display())]
    File {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Entering a node failed.
    #[error("enter node {node} of lab {lab}: {source}")]
    Enter {
        /// The lab's name.
        lab: String,
        /// The node.
        node: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A measurement in the lab failed.
    #[error("measure lab {lab}: {reason}")]
    Probe {
        /// The lab's name.
        lab: String,
        /// What went wrong, where.
        reason: String,
    },
}

impl LabError {
    /// For `map_err`: an error about a file.
    pub(crate) fn file(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> LabError + use<> {
        let path = path.to_owned();
        move |source| LabError::File { operation, path, source }
    }
}
