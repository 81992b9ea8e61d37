//! What `garland cp` has to do, of the three things that one command line can ask for.

use std::path::PathBuf;

use garland_core::cluster::target::{self, Target};

use super::elsewhere;
use crate::args::Cp;
use garland_terminal::failure::Failure;

/// The direction of a copy, or that nodes join one.
pub enum Task {
    /// Nodes join the copy of this run.
    Join(String),
    /// Files of this machine, or of elsewhere, go to nodes.
    Out,
    /// What is at `path` on the nodes of `list` comes to this machine.
    In {
        /// The node list, as it was written.
        list: String,
        /// The path on the nodes.
        path: PathBuf,
    },
}

impl Task {
    /// The task of a command line.
    ///
    /// # Errors
    /// When a source looks like a URL and cannot be parsed as one.
    pub fn of(args: &Cp) -> Result<Self, Failure> {
        if let Some(run) = &args.join {
            return Ok(Self::Join(run.clone()));
        }
        Ok(match from_nodes(args)? {
            Some(Target::Nodes { nodes: list, path }) => Self::In { list, path },
            _ => Self::Out,
        })
    }
}

/// The nodes that a copy comes from, and the path there, if it comes from nodes.
///
/// # Errors
/// When a source looks like a URL and cannot be parsed as one.
fn from_nodes(cp: &Cp) -> Result<Option<Target>, Failure> {
    let [source] = cp.sources() else { return Ok(None) };
    if source.exists() || elsewhere::address(cp.sources())?.is_some() {
        return Ok(None);
    }
    let target = target::parse(source.as_os_str()).ok();
    Ok(target.filter(|target| matches!(target, Target::Nodes { .. })))
}
