//! The three tasks of `garland cp`: a copy to nodes, a copy from nodes, and joining a copy.

use std::path::PathBuf;

use garland_core::cluster::target::{self, Target};
use garland_remote::elsewhere;

use super::Cp;
use super::on_nodes;
use garland_terminal::failure::Failure;

/// The task of a command line.
pub enum Task {
    /// Add nodes to the running copy of this run.
    Join(String),
    /// Copy files, streams or remote objects to nodes.
    Out,
    /// Copy `path` from the nodes of `list` to this machine.
    In {
        /// The node list, as the user wrote it.
        list: String,
        /// The path on the nodes.
        path: PathBuf,
    },
}

impl Task {
    /// Returns the task that a command line specifies.
    ///
    /// # Errors
    /// If a source looks like a URL and cannot be parsed, or if one of several sources is on nodes.
    pub fn new(args: &Cp) -> Result<Self, Failure> {
        if let Some(run) = &args.join {
            return Ok(Self::Join(run.clone()));
        }
        Ok(match from_nodes(args)? {
            Some(Target::Nodes { nodes: list, path }) => Self::In { list, path },
            _ => Self::Out,
        })
    }
}

/// Returns the nodes and the path of the source, if the source is on nodes.
///
/// # Errors
/// If a source looks like a URL and cannot be parsed, or if one of several sources is on nodes.
fn from_nodes(cp: &Cp) -> Result<Option<Target>, Failure> {
    on_nodes::refuse_several(cp)?;
    let [source] = cp.sources() else { return Ok(None) };
    if source.exists() || elsewhere::address(cp.sources())?.is_some() {
        return Ok(None);
    }
    let target = target::parse(source.as_os_str()).ok();
    Ok(target.filter(|target| matches!(target, Target::Nodes { .. })))
}
